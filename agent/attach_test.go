package agent

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/feed/feedtest"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
)

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
		const maxRun, weightOfCut = 64 << 10, 16 // of the feed's memory
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
		told := make(chan []*feed.Update, 1)
		testgo.Go(t, func() { // ends with the subscription
			var all []*feed.Update
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
			if err := feedtest.Exact(all, begun+uint64(i), snap.Since); err != nil || snap.Since == nil {
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

// An idle session remembers nothing but its last number.
func TestIdleSessionForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answer("Think.", "Say."), answer("Think.", "Say."), events(time.Hour))
		defer b.close()
		id := b.session("anthropic/claude-opus-4-6", "")
		since := func(after uint64) (Snapshot, []*feed.Update) {
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
		if _, err := b.agent(id).Prompt(t.Context(), text("go on")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, list := since(seq); len(list) == 0 {
			t.Error("nothing is remembered of the turn that runs")
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
