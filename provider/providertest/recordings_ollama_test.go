package providertest_test

import (
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/ollama"
	"github.com/thinkd/thinkd/provider/providertest"
)

// ollamaReader reads Ollama's own API, in which nothing is opaque.
var ollamaReader = reader{
	open: func(c recording, address string) provider.Provider {
		return ollama.New(exchange.Config{Provider: c.Dialect, Vendor: "ollama", BaseURL: address})
	},
	opaque:    func(providertest.Reply) []string { return nil },
	carried:   func(gjson.Result) []string { return nil },
	input:     []string{"prompt_eval_count"},
	output:    []string{"eval_count"},
	reasoning: nil, // there is no such count
}
