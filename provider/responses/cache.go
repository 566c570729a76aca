package responses

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// wire is what of a body the decision on thinking puts there.
type wire struct {
	control
	Input []configurationUpdate `json:"input,omitempty"`
}

// Cache compares the effort on top, which is a part of the cache's key. Summaries are not (docs: prompt-caching).
func (a *API) Cache(before json.RawMessage, req *provider.Request) (provider.CacheState, string) {
	c, err := a.control(req)
	if err != nil {
		return provider.CacheUnknown, err.Error()
	}
	was := wire{}
	if err := json.Unmarshal(before, &was); err != nil {
		return provider.CacheUnknown, "what was sent before is not known"
	}
	if len(was.Input) > 0 && slices.Contains(req.Repairs, effortOnTop(req.Model.ID)) {
		was.Reasoning = &was.Input[0].Reasoning // that call was made again with the effort on top
	}
	then, now := keyed(was.control), keyed(c)
	if then == now {
		return provider.CacheKept, ""
	}
	return provider.CacheLost, fmt.Sprintf("the effort is a part of the vendor's cache key, and it changed from %s to %s", then, now)
}

func keyed(c control) string {
	if c.Reasoning == nil || c.Reasoning.Effort == "" {
		return "the vendor's default"
	}
	return c.Reasoning.Effort
}

var _ provider.Cacher = (*API)(nil)
