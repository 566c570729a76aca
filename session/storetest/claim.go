package storetest

import (
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
)

// testClaim: a log has one holder, and each holder has a higher epoch than the one before.
func testClaim(t *testing.T, s session.Sessions) {
	ctx, id := t.Context(), ID(1)
	Create(t, s, session.Session{ID: id})
	Create(t, s, session.Session{ID: ID(2)})
	first := Claim(t, s, id)
	if first.Epoch() != 0 {
		t.Errorf("the first epoch of a store is %d", first.Epoch())
	}
	AddTo(t, first, Said(TurnA, "x"), Started(TurnA))
	ref := func(n int) session.BlockRef {
		return session.BlockRef{Turn: TurnA, Message: MsgA, Number: n, Kind: provider.KindText}
	}
	first.Checkpoint(ref(0), 0, "half")
	grown := []session.Growth{{BlockRef: ref(0), Text: "half"}}
	Stored(t, first, grown)

	// A new holder sees what the holder before has left, who can do nothing any more.
	second := Claim(t, s, id)
	if second.Epoch() <= first.Epoch() {
		t.Errorf("epoch %d follows %d", second.Epoch(), first.Epoch())
	}
	_, err := first.Append(ctx, Said(TurnB, "late"))
	WantErr(t, "append by the holder before", err, session.ErrFenced)
	first.Checkpoint(ref(0), 4, " late")
	first.Checkpoint(ref(1), 0, "late")
	Stored(t, second, grown)
	if err := first.Release(ctx); err != nil { // takes nothing from the new holder
		t.Error(err)
	}
	AddTo(t, second, Ended(TurnA))
	Stored(t, second, nil)

	for range 2 {
		if err := second.Release(ctx); err != nil {
			t.Error(err)
		}
	}
	_, err = second.Append(ctx, Said(TurnB, "late"))
	WantErr(t, "append after release", err, session.ErrFenced)
	if n := len(Entries(t, s, id)); n != 3 {
		t.Errorf("the log has %d entries, want 3", n)
	}

	// Epochs rise over many claims, and the sessions do not depend on each other.
	epoch := second.Epoch()
	for range 200 {
		log := Claim(t, s, id)
		if log.Epoch() <= epoch {
			t.Fatalf("epoch %d follows %d", log.Epoch(), epoch)
		}
		epoch = log.Epoch()
	}
	// A claim during an append waits for it, and the append counts.
	for range 20 {
		holder := Claim(t, s, ID(2))
		before := len(Entries(t, s, ID(2)))
		appended := make(chan error, 1)
		testgo.Go(t, func() {
			_, err := holder.Append(ctx, session.Entry{Body: session.Setting{}})
			appended <- err
		})
		Claim(t, s, ID(2))
		seen := len(Entries(t, s, ID(2)))
		err := <-appended
		if after := len(Entries(t, s, ID(2))); after != seen || (err == nil) != (after == before+1) {
			t.Fatalf("the new holder sees %d entries, and there are %d after %d, %v", seen, after, before, err)
		}
	}
	other := Claim(t, s, ID(2))
	AddTo(t, other, Said(TurnA, "x"))
	last := Claim(t, s, id)
	AddTo(t, last, Said(TurnB, "y"))
	AddTo(t, other, Started(TurnA))
	if err := s.Delete(ctx, id); err != nil {
		t.Fatal(err)
	}
	_, err = last.Append(ctx, Said(TurnB, "z"))
	WantErr(t, "append to a deleted session", err, session.ErrNotFound)
}
