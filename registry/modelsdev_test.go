package registry

import (
	"encoding/json"
	"testing"

	"github.com/tidwall/gjson"
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
