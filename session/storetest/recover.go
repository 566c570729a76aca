package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// exported has what is exported of a view compared.
var exported = cmpopts.IgnoreUnexported(session.View{}, session.Turn{}, session.Message{})

func testLoad(t *testing.T, s session.Sessions) {
	id := ID(1)
	record := session.Session{ID: id, Title: "kept", System: "sys", Metadata: nil}
	Create(t, s, record)
	live := session.NewView(record)
	const longer = 250 + 3 // than Load reads with one call, with four entries each
	for i := range longer {
		turn := session.TurnID(ID(i))
		for _, e := range []session.Entry{Said(turn, "x"), Started(turn), Sealed(turn, session.MessageID(turn), 0, "y"), Ended(turn)} {
			_, over := e.Body.(session.TurnEnd)
			e.Seq = uint64(i)
			if err := live.Apply(e); err != nil {
				t.Fatal(err)
			}
			if i%100 == 0 {
				Add(t, s, id, e)
			} else if over {
				all := []session.Entry{Said(turn, "x"), Started(turn), Sealed(turn, session.MessageID(turn), 0, "y"), Ended(turn)}
				for j := range all {
					all[j].Seq = uint64(i)
				}
				Add(t, s, id, all...)
			}
		}
	}
	got, err := session.Load(t.Context(), s, id)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(live, got, exported); diff != "" {
		t.Errorf("loaded view differs from the live one (-live +loaded):\n%s", diff)
	}
	_, err = session.Load(t.Context(), s, ID(2))
	WantErr(t, "load of none", err, session.ErrNotFound)

	Create(t, s, session.Session{ID: ID(3)})
	Add(t, s, ID(3), Ended(TurnA))
	_, err = session.Load(t.Context(), s, ID(3))
	WantErr(t, "a log that does not fold", err, session.ErrDamaged)
	if err := s.Delete(t.Context(), ID(3)); err != nil { // the check at the end would find it
		t.Fatal(err)
	}
}

func testRecover(t *testing.T, s session.Sessions) {
	ctx, id := t.Context(), ID(1)
	now := time.UnixMilli(1_000_000)
	Create(t, s, session.Session{ID: id})
	holder := Claim(t, s, id)
	recoverTwice := func() {
		t.Helper()
		for range 2 {
			if _, err := session.Recover(ctx, s, holder, id, now); err != nil {
				t.Fatal(err)
			}
		}
	}
	recoverTwice() // nothing runs
	Equal(t, "an empty log stays empty", Entries(t, s, id), []session.Entry(nil))

	at := func(e session.Entry, seq uint64) session.Entry { e.Seq = seq; return e }
	log := []session.Entry{
		at(Said(TurnA, "x"), 1), at(Started(TurnA), 2), at(Said(TurnB, "queued"), 3),
		at(Sealed(TurnA, MsgA, 0, "done"), 9), at(MessageEnded(TurnA, MsgA, 30), 10),
		at(Sealed(TurnA, MsgB, 0, "sealed"), 1<<24+20),
	}
	AddTo(t, holder, log...)
	thinking := session.BlockRef{Turn: TurnA, Message: MsgB, Number: 1, Kind: provider.KindThinking}
	text := session.BlockRef{Turn: TurnA, Message: MsgB, Number: 2, Kind: provider.KindText}
	call := session.BlockRef{Turn: TurnA, Message: MsgB, Number: 3, Kind: provider.KindToolCall}
	holder.Checkpoint(thinking, 0, "half a thou")
	holder.Checkpoint(text, 0, "half a sen")
	holder.Checkpoint(call, 0, `{"half`)
	Stored(t, holder, []session.Growth{{BlockRef: thinking, Text: "half a thou"}, {BlockRef: text, Text: "half a sen"}, {BlockRef: call, Text: `{"half`}})
	recoverTwice()

	const base = 2 << 24
	want := append(log,
		session.Entry{Seq: base, Time: 1_000_000, Turn: TurnA, Body: session.Sealed{Message: MsgB, Number: 1, Block: provider.Thinking{Text: "half a thou", Kind: provider.ThinkingSummary}}},
		session.Entry{Seq: base + 1, Time: 1_000_000, Turn: TurnA, Body: session.Sealed{Message: MsgB, Number: 2, Block: provider.Text{Text: "half a sen"}}},
		session.Entry{Seq: base + 2, Time: 1_000_000, Turn: TurnA, Body: session.MessageEnd{Message: MsgB, StopReason: "interrupted", Incomplete: session.Interrupted}},
		session.Entry{Seq: base + 3, Time: 1_000_000, Turn: TurnA, Body: session.TurnEnd{StopReason: "interrupted", Usage: provider.Usage{Output: 30}, DurationMS: 2000}},
	)
	Equal(t, "log", Entries(t, s, id), want)
	Stored(t, holder, nil)
	got, err := s.Get(ctx, id)
	if err != nil || got.Status != session.Held {
		t.Errorf("the session is %s, %v", got.Status, err)
	}
	view, err := session.Load(ctx, s, id)
	if err != nil {
		t.Fatal(err)
	}
	if view.Running() != nil || len(view.Queue()) != 1 || view.Queue()[0].ID != TurnB {
		t.Errorf("running %v, queue %v", view.Running(), view.Queue())
	}

	// A turn without a message; then one whose message is known from its growth alone.
	AddTo(t, holder, Started(TurnB))
	recoverTwice()
	Equal(t, "no message", Entries(t, s, id)[len(want)+1:], []session.Entry{{Seq: 3 << 24, Time: 1_000_000, Turn: TurnB, Body: session.TurnEnd{StopReason: "interrupted"}}})

	turnC := session.TurnID("01K0000000000000000000000C")
	last := AddTo(t, holder, Said(turnC, "z"), Started(turnC))
	ref := session.BlockRef{Turn: turnC, Message: "01K000000000000000000000MC", Number: 0, Kind: provider.KindToolCall}
	holder.Checkpoint(ref, 0, "{")
	Stored(t, holder, []session.Growth{{BlockRef: ref, Text: "{"}})
	recoverTwice()
	Equal(t, "only an unfinished call", Entries(t, s, id)[last:], []session.Entry{
		{Seq: 4 << 24, Time: 1_000_000, Turn: turnC, Body: session.MessageEnd{Message: ref.Message, StopReason: "interrupted", Incomplete: session.Interrupted}},
		{Seq: 4<<24 + 1, Time: 1_000_000, Turn: turnC, Body: session.TurnEnd{StopReason: "interrupted"}},
	})
	testParked(t, s, holder, id, now)
	if _, err := session.Recover(ctx, s, holder, ID(2), now); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("recover of none: %v", err)
	}
}

// testParked recovers a parked turn, which stays parked, and one that went on, which does not.
func testParked(t *testing.T, s session.Sessions, holder session.Log, id session.ID, now time.Time) {
	ctx, turn := t.Context(), session.TurnID("01K0000000000000000000000D")
	parked := session.TurnParked{Why: session.ParkedQuota, Since: 1, Until: 2, Resumes: session.ResumesAlone, RanMS: 40}
	status := func(want session.Status) {
		t.Helper()
		if got, err := s.Get(ctx, id); err != nil || got.Status != want {
			t.Errorf("the session is %s, %v; want %s", got.Status, err, want)
		}
	}
	last := AddTo(t, holder, Said(turn, "p"), Started(turn), session.Entry{Time: 5, Turn: turn, Body: parked})
	status(session.Parked)
	waits := session.TurnID("01K0000000000000000000000E")
	last = max(last, AddTo(t, holder, Said(waits, "q")))
	status(session.Parked)
	got, err := session.Recover(ctx, s, holder, id, now)
	if err != nil || got == nil || got.ID != turn || got.Parked == nil {
		t.Fatalf("recover: %v, %v", got, err)
	}
	Equal(t, "parked", *got.Parked, parked)
	Equal(t, "the log of a parked turn", len(Entries(t, s, id)[last:]), 0)

	last = AddTo(t, holder, session.Entry{Time: 10, Turn: turn, Body: session.TurnResumed{By: session.ResumedByTime}}, session.Entry{Time: 30, Turn: turn, Body: session.Setting{}})
	status(session.Running)
	if got, err := session.Recover(ctx, s, holder, id, now); got != nil || err != nil {
		t.Errorf("recover: %v, %v", got, err)
	}
	ends := Entries(t, s, id)[last:]
	if len(ends) != 1 {
		t.Fatalf("ends: %v", ends)
	}
	Equal(t, "the end of a turn that went on", ends[0].Body, session.Body(session.TurnEnd{StopReason: "interrupted", DurationMS: 60}))
	status(session.Held)
}
