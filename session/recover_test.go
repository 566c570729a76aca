package session

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
)

func TestNextBase(t *testing.T) {
	for _, c := range []struct{ last, want uint64 }{
		{0, 1 << 24}, {1, 1 << 24}, {1<<23 - 1, 1 << 24}, {1 << 23, 2 << 24}, {1<<24 - 1, 2 << 24}, {1 << 24, 2 << 24},
		{1<<24 + 1, 2 << 24}, {5<<24 + 77, 6 << 24},
	} {
		if got := NextBase(c.last); got != c.want || got-c.last <= MaxUnstored {
			t.Errorf("after %d: %d, want %d, and more than %d above it", c.last, got, c.want, MaxUnstored)
		}
	}
}

func testLoad(t *testing.T, s Store) {
	id := testID(1)
	record := Session{ID: id, Title: "kept", System: "sys", Metadata: nil}
	create(t, s, record)
	live := NewView(record)
	for i := range pageSize/2 + 3 {
		turn := TurnID(testID(i))
		for _, e := range []Entry{said(turn, "x"), started(turn), sealed(turn, MessageID(turn), 0, "y"), ended(turn)} {
			e.Seq = uint64(i)
			if err := live.Apply(e); err != nil {
				t.Fatal(err)
			}
			if i%100 == 0 {
				add(t, s, id, e)
			} else if e.Body.kind() == "turn_end" {
				all := []Entry{said(turn, "x"), started(turn), sealed(turn, MessageID(turn), 0, "y"), ended(turn)}
				for j := range all {
					all[j].Seq = uint64(i)
				}
				add(t, s, id, all...)
			}
		}
	}
	got, err := Load(t.Context(), s, id)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(live, got, viewFields); diff != "" {
		t.Errorf("loaded view differs from the live one (-live +loaded):\n%s", diff)
	}
	_, err = Load(t.Context(), s, testID(2))
	wantErr(t, "load of none", err, ErrNotFound)

	create(t, s, Session{ID: testID(3)})
	add(t, s, testID(3), ended(turnA))
	_, err = Load(t.Context(), s, testID(3))
	wantErr(t, "a log that does not fold", err, ErrDamaged)
	if err := s.Delete(t.Context(), testID(3)); err != nil { // the check at the end would find it
		t.Fatal(err)
	}
}

func testRecover(t *testing.T, s Store) {
	ctx, id := t.Context(), testID(1)
	now := time.UnixMilli(1_000_000)
	recoverTwice := func() {
		t.Helper()
		for range 2 {
			if err := Recover(ctx, s, id, now); err != nil {
				t.Fatal(err)
			}
		}
	}
	create(t, s, Session{ID: id})
	recoverTwice() // nothing runs
	equal(t, "an empty log stays empty", entriesOf(t, s, id), []Entry(nil))

	at := func(e Entry, seq uint64) Entry { e.Seq = seq; return e }
	log := []Entry{
		at(said(turnA, "x"), 1), at(started(turnA), 2), at(said(turnB, "queued"), 3),
		at(sealed(turnA, msgA, 0, "done"), 9), at(messageEnded(turnA, msgA, 30), 10),
		at(sealed(turnA, msgB, 0, "sealed"), 1<<24+20),
	}
	add(t, s, id, log...)
	thinking := BlockRef{turnA, msgB, 1, provider.KindThinking}
	text := BlockRef{turnA, msgB, 2, provider.KindText}
	call := BlockRef{turnA, msgB, 3, provider.KindToolCall}
	s.Checkpoint(id, thinking, 0, "half a thou")
	s.Checkpoint(id, text, 0, "half a sen")
	s.Checkpoint(id, call, 0, `{"half`)
	stored(t, s, id, []Growth{{thinking, "half a thou"}, {text, "half a sen"}, {call, `{"half`}})
	recoverTwice()

	const base = 2 << 24
	want := append(log,
		Entry{base, 1_000_000, turnA, Sealed{msgB, 1, provider.Thinking{Text: "half a thou", Kind: provider.ThinkingSummary}}},
		Entry{base + 1, 1_000_000, turnA, Sealed{msgB, 2, provider.Text{Text: "half a sen"}}},
		Entry{base + 2, 1_000_000, turnA, MessageEnd{Message: msgB, StopReason: "interrupted", Incomplete: Interrupted}},
		Entry{base + 3, 1_000_000, turnA, TurnEnd{StopReason: "interrupted", Usage: provider.Usage{Output: 30}, DurationMS: 2000}},
	)
	equal(t, "log", entriesOf(t, s, id), want)
	stored(t, s, id, nil)
	open, err := s.Open(ctx)
	if err != nil || len(open) != 0 {
		t.Errorf("still open: %v, %v", open, err)
	}
	view, err := Load(ctx, s, id)
	if err != nil {
		t.Fatal(err)
	}
	if view.Running() != nil || len(view.Queue()) != 1 || view.Queue()[0].ID != turnB {
		t.Errorf("running %v, queue %v", view.Running(), view.Queue())
	}

	// A turn without a message; then one whose message is known from its growth alone.
	add(t, s, id, started(turnB))
	recoverTwice()
	got := entriesOf(t, s, id)[len(want)+1:]
	equal(t, "no message", got, []Entry{{3 << 24, 1_000_000, turnB, TurnEnd{StopReason: "interrupted"}}})

	turnC := TurnID("01K0000000000000000000000C")
	last := add(t, s, id, said(turnC, "z"), started(turnC))
	ref := BlockRef{turnC, "01K000000000000000000000MC", 0, provider.KindToolCall}
	s.Checkpoint(id, ref, 0, "{")
	stored(t, s, id, []Growth{{ref, "{"}})
	recoverTwice()
	equal(t, "only an unfinished call", entriesOf(t, s, id)[last:], []Entry{
		{4 << 24, 1_000_000, turnC, MessageEnd{Message: ref.Message, StopReason: "interrupted", Incomplete: Interrupted}},
		{4<<24 + 1, 1_000_000, turnC, TurnEnd{StopReason: "interrupted"}},
	})
	if err := Recover(ctx, s, testID(2), now); !errors.Is(err, ErrNotFound) {
		t.Errorf("recover of none: %v", err)
	}
}
