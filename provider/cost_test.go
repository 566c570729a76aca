package provider

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/thinkd/thinkd/provider/testgo"
)

func TestAmount(t *testing.T) {
	used := Usage{Input: 1000, Output: 100, Cached: 600, CacheWrite: 300}
	for _, test := range []struct {
		name  string
		price *Price
		used  Usage
		want  string // JSON of the cost
	}{
		{"all prices", &Price{Rates: Rates{Input: 10, Output: 50, CachedInput: 1, CacheWrite: 12.5}}, used, `{"amount":0.01035,"currency":"USD"}`},
		{"none for the cache", &Price{Rates: Rates{Input: 10, Output: 50}}, used, `{"amount":0.006,"currency":"USD","partial":true}`},
		{"none for the cache, which was not used", &Price{Rates: Rates{Input: 10, Output: 50}}, Usage{Input: 100, Output: 100}, `{"amount":0.006,"currency":"USD"}`},
		{"written for an hour", &Price{Rates: Rates{Input: 10, Output: 50, CachedInput: 1, CacheWrite: 12.5, CacheWriteLong: 20}},
			Usage{Input: 1000, Output: 100, Cached: 600, CacheWrite: 300, CacheWriteLong: 200}, `{"amount":0.01185,"currency":"USD"}`},
		{"free", &Price{}, used, `{"amount":0,"currency":"USD"}`},
		{"not known", nil, used, `null`},
		{"a billionth", &Price{Rates: Rates{Input: 0.001}}, Usage{Input: 1}, `{"amount":1e-9,"currency":"USD"}`},
		{"more cached than there was", &Price{Rates: Rates{Input: 10, CachedInput: 1}}, Usage{Input: 1, Cached: 1000}, `{"amount":0.001,"currency":"USD"}`},
		{"more than there is", &Price{Rates: Rates{Input: math.MaxFloat64}}, Usage{Input: math.MaxInt}, `{"amount":4503599.627370496,"currency":"USD"}`},
		{"no number", &Price{Rates: Rates{Input: math.Inf(1), Output: math.Inf(1)}}, Usage{Output: 1}, `{"amount":0,"currency":"USD"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := json.Marshal(test.price.Cost(test.used, time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestCostInWords(t *testing.T) {
	for _, test := range []struct {
		cost *Cost
		want string
	}{
		{nil, "-"},
		{&Cost{0, USD, false}, "0 USD"},
		{&Cost{MoneyOf(12.34567), USD, false}, "12.3457 USD"},
		{&Cost{MoneyOf(0.0004567), USD, true}, "at least 0.000457 USD"},
	} {
		if got := test.cost.String(); got != test.want {
			t.Errorf("%+v: got %q, want %q", test.cost, got, test.want)
		}
	}
}

func TestAddedCosts(t *testing.T) {
	cost := func(amount Money, partial bool) *Cost { return &Cost{amount, USD, partial} }
	paid, unknown, idle := Usage{Input: 1, Cost: cost(5, false)}, Usage{Output: 1}, Usage{}
	for _, test := range []struct {
		name string
		sum  Usage
		want *Cost
	}{
		{"two", paid.Add(paid), cost(10, false)},
		{"one of which nobody knows", paid.Add(unknown), cost(5, true)},
		{"the other way round", unknown.Add(paid), cost(5, true)},
		{"and once more", unknown.Add(paid).Add(paid), cost(10, true)},
		{"nothing was used", idle.Add(paid), cost(5, false)},
		{"nobody knows any", unknown.Add(unknown), nil},
	} {
		if diff := cmp.Diff(test.want, test.sum.Cost); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// A sum is the same in whatever order it is made, and what is written is what is read.
func TestSumsOfUsage(t *testing.T) {
	usage := rapid.Custom(func(t *rapid.T) Usage {
		n := func(name string) int { return rapid.IntRange(0, 1<<30).Draw(t, name) }
		u := Usage{Input: n("input"), Output: n("output"), Cached: n("cached"), CacheWrite: n("write"), Estimated: rapid.Bool().Draw(t, "estimated")}
		if rapid.Bool().Draw(t, "counted") {
			u.Reasoning = new(n("reasoning"))
		}
		if rapid.Bool().Draw(t, "priced") {
			u.Cost = &Cost{Amount: Money(rapid.Int64Range(0, 1<<50).Draw(t, "amount")), Currency: USD}
		}
		return u
	})
	testgo.Check(t, func(t *rapid.T) {
		a, b, c := usage.Draw(t, "a"), usage.Draw(t, "b"), usage.Draw(t, "c")
		sum := a.Add(b).Add(c)
		if diff := cmp.Diff(sum, a.Add(b.Add(c))); diff != "" {
			t.Fatalf("another order (-first +second):\n%s", diff)
		}
		text, err := json.Marshal(sum)
		if err != nil {
			t.Fatal(err)
		}
		var read Usage
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sum, read); diff != "" {
			t.Fatalf("%s is read as another (-written +read):\n%s", text, diff)
		}
	})
}
