package providertest_test

import (
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/responses"
)

// responsesReader reads responses.
var responsesReader = reader{
	open: func(c recording, address string) provider.Provider {
		return responses.New(exchange.Config{Provider: c.Dialect, Vendor: "openai", BaseURL: address,
			Key: provider.NewSecret("sk-recordings")}, responses.HostNamed(c.Dialect))
	},
	opaque: func(reply providertest.Reply) []string { return opaqueValues(states(reply), "encrypted_content") },
	carried: func(body gjson.Result) []string {
		return opaqueValues(body.Get("input").Array(), "encrypted_content")
	},
	input:     []string{"input_tokens"},
	output:    []string{"output_tokens"},
	reasoning: []string{"output_tokens_details.reasoning_tokens"},
}
