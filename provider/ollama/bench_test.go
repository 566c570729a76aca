package ollama_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider/providertest"
)

func BenchmarkDelta(b *testing.B) {
	began := time.Date(2026, 7, 28, 6, 33, 7, 47531000, time.UTC)
	frame := func(message string) func(int, string) string {
		return func(n int, text string) string {
			at := began.Add(time.Duration(n) * 13627 * time.Microsecond).Format("2006-01-02T15:04:05.999999Z")
			return fmt.Sprintf("{\"model\":\"qwen3:4b\",\"created_at\":%q,\"message\":{\"role\":\"assistant\","+message+"},\"done\":false}\n", at, text)
		}
	}
	providertest.Bench(b, providertest.Flow{
		Suite:    suite(),
		Thinking: frame(`"content":"","thinking":%q`),
		Text:     frame(`"content":%q`),
		Tail:     "{\"model\":\"qwen3:4b\",\"created_at\":\"2026-07-28T06:33:30Z\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"eval_count\":9}\n",
	})
}
