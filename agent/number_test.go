package agent

import (
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/session"
)

// The first update of a process may be one that no log keeps. Its number is not used again after a crash.
func TestNumbersOfWhatIsNotKept(t *testing.T) {
	for name, tells := range map[string]func(*bench, session.ID) error{
		"tools that are missing": func(b *bench, id session.ID) error { return b.agent(id).ToolsMissing(b.Context(), "gone") },
		"a summary that is begun": func(b *bench, id session.ID) error {
			_, err := b.agent(id).Compact(b.Context())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.close()
				id := b.session("sim/claude", "")
				b.turn(id, "one")
				b.turn(id, "two")
				store := &wounded{Sessions: b.store}
				b.over(store)
				sub, err := b.agent(id).Subscribe(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := tells(b, id); err != nil {
					t.Fatal(err)
				}
				told, err := sub.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				store.kill()
				b.over(b.store)
				snap, next, err := b.agent(id).AttachAfter(t.Context(), told.Seq, 100)
				if err != nil {
					t.Fatal(err)
				}
				defer next.Close()
				b.turn(id, "three")
				u, err := next.Next(t.Context())
				if err != nil || u.Seq <= told.Seq || u.Seq != snap.Seq+1 {
					t.Errorf("after %d %s the next process tells %d behind %d, %v", told.Seq, told.Event.Method(), u.Seq, snap.Seq, err)
				}
			})
		})
	}
}

// A holder that uses more numbers than the next one leaves out stores one on the way.
func TestNumbersOfALongAnswer(t *testing.T) {
	b := newBench(t)
	defer b.close()
	id := b.session("sim/claude", "")
	b.turn(id, "one")
	var last uint64
	for range 3 {
		_, err := ask(t.Context(), b.agent(id), func(s *state) (struct{}, error) {
			s.feed.PublishGrowth("", 0, feed.MessageDelta{}, make([]int, session.MaxUnstored-1)) // the pieces of a long block
			s.tell("", s.queue.Update())
			last = s.feed.Seq()
			return struct{}{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	b.agent(id).Close()
	v, err := session.Load(t.Context(), b.store, id)
	if err != nil || v.LastSeq != last || session.NextBase(v.LastSeq) <= last {
		t.Errorf("the log goes up to %d of %d, %v", v.LastSeq, last, err)
	}
}
