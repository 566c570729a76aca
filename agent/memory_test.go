package agent

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
)

// exact says what is wrong with what a client is told after a number, where told is all that was told, one by one.
func exact(told []*Update, after uint64, since []*Update) error {
	next := after + 1
	for _, u := range since {
		first := u.Seq
		if u.FirstSeq != 0 {
			first = u.FirstSeq
		}
		if first != next || u.FirstSeq >= u.Seq || u.Seq > told[len(told)-1].Seq {
			return fmt.Errorf("after %d comes %d to %d", next-1, u.FirstSeq, u.Seq)
		}
		from := told[first-told[0].Seq:]
		what, text := grown(u.Event)
		var want strings.Builder
		for i := range int(u.Seq-first) + 1 {
			each, piece := grown(from[i].Event)
			want.WriteString(piece)
			if each != what || from[i].Turn != u.Turn || from[i].Session != u.Session {
				return fmt.Errorf("%d is %+v, and comes as a part of %+v", from[i].Seq, from[i].Event, u.Event)
			}
		}
		if u.Time != from[0].Time || text != want.String() || !cmp.Equal(withText(u.Event, ""), withText(from[0].Event, "")) {
			return fmt.Errorf("%d to %d come as %d %+v, want %d %q", first, u.Seq, u.Time, u.Event, from[0].Time, want.String())
		}
		next = u.Seq + 1
	}
	if last := told[len(told)-1].Seq; next != last+1 {
		return fmt.Errorf("it ends with %d of %d", next-1, last)
	}
	return nil
}

// A client may have seen any part of a turn, and gets just what it lacks.
func TestAttachAfterEverySeq(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tick = time.Millisecond
		list := []any{provider.Begin{Index: 0, Block: provider.Thinking{Kind: provider.ThinkingSummary}}}
		grow := func(index int, text string) { list = append(list, tick, provider.Delta{Index: index, Text: text}) }
		for i := range 50 {
			grow(0, strings.Repeat("é", i%4+1))
		}
		list = append(list, tick, provider.End{Index: 0, Block: signed("thought")})
		for _, i := range []int{1, 2} {
			list = append(list, provider.Begin{Index: i, Block: provider.Text{}})
		}
		for i := range 60 {
			grow(1+i/7%2, fmt.Sprint(i, " "))
		}
		for _, n := range []int{maxRun, 1, 1, maxRun - weightOfCut, 1, maxRun/2 - weightOfCut, maxRun/2 - weightOfCut, 1, maxRun/2 - 16, maxRun/2 - 15, 3} {
			grow(1, strings.Repeat("x", n))
		}
		b := newBench(t, answer("Think.", "Say."), events(append(list, time.Hour)...))
		defer b.close()
		id := b.session("anthropic/claude-opus-4-6", "")
		a := b.agent(id)
		b.turn(id, "first")
		snap, sub, err := a.AttachAfter(t.Context(), 3, 10)
		if err != nil || snap.Since != nil || len(snap.Messages) != 2 {
			t.Fatalf("after a turn that ended: %d updates, %d messages, %v", len(snap.Since), len(snap.Messages), err)
		}
		begun := snap.Seq
		told := make(chan []*Update, 1)
		testgo.Go(t, func() { // ends with the subscription
			var all []*Update
			for {
				u, err := sub.Next(t.Context())
				if err != nil {
					told <- all
					return
				}
				all = append(all, u)
			}
		})
		if _, err := a.Prompt(t.Context(), text("second")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		var snaps []Snapshot
		for after := begun; ; after++ {
			snap, sub, err := a.AttachAfter(t.Context(), after, 10)
			if err != nil {
				t.Fatal(err)
			}
			sub.Close()
			if after > snap.Seq {
				if snap.Since != nil || snap.Turn == nil {
					t.Errorf("a number ahead of the session gets %d updates", len(snap.Since))
				}
				break
			}
			snaps = append(snaps, snap)
		}
		snap, _, err = a.AttachAfter(t.Context(), begun-1, 10)
		if err != nil || snap.Since != nil || len(snap.Messages) != 2 || snap.Turn == nil {
			t.Errorf("a number of the turn before gets %d updates, %d messages, %v", len(snap.Since), len(snap.Messages), err)
		}
		sub.Close()
		all := <-told
		for _, u := range all {
			if u.FirstSeq != 0 {
				t.Fatalf("the reader was slow: %d to %d came as one", u.FirstSeq, u.Seq)
			}
		}
		if len(snaps) != len(all)+1 || len(all) < 120 {
			t.Fatalf("%d updates, %d numbers to begin after", len(all), len(snaps))
		}
		merged := 0
		for i, snap := range snaps {
			if err := exact(all, begun+uint64(i), snap.Since); err != nil || snap.Since == nil {
				t.Errorf("after %d: %v", begun+uint64(i), err)
			}
			if i == 0 {
				merged = len(all) - len(snap.Since)
			}
		}
		if merged < 90 {
			t.Errorf("only %d updates were merged", merged)
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	piece := strings.Repeat("x", 2<<20)
	delta := func(block, n int) Event { return MessageDelta{"m", block, piece[:n]} }
	for _, test := range []struct {
		name string
		list []Event
		kept int // updates that are remembered, at least
	}{
		{"small updates", repeat(10_000, func(i int) Event { return TurnEnd{} }), 4096},
		{"growth of two blocks by turns", repeat(10_000, func(i int) Event { return delta(i%2, 1) }), 4096},
		{"growth of one block", repeat(100_000, func(i int) Event { return delta(0, 5) }), 45_000},
		{"growth byte by byte", repeat(200_000, func(i int) Event { return delta(0, 1) }), 55_000},
		{"large pieces", repeat(100, func(i int) Event { return delta(0, 100_000) }), 10},
		{"a piece that is too large", []Event{delta(0, 1), delta(0, 2<<20)}, 0},
		{"growth after it", []Event{delta(0, 1), delta(0, 2<<20), delta(0, 1), delta(0, 1)}, 2},
		{"ends", repeat(10, func(i int) Event { return TextEnd{Text: piece} }), 4},
		{"a growing list of all kinds", repeat(20_000, func(i int) Event {
			switch i % 50 {
			case 0:
				return TextEnd{"m", i, piece[:i], nil}
			case 1:
				return QueueUpdate{}
			}
			return delta(i/50, i%97)
		}), 2000},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFeed(1 << 24)
			var told []*Update
			most, held := 0, 0
			for _, e := range test.list {
				f.seq++
				u := &Update{Seq: f.seq, Time: int64(f.seq) * 3, Event: e}
				told = append(told, u)
				f.publish(u)
				most, held = max(most, f.memory.bytes), max(held, len(f.memory.list))
			}
			if most > maxRememberedBytes || held > maxRemembered {
				t.Errorf("up to %d updates of weight %d were held", held, most)
			}
			weight, room := 0, 0
			for _, r := range f.memory.list {
				weight += r.weight()
				room += cap(r.text) + weightOfCut*cap(r.cuts)
				if _, text := grown(r.first.Event); text != "" || r.first.encoded != nil {
					t.Fatalf("%d holds more than its run", r.first.Seq)
				}
			}
			if weight != f.memory.bytes || room > 3*maxRememberedBytes {
				t.Errorf("a weight of %d is counted as %d, and takes %d", weight, f.memory.bytes, room)
			}
			kept := int(f.seq - f.memory.after)
			if kept < test.kept {
				t.Errorf("%d are remembered, want %d", kept, test.kept)
			}
			if f.memory.after > 1<<24 {
				if list := f.memory.since(f.memory.after - 1); list != nil {
					t.Errorf("what is forgotten is told: %d", len(list))
				}
			}
			for after := f.memory.after; after <= f.seq; after += 1 + (f.seq-f.memory.after)/17 {
				if err := exact(told, after, f.memory.since(after)); err != nil {
					t.Errorf("after %d: %v", after, err)
				}
			}
		})
	}
}

// Of an idle session nothing is held, and nothing but its present number is known.
func TestMemoryIsFreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answer("Think.", "Say."), answer("Think.", "Say."), events(time.Hour))
		defer b.close()
		id := b.session("anthropic/claude-opus-4-6", "")
		held := func() int {
			t.Helper()
			n, err := ask(t.Context(), b.agent(id), func(s *state) (int, error) { return len(s.feed.memory.list), nil })
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		since := func(after uint64) (Snapshot, []*Update) {
			t.Helper()
			snap, sub, err := b.agent(id).AttachAfter(t.Context(), after, 10)
			if err != nil {
				t.Fatal(err)
			}
			sub.Close()
			return snap, snap.Since
		}
		if snap, list := since(0); list == nil || len(list) != 0 || snap.Seq != 0 {
			t.Errorf("a new session: %v at %d", list, snap.Seq)
		}
		b.turn(id, "go")
		b.turn(id, "go on")
		title := "by hand"
		if _, err := b.agent(id).Set(t.Context(), Change{Title: &title}); err != nil {
			t.Fatal(err)
		}
		snap, _ := since(0)
		seq := snap.Seq
		for _, after := range []uint64{0, 1, seq - 1, seq + 1, 1 << 40, 1<<64 - 1} {
			if snap, list := since(after); list != nil || len(snap.Messages) != 4 || snap.Seq != seq {
				t.Errorf("after %d of %d: %d updates, %d messages", after, seq, len(list), len(snap.Messages))
			}
		}
		if _, list := since(seq); list == nil || len(list) != 0 {
			t.Errorf("after the last: %v", list)
		}
		check(t, "held", held(), 0)
		if _, err := b.agent(id).Prompt(t.Context(), text("go on")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, list := since(seq); len(list) != held() || len(list) == 0 {
			t.Errorf("of the turn that runs, %d of %d", len(list), held())
		}
		running, _ := since(0)
		b.group.Close()
		b.start()
		for _, after := range []uint64{seq, running.Seq} {
			if snap, list := since(after); list != nil || len(snap.Messages) != 5 {
				t.Errorf("after a restart: %d updates, %d messages", len(list), len(snap.Messages))
			}
		}
		if _, list := since(func() uint64 { snap, _ := since(0); return snap.Seq }()); list == nil {
			t.Error("after a restart the session's own number is not known")
		}
	})
}
