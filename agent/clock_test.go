package agent

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// off is a store whose writer had another clock.
type off struct {
	session.Store
	by time.Duration
}

func (o off) Claim(ctx context.Context, id session.ID) (session.Log, error) {
	return appending(ctx, o.Store, id, o.add)
}

func (o off) add(ctx context.Context, log session.Log, entries ...session.Entry) (uint64, error) {
	entries = slices.Clone(entries)
	for i := range entries {
		entries[i].Time += o.by.Milliseconds()
	}
	return log.Append(ctx, entries...)
}

// TestClockJumps has the wall clock go a day on or back between one process and the next, and beneath an open turn.
// What was said keeps its order, no number is used twice, no turn lasts less than no time, and nothing times out early.
func TestClockJumps(t *testing.T) {
	for _, by := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := events(append(append(think("a"), 80*time.Second), append(say("late"), ended)...)...)
				hangs := events(append(think("cut off"), append(say("half")[:2], time.Hour)...)...)
				b := newBench(t, answer("a", "one"), slow, hangs, slow)
				defer b.close()
				id := b.session("sim/claude", "")
				b.turn(id, "first")

				b.over(off{b.store, by})
				check(t, "a slow turn", string(b.turn(id, "second").End.StopReason), "end_turn")
				store := &wounded{Store: off{b.store, by}}
				b.over(store)
				if _, err := b.agent(id).Prompt(t.Context(), text("third")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Second)
				store.kill()

				b.over(b.store)
				check(t, "a slow turn", string(b.turn(id, "fourth").End.StopReason), "end_turn")
				view, err := session.Load(t.Context(), b.store, id)
				if err != nil {
					t.Fatal(err)
				}
				var said, ends []string
				for _, turn := range view.Turns {
					prompt := turn.Prompt.Content[0].(provider.Text).Text
					said, ends = append(said, prompt), append(ends, string(turn.End.StopReason))
					if turn.End.DurationMS < 0 || turn.End.DurationMS > 100_000 {
						t.Errorf("%s took %d ms", prompt, turn.End.DurationMS)
					}
				}
				check(t, "order", said, []string{"first", "second", "third", "fourth"})
				check(t, "ends", ends, []string{"end_turn", "end_turn", "interrupted", "end_turn"})

				entries, err := b.store.Entries(t.Context(), id, 0, 1000)
				if err != nil {
					t.Fatal(err)
				}
				jumps, last := 0, session.Entry{}
				for _, e := range entries {
					if e.Time < last.Time-time.Hour.Milliseconds() || e.Time > last.Time+time.Hour.Milliseconds() && last.Time != 0 {
						jumps++
					}
					if e.Seq != 0 && e.Seq <= last.Seq {
						t.Errorf("%d after %d", e.Seq, last.Seq)
					}
					last.Time, last.Seq = e.Time, max(e.Seq, last.Seq)
				}
				check(t, "jumps in the log", jumps, 2)
			})
		})
	}
}
