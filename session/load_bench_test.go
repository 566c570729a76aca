package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/mem"
	"github.com/thinkd/thinkd/session/storetest"
)

// BenchmarkLoad reads and folds logs of so many messages, as the first who wants a session has it done.
func BenchmarkLoad(b *testing.B) {
	for _, messages := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("messages=%d", messages), func(b *testing.B) {
			s := mem.New().For(session.Operator)
			storetest.Create(b, s, session.Session{ID: storetest.ID(1)})
			for range messages / 2 {
				turn, said, reply := session.NewTurnID(), session.NewMessageID(), session.NewMessageID()
				var entries []session.Entry
				for _, body := range []session.Body{session.Prompt{Message: said, Content: provider.Blocks{provider.Text{Text: "Which date is later?"}}}, session.TurnStart{},
					session.Sealed{Message: reply, Block: provider.Thinking{Text: strings.Repeat("Compare both. ", 20)}},
					session.Sealed{Message: reply, Number: 1, Block: provider.Text{Text: "The second."}}, session.MessageEnd{Message: reply}, session.TurnEnd{StopReason: "end_turn"}} {
					entries = append(entries, session.Entry{Turn: turn, Body: body})
				}
				if _, err := storetest.Append(b.Context(), s, storetest.ID(1), entries...); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if v, err := session.Load(b.Context(), s, storetest.ID(1)); err != nil || len(v.Turns) != messages/2 {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(messages), "ns/message")
		})
	}
}
