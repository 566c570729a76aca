package messages

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

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

// terms is how Anthropic caches a request (docs: prompt-caching). Other hosts of the API do not say.
func (a *API) terms(req *provider.Request) provider.CacheTerms {
	mark := a.mark(req)
	switch {
	case a.host.Plain || a.host.Betas != nil && a.host.Vendor != "anthropic":
		return provider.CacheTerms{}
	case mark == nil:
		return provider.CacheTerms{Off: true}
	}
	terms := provider.CacheTerms{Marked: true, Keeps: 5 * time.Minute, Least: leastCached(req.Model.ID)}
	if mark.TTL == string(provider.CacheLong) {
		terms.Long, terms.Keeps = true, time.Hour
	}
	return terms
}

// leastTokens are the shortest prompts that are cached, by parts of the names of models (docs: prompt-caching). The first that fits
// counts.
var leastTokens = []struct {
	part   string
	tokens int
}{
	{"5-5", 512}, {"opus-4-5", 4096}, {"opus-4-6", 4096}, {"haiku-4-5", 4096}, {"opus-4-7", 2048}, {"opus-4-8", 1024},
	{"sonnet-4-5", 1024}, {"sonnet-4-6", 1024}, {"sonnet-5", 1024}, {"opus-5", 512}, {"fable-5", 512}, {"mythos-5", 512},
}

// leastCached returns 0 for a model whose minimum is not known.
func leastCached(model string) int {
	for _, least := range leastTokens {
		if strings.Contains(model, least.part) {
			return least.tokens
		}
	}
	return 0
}
