package messages_test

import (
	"fmt"
	"testing"

	"github.com/thinkd/thinkd/provider/providertest"
)

func BenchmarkDelta(b *testing.B) {
	frame := func(kind, member string) func(int, string) string {
		return func(_ int, text string) string {
			return fmt.Sprintf("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":%q,%q:%q}}\n\n", kind, member, text)
		}
	}
	providertest.Bench(b, providertest.Flow{
		Suite:    suite(),
		Head:     "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-opus-5-5\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n",
		Thinking: frame("thinking_delta", "thinking"),
		Text:     frame("text_delta", "text"),
		Tail:     "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
	})
}
