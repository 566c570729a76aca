package feed

import (
	"fmt"
	"sync"
	"testing"
)

// BenchmarkPublish is one piece of growth told to subscribers that read now and then, each time all that waits. The
// floor is a lock and a pointer kept for each of them.
func BenchmarkPublish(b *testing.B) {
	const often = 32 // pieces between two readings
	piece := func(seq uint64) *Update {
		return &Update{Seq: seq, Turn: "t", Event: MessageDelta{"m", 0, "some twenty characters"}}
	}
	for _, n := range []int{1, 10, 1000} {
		b.Run(fmt.Sprintf("subscribers=%d", n), func(b *testing.B) {
			f := New("s", 0)
			var subs []*Subscription
			for range n {
				subs = append(subs, NewSubscription())
				f.Add(subs[len(subs)-1])
			}
			b.ReportAllocs()
			for b.Loop() {
				f.Publish("t", 0, MessageDelta{"m", 0, "some twenty characters"})
				if f.seq%often == 0 {
					for _, sub := range subs {
						if u, err := sub.TryNext(); u == nil || err != nil {
							b.Fatal(u, err)
						}
					}
				}
			}
		})
		b.Run(fmt.Sprintf("floor=%d", n), func(b *testing.B) {
			type slot struct {
				mu   sync.Mutex
				list []*Update
			}
			slots := make([]slot, n)
			seq := uint64(0)
			b.ReportAllocs()
			for b.Loop() {
				seq++
				u := piece(seq)
				for i := range slots {
					s := &slots[i]
					s.mu.Lock()
					if s.list = append(s.list, u); len(s.list) == often {
						s.list = s.list[:0]
					}
					s.mu.Unlock()
				}
			}
		})
	}
}
