package responses_test

import (
	"fmt"
	"testing"

	"github.com/thinkd/thinkd/provider/providertest"
)

func BenchmarkDelta(b *testing.B) {
	frame := func(kind, index string) func(int, string) string {
		return func(n int, text string) string {
			return fmt.Sprintf("event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,\"item_id\":\"rs_68a1c0d2b7e48197\",\"output_index\":0,%q:0,\"delta\":%q,\"obfuscation\":%q}\n\n",
				kind, kind, n+2, index, text, "k3xQ7vLp0sWm"[:n%12])
		}
	}
	providertest.Bench(b, providertest.Flow{
		Suite:    suite("openai"),
		Head:     "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\",\"object\":\"response\",\"status\":\"in_progress\",\"model\":\"gpt-6.1\",\"output\":[]}}\n\n",
		Thinking: frame("response.reasoning_summary_text.delta", "summary_index"),
		Text:     frame("response.output_text.delta", "content_index"),
		Tail:     "event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":9,\"response\":{\"id\":\"resp_1\",\"object\":\"response\",\"status\":\"completed\",\"model\":\"gpt-6.1\",\"output\":[],\"usage\":{\"input_tokens\":9,\"output_tokens\":9}}}\n\n",
	})
}
