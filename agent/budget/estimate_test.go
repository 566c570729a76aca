package budget

import (
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// Most is above Usage, whatever a vendor counts as a token, and has nothing from the cache.
func TestMost(t *testing.T) {
	for name, c := range map[string]struct {
		estimate      Estimate
		output        int
		input, answer int
	}{
		"nobody has counted": {Estimate{Sent: 4001, Cached: 900}, 64_000, 2001, 64_000},
		"with pictures":      {Estimate{Sent: 4000, Media: 2}, 100, 12_000, 100},
		"counted":            {Estimate{Sent: 4000, Media: 2, Counted: 2000}, 100, 2101, 100},
		"a longer answer":    {Estimate{Said: 4000}, 100, 0, 1000},
	} {
		u := c.estimate.Most(c.output)
		if u.Input != c.input || u.Output != c.answer || u.Cached != 0 || !u.Estimated {
			t.Errorf("%s: %+v", name, u)
		}
		if probably := c.estimate.Usage(); u.Input < probably.Input || u.Output < probably.Output {
			t.Errorf("%s: at most %+v, and probably %+v", name, u, probably)
		}
	}
}

func TestDearest(t *testing.T) {
	for name, c := range map[string]struct {
		rates provider.Rates
		want  float64
	}{
		"writes cost more":      {provider.Rates{Input: 1, Output: 10, CacheWrite: 2}, 2.5},
		"for an hour":           {provider.Rates{Input: 1, Output: 10, CacheWrite: 2, CacheWriteLong: 3}, 3.5},
		"writes cost nothing":   {provider.Rates{Input: 1, Output: 10}, 1.5},
		"the model is for free": {provider.Rates{}, 0},
	} {
		got := Dearest(&provider.Price{Rates: c.rates}, provider.Usage{Input: 1e6, Output: 5e4}, time.Now())
		if got.Cost == nil || got.Cost.Amount != provider.MoneyOf(c.want) {
			t.Errorf("%s: %+v", name, got.Cost)
		}
	}
	if got := Dearest(nil, provider.Usage{Input: 1}, time.Now()); got.Cost != nil {
		t.Errorf("the price is not known: %+v", got.Cost)
	}
}
