package provider

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// Rates are prices in USD per million tokens. 0 for one of the cache's means that it is not known, except where Input is
// 0 as well: such a model is free.
type Rates struct {
	Input          float64 `json:"input"`
	Output         float64 `json:"output"`
	CachedInput    float64 `json:"cached_input,omitempty"`   // input that was read from the prompt cache
	CacheWrite     float64 `json:"cache_write,omitempty"`    // input that was written to it, for the vendor's shortest time
	CacheWriteLong float64 `json:"cache_write_1h,omitempty"` // input that was written to it for an hour
}

// Agree reports whether another source states the same rates. A source may state fewer rates: its 0 for the cache counts as not stated.
func (r Rates) Agree(stated Rates) bool {
	same := func(a, b float64) bool { return math.Abs(a-b) <= 1e-6+math.Abs(b)*1e-3 }
	return same(r.Input, stated.Input) && same(r.Output, stated.Output) &&
		(stated.CachedInput == 0 || same(r.CachedInput, stated.CachedInput)) && (stated.CacheWrite == 0 || same(r.CacheWrite, stated.CacheWrite))
}

// Price says what a model costs, by the rules of its vendor: the rates of a request follow from its prompt (Tiers), the day
// (Changes) and the hour (Peak).
type Price struct {
	Rates
	Tiers   []PriceTier   `json:"tiers,omitempty"`   // for larger prompts, in rising order
	Changes []PriceChange `json:"changes,omitempty"` // announced prices, in order of their days
	Peak    *PeakHours    `json:"peak,omitempty"`

	// ServiceTiers multiply the cost of a request by how it was served, by the vendor's word: flex, priority, batch.
	ServiceTiers map[string]float64 `json:"service_tiers,omitempty"`

	// WebSearch is in USD per thousand searches of the vendor's tools, without what an account has free; 0: not known.
	WebSearch float64 `json:"web_search,omitempty"`
}

// PriceTier has the rates of a request whose whole prompt (input, cached input and cache writes) has more than Above
// tokens. They apply to every token of that request, not only to those above.
type PriceTier struct {
	Above int `json:"above"`
	Rates
}

// PriceChange has the rates from a day on, which begins at midnight UTC. The tiers of the price before end with it.
type PriceChange struct {
	From string `json:"from"` // YYYY-MM-DD
	Rates
	Tiers []PriceTier `json:"tiers,omitempty"`
}

// PeakHours multiply all prices in some hours of the week.
type PeakHours struct {
	Factor    float64  `json:"factor"`
	UTCOffset int      `json:"utc_offset"`         // hours, of the zone that Hours are in
	Hours     [][2]int `json:"hours"`              // from the first hour until before the second one: [[9, 12], [14, 18]]
	Weekdays  bool     `json:"weekdays,omitempty"` // only from Monday to Friday
}

// in reports whether the moment is in the hours.
func (h *PeakHours) in(at time.Time) bool {
	local := at.In(time.FixedZone("", h.UTCOffset*60*60))
	if day := local.Weekday(); h.Weekdays && (day == time.Saturday || day == time.Sunday) {
		return false
	}
	for _, span := range h.Hours {
		if span[0] <= local.Hour() && local.Hour() < span[1] {
			return true
		}
	}
	return false
}

// Times returns the price with all rates multiplied, for example for a region where a vendor charges more. The price of searches stays the same.
func (p Price) Times(factor float64) *Price {
	multiply := func(r Rates) Rates {
		for _, rate := range r.all() {
			*rate = math.Round(*rate*factor*1e6) / 1e6
		}
		return r
	}
	tiers := func(list []PriceTier) []PriceTier {
		list = slices.Clone(list)
		for i := range list {
			list[i].Rates = multiply(list[i].Rates)
		}
		return list
	}
	p.Rates, p.Tiers, p.Changes = multiply(p.Rates), tiers(p.Tiers), slices.Clone(p.Changes)
	for i := range p.Changes {
		p.Changes[i].Rates, p.Changes[i].Tiers = multiply(p.Changes[i].Rates), tiers(p.Changes[i].Tiers)
	}
	return &p
}

// At returns the rates of a request with a prompt of that many tokens at a moment.
func (p Price) At(prompt int, at time.Time) Rates {
	rates, tiers, today := p.Rates, p.Tiers, at.UTC().Format(time.DateOnly)
	for _, change := range p.Changes {
		if change.From <= today {
			rates, tiers = change.Rates, change.Tiers
		}
	}
	for _, tier := range tiers {
		if prompt > tier.Above {
			rates = tier.Rates
		}
	}
	if p.Peak != nil && p.Peak.in(at) {
		for _, rate := range rates.all() {
			*rate *= p.Peak.Factor
		}
	}
	return rates
}

func (r *Rates) all() []*float64 {
	return []*float64{&r.Input, &r.Output, &r.CachedInput, &r.CacheWrite, &r.CacheWriteLong}
}

// usualTiers are vendors' words for the service that the rates are of.
var usualTiers = []string{"", "default", "standard", "auto", "on_demand"}

// Cost returns the cost of one call with the usage u at that moment. It is nil if the price is not known: p is nil, or p has no factor
// for the way in which the call was served. Tokens of a kind whose price is not known are left out, and then the cost is partial.
func (p *Price) Cost(u Usage, at time.Time) *Cost {
	if p == nil {
		return nil
	}
	factor, known := p.ServiceTiers[u.Tier]
	if slices.Contains(usualTiers, u.Tier) {
		factor, known = 1, true
	}
	if !known {
		return nil
	}
	cost := p.one(u.Sent(), at)
	for _, part := range u.Separate {
		more := p.one(part, at)
		cost.Amount, cost.Partial = cost.Amount+more.Amount, cost.Partial || more.Partial
	}
	if factor != 1 {
		cost.Amount = MoneyOf(cost.Amount.Units() * factor)
	}
	cost.Amount += MoneyOf(p.WebSearch / 1000 * float64(u.Searches))
	cost.Partial = cost.Partial || u.Metered || u.Searches > 0 && p.WebSearch == 0
	return cost
}

// one is the cost of one request.
func (p *Price) one(u Usage, at time.Time) *Cost {
	now := p.At(u.Input, at)
	cost := &Cost{Currency: USD}
	if b := u.Billed; b != nil {
		cost.Amount = MoneyOf((float64(b.Input)*now.Input + float64(b.Output)*now.Output) / 1e6)
		return cost
	}
	units := 0.0
	long := min(u.CacheWriteLong, u.CacheWrite)
	for _, part := range []struct {
		tokens int
		price  float64
		known  bool
	}{
		{max(u.Input-u.Cached-u.CacheWrite, 0), now.Input, true},
		{u.Output, now.Output, true},
		{u.Cached, now.CachedInput, now.CachedInput > 0 || now.Input == 0},
		{u.CacheWrite - long, now.CacheWrite, now.CacheWrite > 0 || now.Input == 0},
		{long, now.CacheWriteLong, now.CacheWriteLong > 0 || now.Input == 0},
	} {
		if part.tokens > 0 && !part.known {
			cost.Partial = true
			continue
		}
		units += float64(part.tokens) * part.price / 1e6
	}
	cost.Amount = MoneyOf(units)
	return cost
}

// Check reports what contradicts itself.
func (p Price) Check() error {
	if err := p.Rates.check(); err != nil {
		return err
	}
	if err := checkTiers(p.Tiers); err != nil {
		return err
	}
	if !(p.WebSearch >= 0 && p.WebSearch <= 1000) {
		return fmt.Errorf("web_search is %v: it is USD per thousand searches, from 0 to 1000", p.WebSearch)
	}
	for i, change := range p.Changes {
		if _, err := time.Parse(time.DateOnly, change.From); err != nil || i > 0 && change.From <= p.Changes[i-1].From {
			return fmt.Errorf("changes[%d].from is %q: it is a day, YYYY-MM-DD, after the one before", i, change.From)
		}
		if err := errors.Join(change.Rates.check(), checkTiers(change.Tiers)); err != nil {
			return fmt.Errorf("changes[%d]: %w", i, err)
		}
	}
	for _, tier := range slices.Sorted(maps.Keys(p.ServiceTiers)) {
		if factor := p.ServiceTiers[tier]; !(factor >= 0 && factor <= 100) || slices.Contains(usualTiers, tier) {
			return fmt.Errorf("service_tiers: %q has the factor %v: it is from 0 to 100, and the usual service has none", tier, factor)
		}
	}
	if h := p.Peak; h != nil {
		if !(h.Factor > 0 && h.Factor <= 100) || h.UTCOffset < -12 || h.UTCOffset > 14 || len(h.Hours) == 0 {
			return fmt.Errorf("peak has the factor %v, the UTC offset %d and %d spans of hours", h.Factor, h.UTCOffset, len(h.Hours))
		}
		for i, span := range h.Hours {
			if span[0] < 0 || span[0] >= span[1] || span[1] > 24 {
				return fmt.Errorf("peak.hours[%d] is %v: it is two hours from 0 to 24 that rise", i, span)
			}
		}
	}
	return nil
}

// check refuses what JSON has no form for: not a number, and without end.
func (r Rates) check() error {
	for _, rate := range r.all() {
		if !(*rate >= 0 && *rate <= math.MaxFloat64) {
			return fmt.Errorf("input %v, output %v, cached_input %v, cache_write %v and cache_write_1h %v are not all USD per million tokens",
				r.Input, r.Output, r.CachedInput, r.CacheWrite, r.CacheWriteLong)
		}
	}
	return nil
}

func checkTiers(tiers []PriceTier) error {
	for i, tier := range tiers {
		if tier.Above <= 0 || i > 0 && tier.Above <= tiers[i-1].Above {
			return fmt.Errorf("tiers[%d].above is %d: tiers begin above 0 and rise", i, tier.Above)
		}
		if err := tier.Rates.check(); err != nil {
			return fmt.Errorf("tiers[%d]: %w", i, err)
		}
	}
	return nil
}
