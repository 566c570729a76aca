package providertest_test

import (
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/gemini"
	"github.com/thinkd/thinkd/provider/providertest"
)

// geminiReader reads generateContent.
var geminiReader = reader{
	open: func(c recording, address string) provider.Provider {
		return gemini.New(exchange.Config{Provider: c.Dialect, Vendor: "google", BaseURL: address, Key: provider.NewSecret("sk-recordings")}, gemini.Host{})
	},
	opaque: func(reply providertest.Reply) []string {
		var all []string
		for _, b := range reply.Blocks {
			all = append(all, thoughtSignatures(gjson.ParseBytes(provider.StateOf(b).Data))...)
		}
		return all
	},
	carried: func(body gjson.Result) []string {
		var all []string
		for _, c := range body.Get("contents").Array() {
			all = append(all, thoughtSignatures(c.Get("parts"))...)
		}
		return all
	},
	input:     []string{"promptTokenCount"},
	output:    []string{"candidatesTokenCount"},
	reasoning: []string{"thoughtsTokenCount"},
	// A signature on nothing but empty text, and a search that only the metadata tell of.
	unseen: func(b provider.Block) bool {
		parts := gjson.ParseBytes(provider.StateOf(b).Data)
		if provider.KindOf(b) == provider.KindServerTool && len(parts.Array()) == 0 { // of metadata, not of a part
			return true
		}
		return provider.KindOf(b) == provider.KindOpaque && parts.Get("0.text").Exists() && parts.Get("0.text").Str == ""
	},
}

// thoughtSignatures are the hashes of the signatures on a list of parts.
func thoughtSignatures(parts gjson.Result) []string {
	var hashes []string
	for _, p := range parts.Array() {
		if v := p.Get("thoughtSignature"); v.Str != "" {
			hashes = append(hashes, sum(v.Str))
		}
	}
	return hashes
}
