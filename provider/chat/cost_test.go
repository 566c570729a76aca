package chat_test

import (
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/registry"
)

// OpenRouter says what it charged. That is the cost, whatever its list says: the host behind may have another price, and
// with a key of the user's own the vendor's charge comes on top.
func TestChargedCost(t *testing.T) {
	for _, test := range []struct {
		dialect, usage string
		want           float64 // negative: it does not say
		partial        bool
	}{
		{"openrouter", `"cost":0.0123`, 0.0123, false},
		{"openrouter", `"cost":0`, 0, false},
		{"openrouter", `"cost":0.0123,"is_byok":false,"cost_details":{"upstream_inference_cost":0.0123}`, 0.0123, false},
		{"openrouter", `"cost":0.001,"is_byok":true,"cost_details":{"upstream_inference_cost":0.02}`, 0.021, false},
		{"openrouter", `"cost":0.001,"is_byok":true,"cost_details":{"upstream_inference_cost":null}`, 0.001, true},
		{"openrouter", `"cost":"free"`, -1, false},
		{"openrouter", `"cost":-1`, -1, false},
		{"openrouter", `"total_tokens":15`, -1, false},
		{"groq", `"cost":0.0123`, -1, false},
	} {
		body := `{"id":"g","model":"m","service_tier":"flex","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hi"}}],"usage":{"prompt_tokens":10,"completion_tokens":5,` + test.usage + `}}`
		reply := providertest.Check(t, newAPI(t, test.dialect, &providertest.Host{Type: "application/json", Body: body}).Stream(t.Context(), &provider.Request{Model: provider.Model{ID: "m"}}))
		if reply.Err != nil {
			t.Fatal(reply.Err)
		}
		u := reply.Stop.Usage
		if (u.Cost == nil) != (test.want < 0) || u.Cost != nil && (u.Cost.Amount != provider.MoneyOf(test.want) || u.Cost.Partial != test.partial) || u.Tier != "flex" {
			t.Errorf("%s %s: %+v, tier %q", test.dialect, test.usage, u.Cost, u.Tier)
		}
	}
}

// The same from the simulator, streamed.
func TestChargedCostStreamed(t *testing.T) {
	_, open := simulator(t)
	row := registry.Default().Model("sim", "anthropic/sim")
	reply := providertest.Check(t, open("openrouter").Stream(t.Context(), &provider.Request{Model: row,
		Messages: []provider.Message{providertest.User("Hi")}}))
	if reply.Err != nil {
		t.Fatal(reply.Err)
	}
	u := reply.Stop.Usage
	if said := gjson.GetBytes(reply.Stop.RawUsage, "cost").Num; u.Cost == nil || said <= 0 || u.Cost.Amount != provider.MoneyOf(said) {
		t.Errorf("the cost is %v of %s", u.Cost, reply.Stop.RawUsage)
	}
}
