package providertest_test

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/chat"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
)

// chatReader reads Chat Completions. A host that has no dialect of its own is read by the tolerant one.
var chatReader = reader{
	open: func(c recording, address string) provider.Provider {
		ids, err := chat.Dialects()
		if err != nil {
			panic(err) // a broken table, which its own test refuses
		}
		id := c.Dialect
		if id == "ollama" {
			id = "ollama-v1"
		}
		if !slices.Contains(ids, id) {
			id = "generic"
		}
		dialect, err := chat.Named(id)
		if err != nil {
			panic(err)
		}
		return chat.New(exchange.Config{Provider: c.Dialect, BaseURL: address, Key: provider.NewSecret("sk-recordings")}, dialect)
	},
	opaque: func(reply providertest.Reply) []string {
		if reply.Stop != nil { // what came late is whole and counts in the blocks' place
			if late := chatOpaque(gjson.ParseBytes(reply.Stop.State.Data)); late != nil {
				return late
			}
		}
		var all []string
		for _, b := range reply.Blocks {
			all = append(all, chatOpaque(gjson.ParseBytes(provider.StateOf(b).Data))...)
		}
		return all
	},
	carried: func(body gjson.Result) []string {
		var all []string
		for _, m := range body.Get("messages").Array() {
			all = append(all, chatOpaque(m)...)
		}
		return all
	},
	input:     []string{"prompt_tokens"},
	output:    []string{"completion_tokens"},
	reasoning: []string{"completion_tokens_details.reasoning_tokens", "reasoning_tokens"},
	silent:    true,
}

// chatOpaque are the hashes of what is opaque among a message's members.
func chatOpaque(message gjson.Result) []string {
	var hashes []string
	for _, d := range message.Get("reasoning_details").Array() {
		for _, name := range []string{"data", "signature"} {
			if v := d.Get(name); v.Type == gjson.String && v.Str != "" {
				hashes = append(hashes, sum(v.Str))
			}
		}
	}
	if v := message.Get("reasoning_opaque"); v.Type == gjson.String && v.Str != "" {
		hashes = append(hashes, sum(v.Str))
	}
	return hashes
}

// withoutTags takes the tags out of a text that thinking stands in, and the white space around them.
func withoutTags(text string) string {
	if rest, ok := strings.CutPrefix(strings.TrimLeft(text, " \t\r\n"), "<think>"); ok {
		text = strings.TrimLeft(rest, " \t\r\n")
	}
	before, after, ok := strings.Cut(text, "</think>")
	if !ok {
		return text
	}
	return strings.TrimRight(before, " \t\r\n") + strings.TrimLeft(after, " \t\r\n")
}
