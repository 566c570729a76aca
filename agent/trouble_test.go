package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
)

// hooked is a store that calls hooks: after an Append, or in place of a Delete. asked is called when the provider is looked up.
type hooked struct {
	session.Sessions
	appended func()
	delete   func() error
	asked    func()
}

func (h *hooked) Claim(ctx context.Context, id session.ID) (session.Log, error) {
	return appending(ctx, h.Sessions, id, h.add)
}

func (h *hooked) add(ctx context.Context, log session.Log, entries ...session.Entry) (uint64, error) {
	last, err := log.Append(ctx, entries...)
	if h.appended != nil {
		h.appended()
	}
	return last, err
}

func (h *hooked) Delete(ctx context.Context, id session.ID) error {
	if h.delete != nil {
		return h.delete()
	}
	return h.Sessions.Delete(ctx, id)
}

// over starts the bench's agents again, over other sessions.
func (b *bench) over(sessions session.Sessions) {
	b.Helper()
	b.group.Close()
	b.cfg.Store = only{sessions, b.local.Ledger()}
	b.start()
}

func (b *bench) history(id session.ID) (page []Message) {
	b.Helper()
	err := b.group.For(session.Operator).Do(b.Context(), id, func(a *Agent) (err error) {
		page, _, err = a.History(b.Context(), Page{Limit: 100})
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return page
}

func TestPanicInARequestIsNotRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.close()
		store := &hooked{Sessions: b.store}
		b.over(store)
		id := b.session("sim/claude", "")
		b.agent(id)
		store.appended = func() { store.appended = nil; panic("a fault of ours") }
		tries := 0
		err := b.group.For(session.Operator).Do(t.Context(), id, func(a *Agent) error {
			tries++
			_, err := a.Prompt(t.Context(), text("one"))
			return err
		})
		if tries != 1 || err == nil || errors.Is(err, feed.ErrClosed) || !strings.Contains(err.Error(), "internal error") {
			t.Errorf("after %d tries: %v", tries, err)
		}
		page := b.history(id)
		check(t, "prompts", len(page), 1)
		check(t, "its turn", string(page[0].Stop.StopReason), "interrupted")
	})
}

func TestWhoGaveUpKeepsNothingLoaded(t *testing.T) {
	// Each leaves something in an agent that is idle from then on.
	for name, leave := range map[string]func(*bench, *hooked, session.ID, *Agent){
		"a closed subscription": func(b *bench, _ *hooked, _ session.ID, a *Agent) {
			sub, err := a.Subscribe(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			sub.Close()
		},
		"an attach that was given up while the agent was at it": func(b *bench, store *hooked, _ session.ID, a *Agent) {
			blocked := make(chan struct{})
			store.asked = func() { store.asked = nil; <-blocked }
			ctx, cancel := context.WithCancel(b.Context())
			testgo.Go(t, func() { // ends by cancel
				if _, _, err := a.Attach(ctx, 1); !errors.Is(err, context.Canceled) {
					b.Errorf("attach: %v", err)
				}
			})
			synctest.Wait()
			cancel()
			synctest.Wait()
			close(blocked)
		},
		"a wait for a queued turn": func(b *bench, _ *hooked, id session.ID, a *Agent) {
			ctx, cancel := context.WithTimeout(b.Context(), time.Second)
			defer cancel()
			if _, err := a.Wait(ctx, b.queuedTurn(id)); !errors.Is(err, context.DeadlineExceeded) {
				b.Errorf("wait: %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, events(time.Hour))
				defer b.close()
				store := &hooked{Sessions: b.store}
				b.cfg.Provider = func(string) provider.Provider {
					if store.asked != nil {
						store.asked()
					}
					return b.fake
				}
				b.over(store)
				id := b.session("sim/claude", "")
				for range 2 { // the second one is queued, and after a restart it is held
					if _, err := b.agent(id).Prompt(t.Context(), text("go")); err != nil {
						t.Fatal(err)
					}
				}
				b.over(store)
				a := b.agent(id)
				leave(b, store, id, a)
				time.Sleep(12 * time.Minute)
				select {
				case <-a.Done():
				default:
					t.Error("the idle session is still loaded")
				}
			})
		})
	}
}

func (b *bench) queuedTurn(id session.ID) session.TurnID {
	b.Helper()
	q, err := b.agent(id).Queue(b.Context())
	if err != nil || len(q.Queue) == 0 || !q.Held {
		b.Fatal(q, err)
	}
	return q.Queue[0].Turn
}

func ids(page []Message) (ids []session.MessageID) {
	for _, m := range page {
		ids = append(ids, m.ID)
	}
	return ids
}

// Clients see of a turn that a crash left open what the store gets later, with the same ids.
func TestReadOnlyStoreAtLoadKeepsWhatItShowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := func(ctx context.Context, _ provider.ToolCall, _ func(string)) provider.ToolResult {
			<-ctx.Done()
			return said("ended")
		}
		b, id := toolBench(t, &host{run: hangs}, calls("t", `{}`, `{}`))
		defer b.close()
		store := &wounded{Sessions: b.store}
		b.over(store)
		if _, err := b.agent(id).Prompt(t.Context(), text("one")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		store.kill()

		store = &wounded{Sessions: b.store, wounds: map[int]wound{1: readOnly, 2: readOnly}}
		b.over(store)
		shown := b.history(id)
		if last := shown[len(shown)-1]; last.Role != provider.User || len(last.Parts) != 2 {
			t.Fatalf("the calls have no results: %+v", last)
		}
		store.heal()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if open, err := b.local.OpenTurns(t.Context()); err != nil || len(open) != 0 {
			t.Fatal("open in the store:", open, err)
		}
		b.over(b.store)
		check(t, "after another start", ids(b.history(id)), ids(shown))
	})
}

func TestReadOnlyStoreAtLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(append(think("a"), append(say("half")[:2], time.Hour)...)...))
		defer b.close()
		store := &wounded{Sessions: b.store}
		b.over(store)
		id := b.session("sim/claude", "")
		r, err := b.agent(id).Prompt(t.Context(), text("one"))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		store.kill()
		all := make(map[int]wound)
		for i := range 100 {
			all[i] = readOnly
		}
		b.over(&wounded{Sessions: b.store, wounds: all})
		store = b.cfg.Store.(only).Sessions.(*wounded)

		a := b.agent(id)
		sub, err := a.Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		e, err := a.Wait(t.Context(), r.Turn)
		if err != nil {
			t.Fatal(err)
		}
		check(t, "the turn can be read", []any{string(e.End.StopReason), e.Message.End.Incomplete}, []any{"interrupted", session.Interrupted})
		_, err = a.Prompt(t.Context(), text("two"))
		if !errors.Is(err, session.ErrReadOnly) {
			t.Errorf("prompt: %v", err)
		}
		if u, err := sub.TryNext(); u != nil || err != nil {
			t.Errorf("the client got %v, %v", u, err)
		}

		store.heal()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		open, err := b.local.OpenTurns(t.Context())
		check(t, "open in the store", []any{len(open), err}, []any{0, nil})
		check(t, "the session goes on", string(b.turn(id, "three").End.StopReason), "end_turn")
		entries, err := b.store.Entries(t.Context(), id, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		var numbers []uint64
		for _, e := range entries {
			if e.Seq != 0 {
				numbers = append(numbers, e.Seq)
			}
		}
		if !slices.IsSorted(numbers) || len(slices.Compact(slices.Clone(numbers))) != len(numbers) {
			t.Errorf("numbers in the log: %v", numbers)
		}
	})
}

func TestStoreFailure(t *testing.T) {
	for _, test := range []struct {
		name  string
		hit   wound
		err   error
		there bool
	}{
		{"read-only", readOnly, session.ErrReadOnly, false},
		{"read-only, and there", readOnlyWritten, session.ErrReadOnly, true},
		{"unknown", failing, errDisk, false},
		{"unknown, and there", failingWritten, errDisk, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.close()
				b.over(&wounded{Sessions: b.store, wounds: map[int]wound{1: test.hit}})
				id := b.session("sim/claude", "")
				a := b.agent(id)
				sub, err := a.Subscribe(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				_, err = a.Prompt(t.Context(), text("one"))
				if !errors.Is(err, test.err) {
					t.Errorf("prompt: %v", err)
				}
				u, err := sub.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				notice, ok := u.Event.(feed.Notice)
				if !ok || notice.Kind != noticeStoreReadOnly || strings.Contains(notice.Message, "/a/path") {
					t.Errorf("told %+v", u.Event)
				}
				if _, err := sub.Next(t.Context()); !errors.Is(err, test.err) {
					t.Errorf("then %v", err)
				}
				check(t, "prompts", len(b.history(id)) > 0, test.there)
				sub, err = b.agent(id).Subscribe(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				check(t, "it goes on", string(b.turn(id, "two").End.StopReason), "end_turn")
				if next, err := sub.Next(t.Context()); err != nil || next.Seq <= u.Seq {
					t.Errorf("%d after %d, %v", next.Seq, u.Seq, err)
				}
			})
		})
	}
}

func TestCloseIsNoFailureOfTheCall(t *testing.T) {
	for range 20 { // when the agent looks up from the store, the end and the call's failure are both there: select picks
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, events(append(think("a"), time.Hour)...))
			store := &hooked{Sessions: b.store}
			b.over(store)
			id := b.session("sim/claude", "")
			a := b.agent(id)
			blocked := make(chan struct{})
			appends := 0
			store.appended = func() {
				if appends++; appends == 2 { // the block of thinking
					<-blocked
				}
			}
			r, err := a.Prompt(t.Context(), text("one"))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			testgo.Go(t, func() { b.group.Close() }) // ends when blocked is closed
			synctest.Wait()
			close(blocked)
			<-a.Done()
			b.start()
			defer b.close()
			e, err := b.agent(id).Wait(t.Context(), r.Turn)
			if err != nil {
				t.Fatal(err)
			}
			check(t, "stop", string(e.End.StopReason), "interrupted")
		})
	}
}

func TestDeleteThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.close()
		store := &hooked{Sessions: b.store, delete: func() error { return session.ErrReadOnly }}
		b.over(store)
		id := b.session("sim/claude", "")
		b.turn(id, "one")
		if err := b.group.For(session.Operator).Delete(t.Context(), id); !errors.Is(err, session.ErrReadOnly) {
			t.Errorf("delete: %v", err)
		}
		synctest.Wait()
		st, err := b.agent(id).State(t.Context())
		check(t, "status", []any{st.Session.Status, err}, []any{session.Idle, nil})
		store.delete = nil
		check(t, "delete", b.group.For(session.Operator).Delete(t.Context(), id), nil)
	})
}

func TestQueueIsSharedAndStaysAsToldWhenItChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(time.Hour))
		defer b.close()
		id := b.session("sim/claude", "")
		a := b.agent(id)
		var turns []session.TurnID
		for _, s := range []string{"zero", "one", "two", "three"} {
			r, err := a.Prompt(t.Context(), text(s))
			if err != nil {
				t.Fatal(err)
			}
			turns = append(turns, r.Turn)
		}
		told, err := a.Queue(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range []session.TurnID{turns[2], turns[3]} {
			if err := a.Dequeue(t.Context(), turn); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := a.Prompt(t.Context(), text(strings.Repeat("é", 1000))); err != nil {
			t.Fatal(err)
		}
		words := func(q feed.QueueUpdate) (words []string) {
			for _, w := range q.Queue {
				words = append(words, w.Text)
			}
			return words
		}
		check(t, "before", words(told), []string{"one", "two", "three"})
		now, err := a.Queue(t.Context())
		check(t, "now", words(now), []string{"one", strings.Repeat("é", feed.MaxQueuedText) + "…"})
		check(t, "error", err, nil)
	})
}

func TestQueueOfTurnsThatCannotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(time.Hour))
		defer b.close()
		id := b.session("sim/claude", "")
		a := b.agent(id)
		var last Receipt
		for range 100 {
			var err error
			if last, err = a.Prompt(t.Context(), text("go")); err != nil {
				t.Fatal(err)
			}
		}
		b.group.Close()
		b.cfg.Provider = func(string) provider.Provider { return nil }
		b.start()
		a = b.agent(id)
		if err := a.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		e, err := a.Wait(t.Context(), last.Turn)
		if err != nil {
			t.Fatal(err)
		}
		check(t, "kind", e.End.Error.Kind, "auth")
		st, err := a.State(t.Context())
		check(t, "status", []any{st.Session.Status, err}, []any{session.Idle, nil})
	})
}
