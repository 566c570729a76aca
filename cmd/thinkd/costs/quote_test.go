package costs

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// A quote says what is known, and nothing for what is not.
func TestQuoteText(t *testing.T) {
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
		var q Quote
		if err := json.Unmarshal([]byte(tc.answer), &q); err != nil {
			t.Fatal(err)
		}
		if got := q.Text(now); got != tc.want {
			t.Errorf("got:\n%s\nwant:\n%s", got, tc.want)
		}
	}
}

func TestQuoteTable(t *testing.T) {
	now := time.UnixMilli(1_000_000).UTC()
	for _, tc := range []struct{ answer, want string }{
		{`{"model":{"provider":"anthropic","id":"claude-opus-5-5","thinking_level":"high"},"cache":"kept","warm_until":1200000,"running":true,
			"prompt":{"tokens":41200,"tokens_low":41150,"tokens_high":41280,"counted":true,"read":40800,"written":400,"paid":0,
				"parts":[{"part":"tools","tokens":9100,"read":9100,"written":0,"paid":0},{"part":"turns","tokens":32100,"read":31700,"written":400,"paid":0}]},
			"cost":{"low":{"amount":0.0112},"likely":{"amount":0.0354},"high":{"amount":0.1418}},
			"compact_first":{"messages":38,"tokens":12400,"summary_cost":{"low":{"amount":0.0951},"likely":{"amount":0.1418},"high":{"amount":0.3105}},
				"cost":{"low":{"amount":0.1419},"likely":{"amount":0.2254},"high":{"amount":0.5621}}}}`,
			`model          anthropic/claude-opus-5-5, thinking high
cost           about 0.0112 to 0.14 USD, likely 0.0354 USD
cache          warm for 3 min, until 00:20:00
               a turn runs: the quote is of what was said so far
compact first  about 0.14 to 0.56 USD, likely 0.23 USD; the prompt then has 12400 tokens
               of this for the summary of 38 messages: about 0.0951 to 0.31 USD, likely 0.14 USD
prompt         41200 tokens, from 41150 to 41280

PART   TOKENS  READ   WRITTEN  PAID
tools  9100    9100   0        0
turns  32100   31700  400      0
total  41200   40800  400      0
`},
		{`{"model":{"provider":"ollama","id":"m","thinking_level":"off"},"cache":"unknown","cost":null,
			"prompt":{"tokens":900,"tokens_low":800,"tokens_high":1000,"counted":false,"read":null,"written":null,"paid":null,"parts":[{"part":"turns","tokens":900,"read":null,"written":null,"paid":null}]}}`,
			`model   ollama/m, thinking off
cost    unknown
cache   unknown
prompt  about 900 tokens, from 800 to 1000

PART   TOKENS  READ     WRITTEN  PAID
turns  900     unknown  unknown  unknown
total  900     unknown  unknown  unknown
`},
		{`{"model":{"provider":"openai","id":"m\u001b[2K","thinking_level":"low"},"cache":"lost","cache_why":"the model changed","prompt":null,"cost":null}`,
			"model   openai/m\ufffd[2K, thinking low\ncost    unknown\ncache   the model changed\nprompt  unknown\n"},
	} {
		var q Quote
		if err := json.Unmarshal([]byte(tc.answer), &q); err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		if err := q.Table(&got, now); err != nil {
			t.Fatal(err)
		}
		if got.String() != tc.want {
			t.Errorf("got:\n%s\nwant:\n%s", got.String(), tc.want)
		}
	}
}
