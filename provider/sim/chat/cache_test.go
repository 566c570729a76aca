package chat

import (
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/simtest"
)

// Each host reads the longest prefix that an earlier request had, where it caches without marks, and says so in its own place. With
// marks, it reads only a prefix that ends at one.
func TestChatCache(t *testing.T) {
	long := strings.Repeat("You are careful. ", 600)
	marked := func(text string) arr {
		return arr{obj{"type": "text", "text": text, "cache_control": obj{"type": "ephemeral"}}}
	}
	for _, c := range []struct {
		host, model string
		system      any
		change      obj // of the second request
		path        []any
		reads       bool
	}{
		{"openai", "gpt", long, obj{}, []any{"prompt_tokens_details", "cached_tokens"}, true},
		{"openai", "gpt", long, obj{"reasoning_effort": "low"}, []any{"prompt_tokens_details", "cached_tokens"}, false},
		{"openai", "gpt", "Short.", obj{}, []any{"prompt_tokens_details", "cached_tokens"}, false},
		{"deepseek", "deepseek", long, obj{}, []any{"prompt_cache_hit_tokens"}, true},
		{"deepseek", "deepseek", long, obj{"messages": arr{simtest.Say("system", "Other. "+long), simtest.Say("user", "hi [[sim: text=5]]")}}, []any{"prompt_cache_hit_tokens"}, false},
		{"kimi", "kimi", long, obj{}, []any{"cached_tokens"}, true},
		{"openrouter", "anthropic/sim", long, obj{}, []any{"prompt_tokens_details", "cached_tokens"}, false},
		{"openrouter", "anthropic/sim", marked(long), obj{}, []any{"prompt_tokens_details", "cached_tokens"}, true},
		{"dashscope", "qwen", marked(long), obj{}, []any{"prompt_tokens_details", "cached_tokens"}, true},
	} {
		s := sim.New(sim.Config{})
		body := obj{"model": c.model, "messages": arr{simtest.Say("system", c.system), simtest.Say("user", "hi [[sim: text=5]]")}}
		ask := func(body obj) float64 {
			got := simtest.Complete(t, s, c.host, simtest.ChatHeader(), body)
			if got.Status != 200 {
				t.Fatalf("%s: %d %s", c.host, got.Status, got.Body)
			}
			usage := simtest.Get[obj](got.JSON(), "usage")
			if usage == nil { // some hosts put it into the choice
				usage = simtest.Get[obj](got.JSON(), "choices", 0, "usage")
			}
			return simtest.Get[float64](usage, c.path...)
		}
		if n := ask(body); n != 0 {
			t.Errorf("%s: the first request read %v tokens", c.host, n)
		}
		if n := ask(simtest.Merged(body, c.change)); (n > 0) != c.reads {
			t.Errorf("%s %v: the second request read %v tokens, want some: %v", c.host, c.change, n, c.reads)
		}
	}
}
