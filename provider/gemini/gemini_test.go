package gemini_test

import (
	"flag"
	"net/http"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/gemini"
	"github.com/thinkd/thinkd/provider/providertest"
)

var update = flag.Bool("update", false, "write the want sections of the fixtures anew")

func open(rt http.RoundTripper) *gemini.API {
	return gemini.New(exchange.Config{
		Provider: "google", Vendor: "google", BaseURL: "https://generativelanguage.googleapis.com",
		Key: provider.NewSecret("key-fixture"), KeyVar: "GEMINI_API_KEY", Client: &http.Client{Transport: rt},
	}, gemini.Host{})
}

func suite() providertest.Suite {
	return providertest.Suite{
		Glob:   "testdata/*.txtar",
		New:    func(rt http.RoundTripper) provider.Provider { return open(rt) },
		Type:   "text/event-stream",
		Split:  providertest.SplitBlankLines,
		Noise:  []byte(": a comment\n\ndata: {\"weather\":{\"sky\":\"blue\"}}\n\n"),
		Update: *update,
	}
}

func TestFixtures(t *testing.T) { providertest.Run(t, suite()) }

func FuzzReply(f *testing.F) { providertest.Fuzz(f, suite()) }
