package responses_test

import (
	"flag"
	"net/http"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/responses"
)

var update = flag.Bool("update", false, "write the want sections of the fixtures anew")

func newAPI(dialect string, rt http.RoundTripper) *responses.API {
	return responses.New(exchange.Config{
		Provider: dialect, Vendor: "openai", BaseURL: "https://api.example.com/v1/", KeyVar: "OPENAI_API_KEY",
		Key: provider.NewSecret("sk-fixture"), Account: "acct_1", Client: exchange.NewClient(rt),
	}, responses.HostNamed(dialect))
}

func suite(dialect string) providertest.Suite {
	return providertest.Suite{
		Glob:   "testdata/" + dialect + "/*.txtar",
		New:    func(rt http.RoundTripper) provider.Provider { return newAPI(dialect, rt) },
		Type:   "text/event-stream",
		Split:  providertest.SplitBlankLines,
		Noise:  []byte(": comment\n\nevent: response.novelty\ndata: {\"type\":\"response.novelty\",\"output_index\":0,\"sequence_number\":1}\n\n"),
		Update: *update,
	}
}

func TestFixtures(t *testing.T) {
	for _, dialect := range []string{"openai", "azure", "chatgpt", "copilot"} {
		t.Run(dialect, func(t *testing.T) { providertest.Run(t, suite(dialect)) })
	}
}

func FuzzReply(f *testing.F)        { providertest.Fuzz(f, suite("openai")) }
func FuzzCopilotReply(f *testing.F) { providertest.Fuzz(f, suite("copilot")) }
