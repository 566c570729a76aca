package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
)

// until is a script whose call runs until its context ends, and then closes stopped.
func until(stopped chan struct{}, list ...any) script {
	return func(ctx context.Context, yield func(provider.Event, error) bool) {
		defer close(stopped)
		events(append(list, time.Hour)...)(ctx, yield)
	}
}

// closed reports whether a channel is closed now.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// cancelNow cancels a turn, checks that its model call stops at once, and returns a channel that is closed when the cancel is acknowledged.
func cancelNow(t *testing.T, a *Agent, turn session.TurnID, stopped <-chan struct{}) (acknowledged <-chan struct{}) {
	t.Helper()
	acknowledged = testgo.Go(t, func() {
		if ended, err := a.Cancel(t.Context(), turn); err != nil || !ended {
			t.Errorf("cancel: %v, %v", ended, err)
		}
	})
	synctest.Wait()
	if !closed(stopped) {
		t.Error("the model call goes on")
	}
	return acknowledged
}

// A cancel that arrives while an append waits for the store ends the model call at once. It is acknowledged when the end of the turn is stored.
func TestCancelDuringAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := make(chan struct{})
		b, s := newShared(t, until(stopped, concat([]any{time.Second}, think("Think."))...))
		defer b.close()
		id := b.session("sim/claude", provider.High)
		a := b.agent(id)
		sub, err := a.Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r := b.prompted(id, text("x"))
		slow := s.waits()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		check(t, "updates", methods(sub), []string{"prompt started", "turn_start", "message_start", "thinking_start", "thinking_delta Think."})
		acknowledged := cancelNow(t, a, r.Turn, stopped)
		if closed(acknowledged) {
			t.Error("the cancel is acknowledged, and the end of the turn is not stored")
		}
		check(t, "updates while the append waits", methods(sub), []string(nil))
		close(slow)
		<-acknowledged
		e := b.outcome(id, r.Turn)
		check(t, "the end of the turn", e.End.StopReason, session.StopCancelled)
		check(t, "updates after it", methods(sub), []string{"thinking_end Think. signed=true", "message_end cancelled", "usage", "session_update", "turn_end cancelled"})
		check(t, "calls", len(b.fake.requests), 1)
	})
}

// A cancel that arrives while the log is read, or a mark is stored, ends the model call at once.
func TestCancelDuringRead(t *testing.T) {
	for _, name := range []string{"mark", "attach"} {
		synctest.Test(t, func(t *testing.T) {
			stopped := make(chan struct{})
			b, s := newShared(t, events(append(say("Say."), ended)...), until(stopped, think("Think.")...), events(append(say("Again."), ended)...))
			defer b.close()
			id := b.session("sim/claude", provider.High)
			b.turn(id, "w")
			r := b.prompted(id, text("x"))
			b.prompted(id, text("y"))
			synctest.Wait()
			slow := s.waits()
			asked := b.begin(id, map[string]func(*Agent) error{name: map[string]func(*Agent) error{
				"mark": func(a *Agent) error { return a.MarkRead(t.Context(), "ann", "") },
				"attach": func(a *Agent) error { // the prompt that waits is in the log alone
					_, _, err := a.Attach(t.Context(), 10)
					return err
				},
			}[name]})
			asked.pending(t, "while the store does not answer")
			acknowledged := cancelNow(t, b.agent(id), r.Turn, stopped)
			close(slow)
			<-acknowledged
			synctest.Wait()
			asked.answered(t, "when the store answers", nil)
		})
	}
}

// waiting is a session whose model has ended a block, and thinks on. The append of the block waits until slow is closed.
func waiting(t *testing.T, stopped chan struct{}) (b *bench, s *shared, id session.ID, turn session.TurnID, slow chan struct{}) {
	t.Helper()
	b, s = newShared(t, until(stopped, concat([]any{time.Second}, think("Think."))...))
	id = b.session("sim/claude", provider.High)
	r, err := b.agent(id).Prompt(t.Context(), text("x"))
	if err != nil {
		t.Fatal(err)
	}
	slow = s.waits()
	time.Sleep(2 * time.Second)
	synctest.Wait()
	return b, s, id, r.Turn, slow
}

// requests are those that wait for an append.
func requests(ctx context.Context) map[string]func(*Agent) error {
	return map[string]func(*Agent) error{
		"prompt":  func(a *Agent) error { _, err := a.Prompt(ctx, text("y")); return err },
		"set":     func(a *Agent) error { _, err := a.Set(ctx, Change{Title: new("T")}); return err },
		"state":   func(a *Agent) error { _, err := a.State(ctx); return err },
		"attach":  func(a *Agent) error { _, err := a.Subscribe(ctx); return err },
		"history": func(a *Agent) error { _, _, err := a.History(ctx, Page{Limit: 1}); return err },
	}
}

// begun are requests on their way, with their errors once they are answered.
type begun map[string]<-chan error

func (b *bench) begin(id session.ID, list map[string]func(*Agent) error) begun {
	all := make(begun)
	for name, f := range list {
		err := make(chan error, 1)
		all[name] = err
		testgo.Go(b.T, func() { err <- b.group.For(session.Operator).Do(b.Context(), id, f) })
	}
	synctest.Wait()
	return all
}

// answered checks which errors all have by now.
func (l begun) answered(t *testing.T, when string, want error) {
	t.Helper()
	for name, c := range l {
		select {
		case err := <-c:
			if !errors.Is(err, want) {
				t.Errorf("%s: %s is answered with %v, not %v", when, name, err, want)
			}
		default:
			t.Errorf("%s: %s is not answered", when, name)
		}
	}
}

func (l begun) pending(t *testing.T, when string) {
	t.Helper()
	for name, c := range l {
		if len(c) > 0 {
			t.Errorf("%s: %s is answered", when, name)
		}
	}
}

// What is asked while an append waits is answered after it. Nobody sees what is not stored yet.
func TestRequestsDuringAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _, id, _, slow := waiting(t, make(chan struct{}))
		defer b.close()
		all := b.begin(id, requests(t.Context()))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		all.pending(t, "while the append waits")
		close(slow)
		synctest.Wait()
		all.answered(t, "after it", nil)
	})
}

// If another node has claimed the session meanwhile, all requests go there.
func TestFencedDuringAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := make(chan struct{})
		b, s, id, turn, slow := waiting(t, stopped)
		defer b.close()
		all := requests(t.Context())
		all["cancel"] = func(a *Agent) error { _, err := a.Cancel(t.Context(), turn); return err }
		asked := b.begin(id, all)
		asked.pending(t, "while the append waits")
		if _, err := s.Local.For(session.Operator).Claim(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		s.set(func(s *shared) { s.taken = true })
		close(slow)
		synctest.Wait()
		for name, c := range asked {
			select {
			case err := <-c:
				if elsewhere := (*session.ElsewhereError)(nil); !errors.As(err, &elsewhere) {
					t.Errorf("%s is answered with %v", name, err)
				}
			default:
				t.Errorf("%s is not answered", name)
			}
		}
	})
}

// While the node is cut off, an append waits for the contact, and requests do not wait for the append. The turn goes on when the contact is back.
func TestCutOffDuringAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := make(chan struct{})
		b, s, id, turn, slow := waiting(t, stopped)
		defer b.close()
		before := b.begin(id, requests(t.Context()))
		s.set(func(s *shared) { s.cut = true })
		time.Sleep(standing)
		synctest.Wait()
		before.answered(t, "requests that waited", session.ErrCutOff)
		b.begin(id, requests(t.Context())).answered(t, "later requests", session.ErrCutOff)
		if closed(stopped) {
			t.Error("the model call ends")
		}
		s.set(func(s *shared) { s.cut = false })
		close(slow)
		if ended, err := b.agent(id).Cancel(t.Context(), turn); err != nil || !ended {
			t.Errorf("cancel: %v, %v", ended, err)
		}
		check(t, "calls", len(b.fake.requests), 1)
	})
}

// What the model says while an append waits is kept up to a bound, and published after it, each piece once.
func TestGrowthDuringAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pieces = 5000
		said := 0
		b, s := newShared(t, func(ctx context.Context, yield func(provider.Event, error) bool) {
			events(concat([]any{time.Second}, think("Think."), []any{provider.Begin{Index: 1, Block: provider.Text{}}})...)(ctx, yield)
			for said = range pieces {
				if !yield(provider.Delta{Index: 1, Text: fmt.Sprintf("%d ", said)}, nil) {
					return
				}
			}
			events(ended)(ctx, yield)
		})
		defer b.close()
		id := b.session("sim/claude", provider.High)
		a := b.agent(id)
		r := b.prompted(id, text("x"))
		sub, err := a.Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		slow := s.waits()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		var whole strings.Builder
		last := uint64(0)
		take := func() (ends int) {
			for {
				u, err := sub.TryNext()
				if u == nil || err != nil {
					return ends
				}
				if first := max(u.FirstSeq, 1); last > 0 && u.Seq != last+1 && first != last+1 {
					t.Errorf("%s has the numbers %d to %d after %d", u.Event.Method(), u.FirstSeq, u.Seq, last)
				}
				last = u.Seq
				switch e := u.Event.(type) {
				case feed.MessageDelta:
					whole.WriteString(e.Delta)
				case feed.ThinkingEnd, feed.TurnEnd:
					ends++
				}
			}
		}
		if ends := take(); ends > 0 || whole.Len() > 0 {
			t.Errorf("%d ends and %q are published before they are stored", ends, whole.String())
		}
		if said == 0 || said > pieces/2 {
			t.Errorf("%d of %d pieces are taken from the model", said, pieces)
		}
		close(slow)
		if _, err := a.Wait(t.Context(), r.Turn); err != nil {
			t.Fatal(err)
		}
		check(t, "ends", take(), 2)
		var want strings.Builder
		for i := range pieces {
			fmt.Fprintf(&want, "%d ", i)
		}
		check(t, "the text", whole.String(), want.String())
	})
}

// A node that gives up what runs does not wait for its appends.
func TestAbandonDuringAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := make(chan struct{})
		b, s, id, _, _ := waiting(t, stopped)
		defer b.close()
		a := b.agent(id)
		asked := b.begin(id, map[string]func(*Agent) error{"cancel": func(a *Agent) error { _, err := a.Cancel(t.Context(), ""); return err }})
		s.set(func(s *shared) { s.cut = true })
		b.group.Abandon()
		synctest.Wait()
		if !closed(a.Done()) || !closed(stopped) {
			t.Error("the agent or its model call goes on")
		}
		asked.answered(t, "after the end", session.ErrCutOff)
	})
}

// A cancel that arrives while the entry of a model call is stored is in time: the call does not begin.
func TestCancelBeforeCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := newShared(t)
		defer b.close()
		id := b.session("sim/claude", provider.High)
		b.agent(id)
		slow := s.waits()
		var turn session.TurnID
		prompted := b.begin(id, map[string]func(*Agent) error{"prompt": func(a *Agent) error {
			r, err := a.Prompt(t.Context(), text("x"))
			turn = r.Turn
			return err
		}})
		cancelled := b.begin(id, map[string]func(*Agent) error{"cancel": func(a *Agent) error {
			ended, err := a.Cancel(t.Context(), "")
			if err == nil && !ended {
				err = errors.New("nothing is cancelled")
			}
			return err
		}})
		cancelled.pending(t, "while the append waits")
		close(slow)
		synctest.Wait()
		prompted.answered(t, "after it", nil)
		cancelled.answered(t, "after it", nil)
		e, err := b.agent(id).Wait(t.Context(), turn)
		if err != nil {
			t.Fatal(err)
		}
		check(t, "the end of the turn", e.End.StopReason, session.StopCancelled)
		check(t, "calls", len(b.fake.requests), 0)
		if e := b.turn(id, "y"); e.End.StopReason != session.StopEndTurn {
			t.Errorf("the next turn ends with %+v", e.End)
		}
	})
}

// A cancel that arrives while the entry of a tool is stored is in time: the tool does not begin.
func TestCancelBeforeTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{run: func(context.Context, provider.ToolCall, func(string)) provider.ToolResult { return said("found") }}
		b, s := newShared(t, func(ctx context.Context, yield func(provider.Event, error) bool) {
			events(time.Second)(ctx, yield)
			calls("c", `{}`)(ctx, yield)
		})
		defer b.close()
		id := b.tools(h)
		r := b.prompted(id, text("x"))
		synctest.Wait()
		slow := s.waitsAt(func(e session.Body) bool { _, ok := e.(session.ToolStart); return ok })
		time.Sleep(2 * time.Second)
		cancelled := b.begin(id, map[string]func(*Agent) error{"cancel": func(a *Agent) error { _, err := a.Cancel(t.Context(), r.Turn); return err }})
		cancelled.pending(t, "while the append waits")
		close(slow)
		e := b.outcome(id, r.Turn)
		synctest.Wait()
		cancelled.answered(t, "after it", nil)
		check(t, "the end of the turn", e.End.StopReason, session.StopCancelled)
		check(t, "runs", h.runs.Load(), int64(0))
		check(t, "calls", len(b.fake.requests), 1)
	})
}

// A cancel at a node that is cut off ends the model call at once, and counts when the contact is back. A session in which nothing runs has nothing to end.
func TestCancelWhileStandingStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := make(chan struct{})
		b, s := newShared(t, until(stopped))
		defer b.close()
		id, idle := b.session("sim/claude", provider.High), b.session("sim/claude", provider.High)
		b.agent(idle)
		r := b.prompted(id, text("x"))
		synctest.Wait()
		s.set(func(s *shared) { s.cut = true })
		cancel := map[string]func(*Agent) error{"cancel": func(a *Agent) error { _, err := a.Cancel(t.Context(), ""); return err }}
		asked := b.begin(id, cancel)
		asked.pending(t, "while the node is cut off")
		b.begin(idle, cancel).answered(t, "while the node is cut off", session.ErrCutOff)
		if !closed(stopped) {
			t.Error("the model call goes on")
		}
		s.set(func(s *shared) { s.cut, s.doubt = false, true })
		e := b.outcome(id, r.Turn)
		synctest.Wait()
		asked.answered(t, "with contact", nil)
		check(t, "the end of the turn", e.End.StopReason, session.StopCancelled)
		check(t, "calls", len(b.fake.requests), 1)
	})
}

// What came of a call just before the contact was lost waits for the contact. A cancel overtakes it: the end of the call that it stopped is no failure.
func TestCancelOvertakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := make(chan struct{})
		b, s := newShared(t, until(stopped, say("Say.")...))
		defer b.close()
		id := b.session("sim/claude", provider.High)
		a := b.agent(id)
		r := b.prompted(id, text("x"))
		synctest.Wait()
		if _, err := ask(t.Context(), a, func(at *state) (struct{}, error) {
			s.set(func(s *shared) { s.cut = true })
			at.act(at.step)
			return struct{}{}, nil
		}); err != nil {
			t.Fatal(err)
		}
		asked := b.begin(id, map[string]func(*Agent) error{"cancel": func(a *Agent) error { _, err := a.Cancel(t.Context(), r.Turn); return err }})
		asked.pending(t, "while the node is cut off")
		if !closed(stopped) {
			t.Error("the model call goes on")
		}
		s.set(func(s *shared) { s.cut, s.doubt = false, true })
		e := b.outcome(id, r.Turn)
		check(t, "the end of the turn", e.End.StopReason, session.StopCancelled)
	})
}

// A drain that begins while the node is cut off counts when the contact is back.
func TestDrainWhileCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := newShared(t)
		defer b.close()
		id := b.session("sim/claude", provider.High)
		a := b.agent(id)
		s.set(func(s *shared) { s.cut = true })
		drained := testgo.Go(t, func() { b.group.Drain(t.Context(), func(session.Ref, uint64) {}) })
		synctest.Wait()
		if closed(drained) {
			t.Error("the session has left, and the node is cut off")
		}
		s.set(func(s *shared) { s.cut, s.doubt = false, true })
		<-drained
		<-a.Done()
	})
}

// waits is a session at a node whose appends wait at random, and which loses its contact at random.
type waits struct {
	*bench
	store   *shared
	id      session.ID
	slow    chan struct{}
	pending []<-chan error
	subs    []*feed.Subscription

	mu       sync.Mutex
	prompted map[session.TurnID]bool
	ended    []session.TurnID // by a cancel that was acknowledged
}

// ask begins a request, and does not wait for its answer.
func (w *waits) ask(f func(*Agent) error) {
	err := make(chan error, 1)
	w.pending = append(w.pending, err)
	testgo.Go(w.T, func() { err <- w.group.For(session.Operator).Do(w.Context(), w.id, f) })
	synctest.Wait()
}

func (w *waits) settle() {
	if w.slow != nil {
		close(w.slow)
		w.slow = nil
		w.store.set(func(s *shared) { s.slow = nil })
	}
}

func (w *waits) do(step string) {
	switch step {
	case "prompt":
		w.ask(func(a *Agent) error {
			r, err := a.Prompt(w.Context(), text("x"))
			w.mu.Lock()
			defer w.mu.Unlock()
			if err == nil {
				w.prompted[r.Turn] = true
			}
			return err
		})
	case "cancel":
		w.mu.Lock()
		list := slices.Sorted(maps.Keys(w.prompted))
		w.mu.Unlock()
		w.ask(func(a *Agent) error { _, err := a.Cancel(w.Context(), ""); return err })
		for _, id := range list[max(len(list)-1, 0):] {
			w.ask(func(a *Agent) error {
				ended, err := a.Cancel(w.Context(), id)
				w.mu.Lock()
				defer w.mu.Unlock()
				if ended && err == nil {
					w.ended = append(w.ended, id)
				}
				return err
			})
		}
	case "set":
		w.ask(func(a *Agent) error { _, err := a.Set(w.Context(), Change{Title: new("T")}); return err })
	case "attach":
		w.ask(func(a *Agent) error {
			sub, err := a.Subscribe(w.Context())
			w.mu.Lock()
			defer w.mu.Unlock()
			if err == nil {
				w.subs = append(w.subs, sub)
			}
			return err
		})
	case "slow":
		if w.slow == nil {
			w.slow = w.store.waits()
		}
	case "settle":
		w.settle()
	case "cut":
		w.store.set(func(s *shared) { s.cut = true })
	case "back":
		w.store.set(func(s *shared) { s.cut, s.doubt = false, true })
	case "abandon":
		w.store.mu.Lock()
		cut := w.store.cut
		w.store.mu.Unlock()
		if cut {
			w.group.Abandon()
		}
	case "second":
		time.Sleep(time.Second)
	}
	synctest.Wait()
}

// history is what the session has of its messages.
func (w *waits) history(t *testing.T) (all []Message) {
	t.Helper()
	err := w.group.For(session.Operator).Do(t.Context(), w.id, func(a *Agent) (err error) {
		if err = a.Resume(t.Context()); err == nil {
			time.Sleep(10 * time.Minute) // all turns end
			all, _, err = a.History(t.Context(), Page{Limit: 1000})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// check is for the end of a test.
func (w *waits) check(t *testing.T) {
	t.Helper()
	for i, c := range w.pending {
		select {
		case err := <-c:
			if err != nil && !errors.Is(err, session.ErrCutOff) {
				t.Errorf("request %d is answered with %v", i, err)
			}
		default:
			t.Errorf("request %d is not answered", i)
		}
	}
	numbers := make(map[uint64]string)
	for _, sub := range w.subs {
		for last := uint64(0); ; {
			u, err := sub.TryNext()
			if u == nil || err != nil {
				break
			}
			if u.Seq <= last {
				t.Errorf("%d follows %d", u.Seq, last)
			}
			last = u.Seq
			what := fmt.Sprint(u.Event.Method(), " ", u.Turn)
			if was, ok := numbers[u.Seq]; ok && was != what {
				t.Errorf("%d is the number of %s and of %s", u.Seq, was, what)
			}
			numbers[u.Seq] = what
		}
	}
	stops := make(map[session.TurnID][]session.StopReason)
	all := w.history(t)
	for _, m := range all {
		if m.Role == provider.User && m.Stop != nil && m.Answers == "" {
			stops[m.Turn] = append(stops[m.Turn], m.Stop.StopReason)
		}
	}
	for id := range w.prompted {
		if len(stops[id]) != 1 {
			t.Errorf("turn %s, whose prompt was acknowledged, has the ends %v", id, stops[id])
		}
	}
	for _, id := range w.ended {
		if !slices.Equal(stops[id], []session.StopReason{session.StopCancelled}) {
			t.Errorf("turn %s, whose cancel was acknowledged, has the ends %v", id, stops[id])
		}
	}
	w.group.Close()
	w.start()
	check(t, "the history after a restart", lines(t, w.history(t)), lines(t, all))
}

// lines are messages as JSON.
func lines(t *testing.T, all []Message) (list []string) {
	t.Helper()
	for _, m := range all {
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(text))
	}
	return list
}

// Whatever is asked while appends wait and the contact comes and goes: each request is answered, what is acknowledged is in the log, and no number of an
// update is used twice.
func TestAppendsThatWait(t *testing.T) {
	steps := []string{"prompt", "prompt", "cancel", "set", "attach", "slow", "settle", "settle", "cut", "back", "back", "abandon", "second", "second", "second"}
	testgo.Check(t, func(rt *rapid.T) {
		list := rapid.SliceOfN(rapid.SampledFrom(steps), 1, 40).Draw(rt, "steps")
		good := t.Run("", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answers := events(concat([]any{time.Second}, think("Think."), []any{time.Second}, say("Say."), []any{time.Second, ended})...)
				var scripts []script
				for range 100 {
					scripts = append(scripts, func(ctx context.Context, yield func(provider.Event, error) bool) {
						events(time.Second)(ctx, yield)
						if ctx.Err() == nil {
							calls("c", `{}`)(ctx, yield)
						}
					}, answers)
				}
				b, s := newShared(t, scripts...)
				defer b.close()
				h := &host{run: func(ctx context.Context, _ provider.ToolCall, _ func(string)) provider.ToolResult {
					select {
					case <-time.After(time.Second):
					case <-ctx.Done():
					}
					return said("found")
				}}
				w := &waits{bench: b, store: s, id: b.tools(h), prompted: make(map[session.TurnID]bool)}
				for _, step := range list {
					w.do(step)
				}
				w.do("settle")
				w.do("back")
				time.Sleep(time.Minute)
				synctest.Wait()
				w.check(t)
			})
		})
		if !good {
			rt.Fatal("see the subtest")
		}
	})
}
