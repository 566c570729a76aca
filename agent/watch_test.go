package agent

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/watch"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// listings is what a subscriber of the list gets once nothing happens any more: status and needs of each change.
func listings(t *testing.T, sub *watch.Subscription) (words []string) {
	t.Helper()
	synctest.Wait()
	changes, err := sub.Take(1 << 20)
	if err != nil {
		words = append(words, "stale")
	}
	for _, c := range changes {
		word := []string{"created", "changed", "removed"}[c.Kind]
		words = append(words, strings.TrimSpace(fmt.Sprintf("%s %s %s", word, c.Session.Status, c.NeedsOf("me"))))
	}
	return words
}

func (b *bench) watch() *watch.Subscription { return b.group.For(session.Operator).Watch() }

// listedAs is a session as a list shows it to me.
func (b *bench) listedAs(id session.ID) string {
	b.Helper()
	s, err := b.group.For(session.Operator).Get(b.Context(), id)
	if err != nil {
		b.Fatal(err)
	}
	now, _ := b.group.For(session.Operator).Live(s)
	return strings.TrimSpace(fmt.Sprintf("%s %s", now.Status, watch.Change{Session: s, Needs: now.Needs}.NeedsOf("me")))
}

func (b *bench) markRead(id session.ID, upto session.TurnID) {
	b.Helper()
	if err := b.agent(id).MarkRead(b.Context(), "me", upto); err != nil {
		b.Fatal(err)
	}
}

// TestWatch follows a session in the list from its creation to its end, over restarts and unloading.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answer("a", "one"), events(concat(think("a"), []any{time.Hour}, say("b"), []any{ended})...))
		defer b.close()
		sub := b.watch()
		id := b.session("sim/claude", "")
		check(t, "created", listings(t, sub), []string{"created idle"})
		b.agent(id)
		check(t, "loaded", listings(t, sub), []string(nil))
		first := b.turn(id, "one")
		check(t, "a turn has ended", listings(t, sub), []string{"changed idle read"})
		b.markRead(id, "")
		check(t, "read", listings(t, sub), []string{"changed idle"})
		b.markRead(id, "")
		check(t, "read again", listings(t, sub), []string(nil))

		r := b.prompted(id, text("two"))
		check(t, "a turn runs", listings(t, sub), []string{"changed running"})
		time.Sleep(time.Minute)
		check(t, "it still runs", listings(t, sub), []string(nil))
		time.Sleep(time.Hour)
		check(t, "it has ended", listings(t, sub), []string{"changed idle read"})
		b.markRead(id, first.Turn)
		check(t, "a turn before it is read", b.listedAs(id), "idle read")
		if err := b.agent(id).MarkRead(t.Context(), "me", session.NewTurnID()); err != ErrNoTurn {
			t.Errorf("a turn that is none: %v", err)
		}
		b.restart()
		check(t, "the subscription after a restart", listings(t, sub), []string{"stale"})
		check(t, "after a restart", b.listedAs(id), "idle read")
		sub = b.watch()
		b.markRead(id, r.Turn)
		check(t, "read after a restart", listings(t, sub), []string{"changed idle"})
		b.restart()
		check(t, "after another restart", b.listedAs(id), "idle")
		sub = b.watch()
		title := "by hand"
		if _, err := b.agent(id).Set(t.Context(), Change{Title: &title}); err != nil {
			t.Fatal(err)
		}
		check(t, "a title", listings(t, sub), []string{"changed idle"})
		if err := b.group.For(session.Operator).Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		check(t, "removed", listings(t, sub), []string{"removed"})
		sub.Close()
	})
}

// TestWatchNeeds: a list says what a session needs, also when nothing of it is loaded.
func TestWatchNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := parkBench(t, 12*time.Hour, events(quota(time.Hour)), events(quota(time.Hour)))
		defer b.close()
		sub := b.watch()
		b.prompted(id, text("first"))
		b.parkedTurn(id)
		if got := listings(t, sub); got[len(got)-1] != "changed parked" {
			t.Errorf("a turn that resumes by itself: %q", got)
		}
		b.prompted(id, text("waits"))
		time.Sleep(65 * time.Minute)
		b.restart()
		check(t, "it resumes by itself once more", b.listedAs(id), "parked")
		b.agent(id)
		check(t, "loaded", b.listedAs(id), "parked")
	})
}

// TestWatchCalls: a call that a person has to approve, and one that a client runs.
func TestWatchCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, calls("c", `{}`), answer("a", "done"))
		defer b.close()
		b.group.Close()
		b.cfg.Limits.ConfirmPark, b.cfg.Limits.Park = true, 12*time.Hour
		b.start()
		s, err := b.group.For(session.Operator).Create(t.Context(), session.Session{Settings: session.Settings{Model: session.ModelRef{Provider: "sim", ID: "claude"}},
			Rules: tool.Policy{Effects: map[tool.Effect]tool.Rule{tool.Run: tool.Ask}},
			Tools: []tool.Tool{{Tool: provider.Tool{Name: "look", Schema: []byte(`{"type":"object"}`)}, Host: tool.Client, Effect: tool.Run}}})
		if err != nil {
			t.Fatal(err)
		}
		sub := b.watch()
		b.prompted(s.ID, text("look"))
		if got := listings(t, sub); got[len(got)-1] != "changed parked approval" {
			t.Errorf("a question: %q", got)
		}
		b.restart()
		check(t, "a question of an earlier process", b.listedAs(s.ID), "parked approval")
		sub = b.watch()
		defer sub.Close()
		feedSub, err := b.agent(s.ID).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer feedSub.Close()
		check(t, "the same when it is loaded", b.listedAs(s.ID), "parked approval")
		snap, again, err := b.agent(s.ID).Attach(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		again.Close()
		if ok, err := b.agent(s.ID).Answer(t.Context(), snap.Turn.Confirms[0].ID, Ruling{Action: session.AllowOnce}); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if got := listings(t, sub); got[len(got)-1] != "changed waiting answer" {
			t.Errorf("a call that a client runs: %q", got)
		}
	})
}

// TestWatchHeld: a queue that waits for a person.
func TestWatchHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(time.Hour))
		defer b.close()
		id := b.session("sim/claude", "")
		b.prompted(id, text("one"))
		b.prompted(id, text("two"))
		b.restart()
		check(t, "not loaded", b.listedAs(id), "held parked")
		b.agent(id)
		check(t, "loaded", b.listedAs(id), "held parked")
	})
}

// TestRelist: for clients of other processes, the group repeats what it has loaded of an owner's list, with what a session does now. Its own clients get
// nothing of that. DeleteHere deletes what is loaded, and no other session.
func TestRelist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(concat(think("a"), []any{time.Hour}, say("b"), []any{ended})...))
		defer b.close()
		ann, bob := session.Owner{User: "ann"}, session.Owner{User: "bob"}
		id, unloaded := b.session("sim/claude", ""), b.session("sim/claude", "")
		b.prompted(id, text("one"))
		sub, began := b.watch(), []session.Owner(nil)
		all := b.group.Lists().SubscribeAll(func(o session.Owner) { began = append(began, o) })
		defer all.Close()
		b.watch().Close()
		check(t, "who watches", began, []session.Owner{session.Operator})
		b.group.Relist([]session.Owner{ann, bob})
		check(t, "the lists of others", listings(t, all), []string(nil))
		b.group.Relist([]session.Owner{ann, session.Operator})
		check(t, "a list that has a session", listings(t, all), []string{"changed running"})
		check(t, "the group's own client", listings(t, sub), []string(nil))

		if n, err := b.group.For(session.Operator).DeleteHere(t.Context()); n != 1 || err != nil {
			t.Errorf("%d sessions are deleted, %v", n, err)
		}
		check(t, "the deletion", listings(t, all), []string{"removed"})
		if _, err := b.group.For(session.Operator).Get(t.Context(), unloaded); err != nil {
			t.Errorf("the session that was not loaded: %v", err)
		}
		sub.Close()
	})
}
