package messages

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// wire is what of a body the decision on thinking puts there.
type wire struct {
	control
	Messages []message `json:"messages,omitempty"`
}

var _ provider.Cacher = (*API)(nil)

// Cache compares what the vendor renders into the prompt: the form of thinking, its budget, and the effort on top, in
// front of all messages. How thinking is shown is none of it (docs: prompt-caching, effort).
func (a *API) Cache(before json.RawMessage, req *provider.Request) (provider.CacheState, string) {
	c, err := a.control(req)
	return exchange.CompareCache(before, rendered(c, req.Model), err, "the vendor renders thinking into the prompt", func(was wire) string {
		if len(was.Messages) > 0 && !inPlace(req) && slices.Contains(req.Repairs, effortOnTop(req.Model)) {
			was.Output = was.Messages[0].Output // that call was repeated with the effort on top
		}
		return rendered(was.control, req.Model)
	})
}

// rendered is what of a control stands in the prompt. An effort that is left out is the model's default (docs: effort).
func rendered(c control, m provider.Model) string {
	text := "the vendor's default"
	if c.Thinking != nil {
		text = c.Thinking.Type
		if c.Thinking.Budget > 0 {
			text += fmt.Sprintf(" with %d tokens", c.Thinking.Budget)
		}
	}
	switch level := m.Thinking.Default; {
	case c.Output != nil:
		text += " at effort " + string(c.Output.Effort)
	case c.Thinking != nil && c.Thinking.Type == "adaptive" && level.Rank() > provider.On.Rank():
		text += " at effort " + string(level)
	}
	return text
}
