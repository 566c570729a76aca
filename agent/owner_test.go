package agent

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/storetest"
)

var ann = session.Owner{Tenant: "acme", User: "ann"}

// TestSessionsOfAnotherOwner asks for a session that is loaded and runs a turn, for an owner that does not have it.
func TestSessionsOfAnotherOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answer("a", "one"))
		defer b.close()
		ctx := t.Context()
		var gone []session.Ref
		b.group.Close()
		b.cfg.Deleted = func(ref session.Ref) { gone = append(gone, ref) }
		b.start()
		id := b.session("sim/claude", "")
		b.turn(id, "first")
		theirs := b.group.For(ann)
		fails := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, session.ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
		fails("do", theirs.Do(ctx, id, func(*Agent) error { t.Error("another owner has the agent"); return nil }))
		_, err := theirs.Get(ctx, id)
		fails("get", err)
		_, err = theirs.Fork(ctx, id, "")
		fails("fork", err)
		_, err = theirs.ForkOnce(ctx, id, "", session.Stamp{ID: "a"}, func(session.ID) (json.RawMessage, error) { return nil, nil })
		fails("fork once", err)
		if now, ok := theirs.Live(session.Session{ID: id}); ok {
			t.Errorf("status: %v", now)
		}
		if page, _, err := theirs.List(ctx, session.Query{}); len(page) != 0 || err != nil {
			t.Errorf("list: %v, %v", page, err)
		}
		if err := theirs.Delete(ctx, id); err != nil {
			t.Errorf("delete: %v", err)
		}
		check(t, "deleted", gone, []session.Ref{{Owner: ann, ID: id}})
		if _, ok := b.group.For(session.Operator).Live(session.Session{ID: id}); !ok {
			t.Error("the session is not loaded any more")
		}
		check(t, "messages", len(b.history(id)), 2)

		// Both may use one stamp, and each has a session of it.
		stamp := session.Stamp{ID: "a", Digest: []byte("x")}
		made := make(map[session.ID]session.Owner)
		for _, owner := range []session.Owner{session.Operator, ann} {
			first, err := b.group.For(owner).CreateOnce(ctx, session.Session{}, stamp, func(session.ID) (json.RawMessage, error) { return json.RawMessage(`{}`), nil })
			if err != nil {
				t.Fatal(err)
			}
			made[first.Session] = owner
		}
		check(t, "sessions of one stamp", len(made), 2)
	})
}

// TestTurnsOfAllOwnersAreClosed starts a group over a store in which a crash has left turns of two owners open.
func TestTurnsOfAllOwnersAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.close()
		id := storetest.ID(1)
		owners := []session.Owner{session.Operator, ann}
		for _, owner := range owners {
			s := b.local.For(owner)
			storetest.Create(t, s, session.Session{ID: id})
			log := storetest.Claim(t, s, id)
			storetest.AddTo(t, log, storetest.Said(storetest.TurnA, "x"), storetest.Started(storetest.TurnA))
			log.Checkpoint(session.BlockRef{Turn: storetest.TurnA, Message: storetest.MsgA, Kind: provider.KindText}, 0, "half of "+owner.Tenant)
		}
		b.group.Close()
		b.start()
		open, err := b.local.OpenTurns(t.Context())
		if err != nil || len(open) != 0 {
			t.Errorf("still open: %v, %v", open, err)
		}
		for _, owner := range owners {
			view, err := session.Load(t.Context(), b.local.For(owner), id)
			if err != nil {
				t.Fatal(err)
			}
			turn := view.Turns[0]
			check(t, "end", string(turn.End.StopReason), "interrupted")
			check(t, "text", turn.Messages[1].Parts[0].Block.(provider.Text).Text, "half of "+owner.Tenant)
		}
	})
}
