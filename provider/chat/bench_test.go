package chat_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/providertest"
)

// The dialects stand for the ways to the thinking: by its name, by its name with tags looked for in the text, and in
// details beside it.
func BenchmarkDelta(b *testing.B) {
	frame := func(delta string) func(int, string) string {
		return func(_ int, text string) string {
			return fmt.Sprintf("data: {\"id\":\"chatcmpl-68a1c0d2b7e48197\",\"object\":\"chat.completion.chunk\",\"created\":1767225600,\"model\":\"deepseek-v4\",\"choices\":[{\"index\":0,\"delta\":{"+delta+"},\"finish_reason\":null}]}\n\n", text)
		}
	}
	details := func(_ int, text string) string {
		return frame(fmt.Sprintf(`"content":"","reasoning":%%q,"reasoning_details":[{"type":"reasoning.text","text":%q,"format":"unknown","index":0}]`, text))(0, text)
	}
	named := frame(`"reasoning_content":%q`)
	for _, kind := range []struct {
		dialect  string
		thinking func(int, string) string
	}{{"deepseek", named}, {"generic", named}, {"openrouter", details}} {
		b.Run(kind.dialect, func(b *testing.B) {
			providertest.Bench(b, providertest.Flow{
				Suite: providertest.Suite{
					New:  func(rt http.RoundTripper) provider.Provider { return newAPI(b, kind.dialect, rt) },
					Type: "text/event-stream",
				},
				Thinking: kind.thinking,
				Text:     frame(`"content":%q`),
				Tail:     "data: {\"id\":\"chatcmpl-68a1c0d2b7e48197\",\"object\":\"chat.completion.chunk\",\"created\":1767225600,\"model\":\"deepseek-v4\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":9}}\n\ndata: [DONE]\n\n",
			})
		})
	}
}
