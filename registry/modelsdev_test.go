package registry

import (
	"encoding/json"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// Whatever the database says, the catalog stays one: rows are taken or left out.
func FuzzModelsDev(f *testing.F) {
	f.Add(`{"anthropic":{"models":{"claude-opus-6":{"id":"claude-opus-6","reasoning":true,"reasoning_options":[{"type":"effort","values":["high","low","none"]},{"type":"toggle"}],"limit":{"context":1e9,"output":-1}}}}}`)
	f.Add(`{"anthropic":{"models":{"a":{"reasoning":true,"reasoning_options":[{"type":"budget_tokens","min":9,"max":1}],"cost":{"input":-1,"output":1e400}}}}}`)
	f.Add(`{"anthropic":{"models":{"":{}}},"google":{"models":[]},"openai":7}`)
	f.Fuzz(func(t *testing.T, text string) {
		if !gjson.Valid(text) {
			return
		}
		rows, _ := ModelsDev(gjson.Parse(text), "2026-11-21")
		if _, err := json.Marshal(rows); err != nil {
			t.Error(err)
		}
		c, err := New([]Provider{{ID: "anthropic", Vendor: "anthropic", Noted: rows["anthropic"]}})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range c.Models() {
			if m.ID == "" {
				t.Error("a model without a name")
			}
			if m.Known {
				if err := check(m); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// Prices of larger prompts are read in both forms: a refresh that left them out would bill long prompts too low.
func TestDevPriceTiers(t *testing.T) {
	for cost, want := range map[string]provider.PriceTier{
		`{"input":1,"output":2,"tiers":[{"input":2,"output":4,"cache_read":0.5,"tier":{"size":272000}}],"context_over_200k":{"input":9,"output":9}}`: {Above: 272_000, Rates: provider.Rates{Input: 2, Output: 4, CachedInput: 0.5}},
		`{"input":1,"output":2,"context_over_200k":{"input":2,"output":3}}`:                                                                          {Above: 200_000, Rates: provider.Rates{Input: 2, Output: 3}},
	} {
		rows, ok := ModelsDev(gjson.Parse(`{"openai":{"models":{"m":{"cost":`+cost+`}}}}`), "2026-11-21")
		if !ok || len(rows["openai"]) != 1 || rows["openai"][0].Price == nil {
			t.Fatalf("%s: %+v", cost, rows)
		}
		if got := rows["openai"][0].Price.Tiers; len(got) != 1 || got[0] != want {
			t.Errorf("%s: %+v, want %+v", cost, got, want)
		}
	}
	if DevPrice(gjson.Parse(`{"input":1}`)) != nil {
		t.Error("half a price is one")
	}
}
