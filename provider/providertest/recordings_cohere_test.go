package providertest_test

import (
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/cohere"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
)

// cohereReader reads Cohere's Chat, in which nothing is opaque. The recordings do not count tool plans as thinking.
var cohereReader = reader{
	open: func(_ recording, address string) provider.Provider {
		return cohere.New(exchange.Config{Provider: "cohere", Vendor: "cohere", BaseURL: address, Key: provider.NewSecret("cohere-recordings")})
	},
	opaque:    func(providertest.Reply) []string { return nil },
	carried:   func(gjson.Result) []string { return nil },
	input:     []string{"tokens.input_tokens"},
	output:    []string{"tokens.output_tokens"},
	reasoning: []string{"tokens.reasoning_tokens"},
	asked:     true,
	unseen: func(b provider.Block) bool {
		return gjson.GetBytes(provider.StateOf(b).Data, "tool_plan").Exists()
	},
}
