package daemon

import (
	"flag"
	"log/slog"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/login"
)

func TestMain(m *testing.M) { proof.Main(m) }

var allPairs = flag.Bool("allpairs", false, "have TestOptionsOfEachRow send all options to each model, TestNoSessionIsStuck try each refusal over each API and the API's own in both places, TestLevelsOnTheWire try each level under each policy, and TestLoopOfFaults make 30 calls")

var discard = slog.New(slog.DiscardHandler)

// present is a map of the words that are not empty.
func present(words ...string) map[string]any {
	m := make(map[string]any)
	for i := 0; i < len(words); i += 2 {
		if words[i+1] != "" {
			m[words[i]] = words[i+1]
		}
	}
	return m
}

// noKeys is a file of keys that there is none of.
func noKeys(t *testing.T) *login.Keys {
	t.Helper()
	keys, err := login.OpenKeys(new(durable.Memory))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}
