package chat

import (
	"encoding/json"
	"testing"
	"time"
)

// A quote says what is known, and nothing for what is not.
func TestCost(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	for _, tc := range []struct{ answer, want string }{
		{`{"model":{"provider":"anthropic","id":"claude-opus-5-5"},"cache":"kept","warm_until":1200000,
			"prompt":{"tokens":41200,"counted":true,"read":40800,"written":400,"parts":[{"part":"tools","tokens":9100},{"part":"turns","tokens":32100}]},
			"cost":{"low":{"amount":0.0112},"high":{"amount":0.1418}},"compact_first":{"messages":38,"cost":{"low":{"amount":0.14},"high":{"amount":0.56}}}}`,
			"Next prompt with anthropic/claude-opus-5-5: about 0.0112 to 0.14 USD, cache warm for 3 min.\n" +
				"41200 tokens, 40800 from the cache, 400 written to it · tools 9100 · turns 32100\n" +
				"With a summary of 38 messages first: about 0.14 to 0.56 USD · /compact"},
		{`{"model":{"provider":"ollama","id":"m"},"prompt":{"tokens":900,"counted":false,"read":null,"written":null,"parts":[]},"cost":null}`,
			"Next prompt with ollama/m: the price is not known.\nabout 900 tokens"},
		{`{"model":{"provider":"openai","id":"m"},"cache":"cold","warm_until":900000,"prompt":null,"cost":null}`,
			"Next prompt with openai/m: the price is not known, cache cold."},
	} {
		var q quote
		if err := json.Unmarshal([]byte(tc.answer), &q); err != nil {
			t.Fatal(err)
		}
		if got := q.words(now); got != tc.want {
			t.Errorf("got:\n%s\nwant:\n%s", got, tc.want)
		}
	}
}
