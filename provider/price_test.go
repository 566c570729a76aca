package provider

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The rates of a request follow from its prompt, the day and the hour.
func TestPriceAt(t *testing.T) {
	at := func(text string) time.Time {
		t.Helper()
		moment, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return moment
	}
	small, large, later, largeLater := Rates{Input: 1, Output: 5}, Rates{Input: 2, Output: 7.5}, Rates{Input: 3, Output: 15}, Rates{Input: 6, Output: 30}
	price := Price{Rates: small, Tiers: []PriceTier{{Above: 200_000, Rates: large}},
		Changes: []PriceChange{{From: "2026-12-01", Rates: later, Tiers: []PriceTier{{Above: 100_000, Rates: largeLater}}}}}
	peak := Price{Rates: Rates{Input: 1, Output: 5, CachedInput: 0.5},
		Peak: &PeakHours{Factor: 2, UTCOffset: 8, Hours: [][2]int{{9, 12}, {14, 18}}, Weekdays: true}}
	double := Rates{Input: 2, Output: 10, CachedInput: 1}
	for _, test := range []struct {
		name   string
		price  Price
		prompt int
		at     string
		want   Rates
	}{
		{"small", price, 200_000, "2026-11-30T23:59:59Z", small},
		{"large", price, 200_001, "2026-11-30T23:59:59Z", large},
		{"changed", price, 100_000, "2026-12-01T00:00:00Z", later},
		{"changed, by UTC", price, 100_000, "2026-12-01T01:00:00+02:00", small},
		{"large and changed", price, 100_001, "2027-01-01T00:00:00Z", largeLater},
		{"Monday at nine in Beijing", peak, 1, "2026-11-23T01:00:00Z", double},
		{"before", peak, 1, "2026-11-23T00:59:59Z", peak.Rates},
		{"at noon", peak, 1, "2026-11-23T12:00:00+08:00", peak.Rates},
		{"in the afternoon", peak, 1, "2026-11-23T17:59:59+08:00", double},
		{"Sunday in Beijing", peak, 1, "2026-11-22T10:00:00+08:00", peak.Rates},
	} {
		if diff := cmp.Diff(test.want, test.price.At(test.prompt, at(test.at))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestPriceCheck(t *testing.T) {
	hours := func(spans ...[2]int) Price { return Price{Peak: &PeakHours{Factor: 2, Hours: spans}} }
	for _, test := range []struct {
		price Price
		want  string // part of the error; empty: none
	}{
		{Price{}, ""},
		{Price{Tiers: []PriceTier{{Above: 1}, {Above: 2}}, Changes: []PriceChange{{From: "2026-12-01"}}}, ""},
		{hours([2]int{9, 12}, [2]int{14, 24}), ""},
		{Price{Rates: Rates{CacheWriteLong: -1}}, "cache_write_1h -1"},
		{Price{Rates: Rates{Output: math.Inf(1)}}, "output +Inf"},
		{Price{Tiers: []PriceTier{{Above: 0}}}, "tiers[0].above is 0"},
		{Price{Tiers: []PriceTier{{Above: 2}, {Above: 2}}}, "tiers[1].above is 2"},
		{Price{Tiers: []PriceTier{{Above: 2, Rates: Rates{Input: math.NaN()}}}}, "tiers[0]: input NaN"},
		{Price{Changes: []PriceChange{{From: "soon"}}}, `changes[0].from is "soon"`},
		{Price{Changes: []PriceChange{{From: "2026-12-01"}, {From: "2026-12-01"}}}, "changes[1].from"},
		{Price{Changes: []PriceChange{{From: "2026-12-01", Tiers: []PriceTier{{}}}}}, "changes[0]: tiers[0]"},
		{hours(), "0 spans"},
		{hours([2]int{12, 9}), "peak.hours[0] is [12 9]"},
		{hours([2]int{9, 25}), "peak.hours[0] is [9 25]"},
		{Price{Peak: &PeakHours{Factor: -1, Hours: [][2]int{{1, 2}}}}, "factor -1"},
	} {
		err := test.price.Check()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.price, err, test.want)
		}
	}
}

// TestCostOfSearches: searches are charged in addition to tokens, at no service tier's factor. What has no price makes the cost partial.
func TestCostOfSearches(t *testing.T) {
	rates := Rates{Input: 1, Output: 1}
	used := Usage{Input: 1_000_000, Searches: 3, Tier: "flex"}
	priced := Price{Rates: rates, WebSearch: 10, ServiceTiers: map[string]float64{"flex": 0.5}}
	if c := priced.Cost(used, time.Now()); c.Amount != MoneyOf(0.53) || c.Partial {
		t.Errorf("three searches cost %+v, want 0.53", c)
	}
	unpriced := Price{Rates: rates}
	used.Tier = ""
	if c := unpriced.Cost(used, time.Now()); c.Amount != MoneyOf(1) || !c.Partial {
		t.Errorf("searches without a price cost %+v, want at least 1", c)
	}
	if c := priced.Cost(Usage{Input: 1, Metered: true}, time.Now()); !c.Partial {
		t.Errorf("a container costs %+v, want a partial cost", c)
	}
}
