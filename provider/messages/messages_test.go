package messages_test

import (
	"bytes"
	"flag"
	"net/http"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/messages"
	"github.com/thinkd/thinkd/provider/providertest"
)

var update = flag.Bool("update", false, "write the want sections of the fixtures anew")

func newAPI(rt http.RoundTripper) *messages.API {
	return messages.New(exchange.Config{
		Provider: "anthropic", Vendor: "anthropic", BaseURL: "https://api.example.com/", KeyVar: "ANTHROPIC_API_KEY",
		Key: provider.NewSecret("sk-fixture"), Client: exchange.NewClient(rt),
	}, messages.Host{})
}

func suite() providertest.Suite {
	return providertest.Suite{
		Glob:   "testdata/*.txtar",
		New:    func(rt http.RoundTripper) provider.Provider { return newAPI(rt) },
		Type:   "text/event-stream",
		Split:  providertest.SplitBlankLines,
		Over:   func(stream []byte) bool { return bytes.Contains(stream, []byte(`"stop_reason":"`)) },
		Noise:  []byte(": comment\n\nevent: novelty\ndata: {\"type\":\"novelty\",\"index\":0}\n\n"),
		Update: *update,
	}
}

func TestFixtures(t *testing.T) { providertest.Run(t, suite()) }
