package chat

import (
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/replay"
)

// mark is what marks the end of a prefix for the host's prompt cache; nil: the host wants no marks, or none for this model.
func (a *API) mark(req *provider.Request) *replay.CacheMark {
	form, id := a.dialect.Request.Cache, strings.ToLower(req.Model.ID)
	if form == nil || exchange.Withholds(req, wireAPI, "cache_control") ||
		!slices.ContainsFunc(form.Models, func(part string) bool { return strings.Contains(id, strings.ToLower(part)) }) {
		return nil
	}
	mark := replay.Mark(a.caller.Cache, req.CacheTime)
	if mark != nil && !form.Long {
		mark.TTL = ""
	}
	return mark
}

// markCache marks the system prompt, the last message, and the last one of the request before, which stands in front of the
// model's last answer: the vendor looks for what it has only up to 20 blocks before a mark. Of the four marks that are
// taken, one stays free.
func markCache(list []tree, mark *replay.CacheMark, tool string) {
	if len(list) == 0 {
		return
	}
	role := func(i int) string { word, _ := list[i]["role"].(string); return word }
	put := func(i int) {
		m := list[i]
		if role(i) == "tool" && tool == "message" {
			m["cache_control"] = mark
			return
		}
		switch content := m["content"].(type) {
		case string:
			if content != "" {
				m["content"] = []tree{{"type": "text", "text": content, "cache_control": mark}}
			}
		case []tree: // only text can carry it
			for _, part := range slices.Backward(content) {
				if part["type"] == "text" {
					part["cache_control"] = mark
					break
				}
			}
		}
	}
	if role(0) == "system" || role(0) == "developer" {
		put(0)
	}
	last := len(list) - 1
	for i := last - 1; i > 0; i-- {
		if role(i) == "assistant" && role(i-1) != "assistant" {
			if role(i-1) != "system" && role(i-1) != "developer" {
				put(i - 1)
			}
			break
		}
	}
	if role(last) == "user" || role(last) == "tool" {
		put(last)
	}
}
