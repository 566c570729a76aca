package vendors_test

import (
	"log/slog"
	"os"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/login"
)

func TestMain(m *testing.M) { proof.Main(m) }

var discard = slog.New(slog.DiscardHandler)

// loadConfig reads the config at path.
func loadConfig(path string, getenv func(string) string) (config.Config, error) {
	doc, err := os.ReadFile(path)
	if err != nil {
		return config.Config{}, err
	}
	return config.Parse(path, doc, getenv)
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
