package providertest_test

import (
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/converse"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
)

var converseReader = reader{
	open: func(_ recording, address string) provider.Provider {
		return converse.New(exchange.Config{Provider: "bedrock", Vendor: "bedrock", BaseURL: address, Key: provider.NewSecret("bedrock-recordings")})
	},
	opaque: func(reply providertest.Reply) []string { return converseOpaque(states(reply)) },
	carried: func(body gjson.Result) []string {
		return converseOpaque(body.Get("messages.1.content").Array())
	},
	input:  []string{"inputTokens"},
	output: []string{"outputTokens"},
	asked:  true,
}

// converseOpaque are the hashes of what is opaque in the API's blocks.
func converseOpaque(blocks []gjson.Result) (hashes []string) {
	for _, b := range blocks {
		for _, path := range []string{"reasoningContent.reasoningText.signature", "reasoningContent.redactedContent"} {
			if v := b.Get(path); v.Str != "" {
				hashes = append(hashes, sum(v.Str))
			}
		}
	}
	return hashes
}
