package ollama_test

import (
	"bytes"
	"flag"
	"net/http"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/ollama"
	"github.com/thinkd/thinkd/provider/providertest"
)

var update = flag.Bool("update", false, "write the want sections of the fixtures anew")

func open(rt http.RoundTripper) *ollama.API {
	return ollama.New(exchange.Config{Provider: "ollama", Vendor: "ollama", BaseURL: "localhost:11434", Client: &http.Client{Transport: rt}})
}

func suite() providertest.Suite {
	return providertest.Suite{
		Glob: "testdata/*.txtar",
		New:  func(rt http.RoundTripper) provider.Provider { return open(rt) },
		Type: "application/x-ndjson",
		Split: func(stream []byte) [][]byte {
			return bytes.SplitAfter(bytes.TrimSuffix(stream, []byte("\n")), []byte("\n"))
		},
		Noise:  []byte("{\"weather\":{\"sky\":\"blue\"}}\n"),
		Update: *update,
	}
}

func TestFixtures(t *testing.T) { providertest.Run(t, suite()) }

func FuzzReply(f *testing.F) { providertest.Fuzz(f, suite()) }
