package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// stored is all that the store has of a session, as it was written.
func (b *bench) stored(id session.ID) string {
	b.Helper()
	entries, err := b.store.Entries(b.Context(), id, 0, 1000)
	if err != nil {
		b.Fatal(err)
	}
	all, err := json.Marshal(entries)
	if err != nil {
		b.Fatal(err)
	}
	return string(all)
}

// What a model thinks is published, and the log has of it what the session keeps: when it ended, when it was cut off, and after a crash.
func TestThinkingStorage(t *testing.T) {
	const secret = "a canary in thinking"
	for _, storage := range []provider.ThinkingStorage{"", provider.StoreFull, provider.StoreOpaque, provider.StoreNone} {
		t.Run("storage "+string(storage), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hang := events(append(think(secret), provider.Begin{Index: 3, Block: provider.Thinking{}}, provider.Delta{Index: 3, Text: secret + " again"}, time.Hour)...)
				b := newBench(t, answer(secret, "Say."), answer("", "Again."), hang)
				defer b.close()
				s, err := b.group.For(session.Operator).Create(t.Context(), session.Session{Settings: session.Settings{
					Model: session.ModelRef{Provider: "sim", ID: "claude"}, Level: provider.High, Storage: storage}})
				if err != nil {
					t.Fatal(err)
				}
				sub, err := b.agent(s.ID).Subscribe(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				b.turn(s.ID, "Which date is later?")
				if said := strings.Join(methods(sub), "\n"); !strings.Contains(said, "thinking_delta "+secret) || !strings.Contains(said, "thinking_end "+secret) {
					t.Errorf("clients did not get the thinking:\n%s", said)
				}
				full := storage == "" || storage == provider.StoreFull
				if strings.Contains(b.stored(s.ID), secret) != full {
					t.Errorf("the log: %s", b.stored(s.ID))
				}
				b.turn(s.ID, "And now?")
				req := b.fake.requests[1]
				got, _ := req.Messages[1].Blocks[0].(provider.Thinking)
				want := provider.Thinking{Kind: provider.ThinkingOmitted}
				switch storage {
				case "", provider.StoreFull:
					want = signed(secret)
				case provider.StoreOpaque:
					want.Signed, want.State = true, signed(secret).State
				}
				check(t, "what goes back", got, want)
				if req.Opaque != (storage == provider.StoreOpaque) || req.Opaque != (req.Decision.Control.Display == provider.Omitted) {
					t.Errorf("the request: opaque %v, display %q", req.Opaque, req.Decision.Control.Display)
				}

				// A crash in the middle of thinking, and what is read back.
				a := b.agent(s.ID)
				r, err := a.Prompt(t.Context(), text("And then?"))
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				time.Sleep(time.Second)
				if full != strings.Contains(checkpoints(b, s.ID), secret) {
					t.Errorf("checkpoints: %q", checkpoints(b, s.ID))
				}
				b.group.Close()
				b.start()
				if err := b.group.For(session.Operator).Do(t.Context(), s.ID, func(a *Agent) error { _, err := a.Wait(t.Context(), r.Turn); return err }); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(b.stored(s.ID), secret) != full {
					t.Errorf("the log after the end: %s", b.stored(s.ID))
				}

				// A fork keeps as much.
				fork, err := b.group.For(session.Operator).Fork(t.Context(), s.ID, "")
				if err != nil || fork.Storage != storage {
					t.Errorf("a fork keeps %q, %v", fork.Storage, err)
				}
			})
		})
	}
}

// checkpoints is the text of open blocks that is in the store.
func checkpoints(b *bench, id session.ID) (all string) {
	b.Helper()
	grown, err := journalOf(b, id)
	if err != nil {
		b.Fatal(err)
	}
	for _, g := range grown {
		all += g.Text
	}
	return all
}

func journalOf(b *bench, id session.ID) (grown []session.Growth, err error) {
	a := b.agent(id)
	_, err = ask(b.Context(), a, func(s *state) (struct{}, error) {
		grown, err = s.owned.Checkpoints(context.WithoutCancel(b.Context()))
		return struct{}{}, err
	})
	return grown, err
}

// Each way to another model is refused where the session cannot keep its thinking, and nothing changes.
func TestThinkingStorageRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answer("Think.", "Say."))
		defer b.close()
		deepseek := session.ModelRef{Provider: "sim", ID: "deepseek"}
		claude := session.ModelRef{Provider: "sim", ID: "claude"}
		set := session.Settings{Model: claude, Storage: provider.StoreOpaque}
		s, err := b.group.For(session.Operator).Create(t.Context(), session.Session{Settings: set})
		if err != nil {
			t.Fatal(err)
		}
		a := b.agent(s.ID)
		links := []session.Link{{Model: deepseek}}
		p := text("x")
		refused := func(what string, err error) {
			t.Helper()
			if e, ok := errors.AsType[*provider.StorageError](err); !ok || e.Model != "sim/deepseek" || len(e.Valid) != 1 {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, err = a.Set(t.Context(), Change{Model: &deepseek})
		refused("another model", err)
		_, err = a.Set(t.Context(), Change{Fallbacks: &links})
		refused("fallbacks", err)
		p.Override = session.Override{Model: &deepseek}
		_, err = a.Prompt(t.Context(), p)
		refused("a prompt's model", err)
		p.Override = session.Override{Fallbacks: &links}
		_, err = a.Prompt(t.Context(), p)
		refused("a prompt's fallbacks", err)
		_, err = a.Explain(t.Context(), session.Override{Model: &deepseek})
		refused("an explanation", err)
		_, err = a.Aside(t.Context(), Question{Content: p.Content, Override: session.Override{Model: &deepseek}})
		refused("a side question", err)
		for what, change := range map[string]func(*session.Settings){
			"a new session":                  func(s *session.Settings) { s.Model = deepseek },
			"a new session with fallbacks":   func(s *session.Settings) { s.Fallbacks = &links },
			"a new session of an agent":      func(s *session.Settings) { s.Agent.CompactModel = deepseek },
			"none, where thinking has to go": func(s *session.Settings) { s.Model, s.Storage = deepseek, provider.StoreNone },
		} {
			other := set
			change(&other)
			_, _, err := b.group.Config().Decide(other, session.Override{})
			if e, ok := errors.AsType[*provider.StorageError](err); !ok || e.Model != "sim/deepseek" {
				t.Errorf("%s: %v", what, err)
			}
		}
		if end := b.turn(s.ID, "And now?"); end.End.StopReason != session.StopEndTurn || len(b.fake.requests) != 1 {
			t.Errorf("the turn ends with %+v after %d requests", end.End, len(b.fake.requests))
		}
	})
}

// DeleteUnused deletes no session that is in use.
func TestDeleteUnused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answer("", "Say."), events(time.Hour))
		defer b.close()
		all := b.group.For(session.Operator)
		id := b.session("sim/claude", "")
		b.turn(id, "x")
		yes := func(session.Session) bool { return true }
		try := func(what string, old func(session.Session) bool, want bool) {
			t.Helper()
			if gone, err := all.DeleteUnused(t.Context(), id, old); err != nil || gone != want {
				t.Errorf("%s: %v, %v", what, gone, err)
			}
		}
		try("a young one", func(session.Session) bool { return false }, false)
		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		try("a followed one", yes, false)
		sub.Close()
		if _, err := b.agent(id).Prompt(t.Context(), text("y")); err != nil {
			t.Fatal(err)
		}
		try("a running one", yes, false)
		if _, err := b.agent(id).Cancel(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		watch := all.Watch()
		defer watch.Close()
		try("an unused one", yes, true)
		if _, err := b.store.Get(t.Context(), id); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("it is still there: %v", err)
		}
		if _, err := all.DeleteUnused(t.Context(), id, yes); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("a second time: %v", err)
		}
	})
}
