package responses

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// wire is what of a body the decision on thinking puts there.
type wire struct {
	control
	Input []configurationUpdate `json:"input,omitempty"`
}

// Cache compares the effort on top, which is a part of the cache's key. Summaries are not (docs: prompt-caching).
func (a *API) Cache(before json.RawMessage, req *provider.Request) (provider.CacheState, string) {
	c, err := a.control(req)
	return exchange.CompareCache(before, keyed(c), err, "the effort is a part of the vendor's cache key", func(was wire) string {
		if len(was.Input) > 0 && slices.Contains(req.Repairs, effortOnTop(req.Model.ID)) {
			was.Reasoning = &was.Input[0].Reasoning // that call was repeated with the effort on top
		}
		return keyed(was.control)
	})
}

func keyed(c control) string {
	if c.Reasoning == nil || c.Reasoning.Effort == "" {
		return "the vendor's default"
	}
	return c.Reasoning.Effort
}

var _ provider.Cacher = (*API)(nil)

// OpenAI caches prompts from this many tokens on without being asked. Models that charge for it keep them for 30 minutes; of older
// ones no time is documented (docs: prompt-caching).
const (
	leastCached = 1024
	keepsCached = 30 * time.Minute
)

// terms is how OpenAI caches a request. Other hosts of the API do not say.
func (a *API) terms(req *provider.Request) (terms provider.CacheTerms) {
	if !a.host.CacheKey {
		return terms
	}
	terms.Least = leastCached
	if p := req.Model.Price; p != nil && p.CacheWrite > 0 {
		terms.Keeps = keepsCached
	}
	return terms
}
