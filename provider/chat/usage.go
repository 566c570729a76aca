package chat

import (
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// usage brings a host's counts into our meaning. Whether completion_tokens includes thinking is known from the
// total; where there is none, by the dialect.
func (d *Dialect) usage(u gjson.Result) provider.Usage {
	count := func(paths ...string) int {
		for _, path := range paths {
			if v := u.Get(path); v.Type == gjson.Number && v.Int() > 0 {
				return int(v.Int())
			}
		}
		return 0
	}
	sum := provider.Usage{
		Input:      count("prompt_tokens", "input_tokens"),
		Output:     count("completion_tokens", "output_tokens"),
		Cached:     count("prompt_tokens_details.cached_tokens", "cached_tokens", "prompt_cache_hit_tokens"),
		CacheWrite: count("prompt_tokens_details.cache_write_tokens", "cache_creation_input_tokens"),
	}
	sum.Cached = min(sum.Cached, sum.Input) // some hosts report more (docs: x.ai)
	for _, path := range d.Response.ReasoningTokens {
		if v := u.Get(path); v.Type == gjson.Number {
			thought := int(max(v.Int(), 0))
			sum.Reasoning = &thought
			break
		}
	}
	thought := 0
	if sum.Reasoning != nil {
		thought = *sum.Reasoning
	}
	switch total := count("total_tokens"); {
	case thought > 0 && (total == sum.Input+sum.Output+thought || thought > sum.Output):
		sum.Output += thought
	case d.Response.ReasoningExcluded && total > sum.Input+sum.Output: // with or without a count of its own
		sum.Output = total - sum.Input
	case d.Response.ReasoningExcluded && total == 0:
		sum.Output += thought
	}
	sum.Cost = d.charged(u)
	return sum
}

// charged is what the host says that it charged; nil: it does not say.
func (d *Dialect) charged(u gjson.Result) *provider.Cost {
	form := d.Response
	usd := func(path string) (float64, bool) {
		v := u.Get(path)
		return v.Num, path != "" && v.Type == gjson.Number && v.Num >= 0
	}
	amount, ok := usd(form.Cost)
	if !ok {
		return nil
	}
	cost := &provider.Cost{Currency: provider.USD}
	if form.OwnKey != "" && u.Get(form.OwnKey).Bool() {
		more, known := usd(form.OwnKeyCost)
		amount, cost.Partial = amount+more, !known
	}
	cost.Amount = provider.MoneyOf(amount)
	return cost
}
