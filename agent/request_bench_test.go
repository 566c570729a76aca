package agent

import (
	"fmt"
	"testing"

	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// BenchmarkConversation is what goes to a model, made of sessions of so many messages: how it grows with them.
func BenchmarkConversation(b *testing.B) {
	for _, messages := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("messages=%d", messages), func(b *testing.B) {
			v := session.NewView(session.Session{})
			for range messages / 2 {
				turn, said, reply := session.NewTurnID(), session.NewMessageID(), session.NewMessageID()
				for _, body := range []session.Body{session.Prompt{Message: said, Content: text("go").Content}, session.TurnStart{},
					session.Sealed{Message: reply, Block: provider.Thinking{Text: "hm"}},
					session.Sealed{Message: reply, Number: 1, Block: provider.Text{Text: "done"}}, session.MessageEnd{Message: reply}, session.TurnEnd{}} {
					if err := v.Apply(session.Entry{Turn: turn, Body: body}); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if got := (transcript.Recipient{View: v}).Messages(provider.Model{}, provider.Decision{}); len(got) != messages {
					b.Fatal(len(got))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(messages), "ns/message")
		})
	}
}
