package chat_test

import (
	"bytes"
	"flag"
	"net/http"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/chat"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
)

var update = flag.Bool("update", false, "write the want sections of the fixtures anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func named(t testing.TB, id string) *chat.Dialect {
	t.Helper()
	d, err := chat.Named(id)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func newAPI(t testing.TB, dialect string, rt http.RoundTripper) *chat.API {
	t.Helper()
	return chat.New(exchange.Config{
		Provider: dialect, BaseURL: "https://api.example.com/v1/", KeyVar: "EXAMPLE_API_KEY",
		Key: provider.NewSecret("sk-fixture"), Client: exchange.NewClient(rt),
	}, named(t, dialect))
}

// Each folder of testdata is a dialect.
func TestFixtures(t *testing.T) {
	folders, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, folder := range folders {
		if folder.Name() == "fuzz" {
			continue
		}
		tried[folder.Name()] = true
		t.Run(folder.Name(), func(t *testing.T) {
			providertest.Run(t, providertest.Suite{
				Glob:   "testdata/" + folder.Name() + "/*.txtar",
				New:    func(rt http.RoundTripper) provider.Provider { return newAPI(t, folder.Name(), rt) },
				Type:   "text/event-stream",
				Split:  providertest.SplitBlankLines,
				Over:   func(stream []byte) bool { return bytes.Contains(stream, []byte(`"finish_reason":"`)) },
				Noise:  []byte(": comment\n\ndata: {\"id\":\"x\",\"object\":\"novelty\"}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"mood\":\"fine\"}}]}\n\n"),
				Update: *update,
			})
		})
	}
	ids, err := chat.Dialects()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if !tried[id] {
			t.Errorf("dialect %s has no fixture", id)
		}
	}
}
