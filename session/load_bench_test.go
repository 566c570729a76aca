package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
)

// BenchmarkLoad reads and folds logs of so many messages, as the first who wants a session has it done.
func BenchmarkLoad(b *testing.B) {
	for _, messages := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("messages=%d", messages), func(b *testing.B) {
			s := NewMem()
			create(b, s, Session{ID: testID(1)})
			for range messages / 2 {
				turn, said, reply := NewTurnID(), NewMessageID(), NewMessageID()
				var entries []Entry
				for _, body := range []Body{Prompt{Message: said, Content: provider.Blocks{provider.Text{Text: "Which date is later?"}}}, TurnStart{},
					Sealed{Message: reply, Block: provider.Thinking{Text: strings.Repeat("Compare both. ", 20)}},
					Sealed{Message: reply, Number: 1, Block: provider.Text{Text: "The second."}}, MessageEnd{Message: reply}, TurnEnd{StopReason: "end_turn"}} {
					entries = append(entries, Entry{Turn: turn, Body: body})
				}
				if _, err := s.Append(b.Context(), testID(1), entries...); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if v, err := Load(b.Context(), s, testID(1)); err != nil || len(v.Turns) != messages/2 {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(messages), "ns/message")
		})
	}
}
