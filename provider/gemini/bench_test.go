package gemini_test

import (
	"fmt"
	"testing"

	"github.com/thinkd/thinkd/provider/providertest"
)

func BenchmarkDelta(b *testing.B) {
	frame := func(more string) func(int, string) string {
		return func(n int, text string) string {
			return fmt.Sprintf("data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":%q%s}],\"role\":\"model\"},\"index\":0}],\"modelVersion\":\"gemini-3.5-pro\",\"responseId\":\"aMb1Z9\",\"usageMetadata\":{\"promptTokenCount\":9,\"thoughtsTokenCount\":%d,\"totalTokenCount\":%d}}\r\n\r\n",
				text, more, 4*n, 4*n+9)
		}
	}
	providertest.Bench(b, providertest.Flow{
		Suite:    suite(),
		Thinking: frame(`,"thought":true`),
		Text:     frame(""),
		Tail:     "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}],\"role\":\"model\"},\"finishReason\":\"STOP\",\"index\":0}],\"modelVersion\":\"gemini-3.5-pro\",\"responseId\":\"aMb1Z9\",\"usageMetadata\":{\"promptTokenCount\":9,\"totalTokenCount\":9}}\r\n\r\n",
	})
}
