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

// usage counts the whole prompt as input: the vendor's input_tokens is without what the cache gave or took.
func (u *usage) usage() provider.Usage {
	count := func(name string) int { return int(max(gjson.ParseBytes(u.members[name]).Int(), 0)) }
	sum := provider.Usage{
		Cached:     count("cache_read_input_tokens"),
		CacheWrite: count("cache_creation_input_tokens"),
		Output:     count("output_tokens"),
	}
	sum.CacheWriteLong = int(max(gjson.ParseBytes(u.members["cache_creation"]).Get("ephemeral_1h_input_tokens").Int(), 0))
	sum.Input = count("input_tokens") + sum.Cached + sum.CacheWrite
	if n := gjson.ParseBytes(u.members["output_tokens_details"]).Get("thinking_tokens"); n.Type == gjson.Number {
		thought := int(max(n.Int(), 0))
		sum.Reasoning = &thought
	}
	return sum
}
