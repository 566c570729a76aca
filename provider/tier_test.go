package provider

import (
	"testing"
	"time"
)

// A request's service changes its price by the vendor's word; what the price knows nothing of has no cost. Requests of the
// vendor's own are priced each by its own prompt.
func TestServiceTiers(t *testing.T) {
	price := &Price{Rates: Rates{Input: 1, Output: 10}, Tiers: []PriceTier{{Above: 100_000, Rates: Rates{Input: 2, Output: 20}}},
		ServiceTiers: map[string]float64{"flex": 0.5, "priority": 2}}
	if err := price.Check(); err != nil {
		t.Error(err)
	}
	for _, tier := range []string{"", "default", "standard", "auto", "flex", "priority", "batch"} {
		cost := price.Cost(Usage{Input: 50_000, Output: 5_000, Tier: tier}, time.Now())
		want := map[string]float64{"": 0.1, "default": 0.1, "standard": 0.1, "auto": 0.1, "flex": 0.05, "priority": 0.2}[tier]
		if (cost == nil) != (want == 0) || cost != nil && cost.Amount != MoneyOf(want) {
			t.Errorf("%q: %v, want %v", tier, cost, want)
		}
	}
	u := Usage{Input: 50_000, Output: 5_000}.With(Usage{Input: 150_000, Output: 1_000})
	if cost := price.Cost(u, time.Now()); cost.Amount != MoneyOf(0.05+0.05+0.3+0.02) {
		t.Errorf("with a request of the vendor's own: %v", cost)
	}
	for _, tiers := range []map[string]float64{{"flex": -1}, {"default": 2}} {
		if err := (Price{ServiceTiers: tiers}).Check(); err == nil {
			t.Errorf("%v is taken", tiers)
		}
	}
}
