package messages

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// usage joins the usage objects of a message: each reports totals, and the last report of a member counts.
type usage struct{ members map[string]json.RawMessage }

func (u *usage) merge(object gjson.Result) {
	if !object.IsObject() {
		return
	}
	object.ForEach(func(name, value gjson.Result) bool {
		if value.Type == gjson.Null && u.members[name.Str] != nil {
			return true
		}
		if u.members == nil {
			u.members = map[string]json.RawMessage{}
		}
		u.members[name.Str] = json.RawMessage(value.Raw)
		return true
	})
}

func (u *usage) raw() (json.RawMessage, error) {
	if u.members == nil {
		return nil, nil
	}
	return json.Marshal(u.members)
}

// usage counts the whole prompt as input: the vendor's input_tokens is without what the cache gave or took. Compactions
// are requests of the vendor's own, which its totals leave out and its bill does not (SDK: BetaUsage.iterations).
func (u *usage) usage() provider.Usage {
	sum := counted(func(name string) gjson.Result { return gjson.ParseBytes(u.members[name]) })
	if n := gjson.ParseBytes(u.members["output_tokens_details"]).Get("thinking_tokens"); n.Type == gjson.Number {
		thought := provider.Tokens(n.Int())
		sum.Reasoning = &thought
	}
	sum.Searches = provider.Tokens(gjson.ParseBytes(u.members["server_tool_use"]).Get("web_search_requests").Int())
	for _, iteration := range gjson.ParseBytes(u.members["iterations"]).Array() {
		if iteration.Get("type").Str == "compaction" {
			sum = sum.With(counted(iteration.Get))
		}
	}
	return sum
}

// counted reads the members that a usage and one of its iterations share.
func counted(member func(string) gjson.Result) provider.Usage {
	count := func(n gjson.Result) int { return provider.Tokens(n.Int()) }
	sum := provider.Usage{
		Cached:         count(member("cache_read_input_tokens")),
		CacheWrite:     count(member("cache_creation_input_tokens")),
		CacheWriteLong: count(member("cache_creation").Get("ephemeral_1h_input_tokens")),
		Output:         count(member("output_tokens")),
		Tier:           member("service_tier").Str,
	}
	sum.Input = count(member("input_tokens")) + sum.Cached + sum.CacheWrite
	return sum
}
