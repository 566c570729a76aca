package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// quota is a refusal with the time at which the vendor takes calls again.
func quota(after time.Duration) *provider.Error {
	return &provider.Error{Provider: "sim", Kind: provider.KindRateLimit, Status: 429, RetryAfter: after, Message: "limit reached"}
}

// parkBench is a bench whose operator lets turns wait.
func parkBench(t *testing.T, limit time.Duration, scripts ...script) (*bench, session.ID) {
	t.Helper()
	b := newBench(t, scripts...)
	b.cfg.Limits.Park = limit
	b.group.Close()
	b.start()
	return b, b.session("sim/claude", "")
}

// restart is the end of one process and the start of the next.
func (b *bench) restart() {
	b.Helper()
	b.group.Close()
	b.start()
}

// parkedTurn is the parked turn of a session. The test fails if none is.
func (b *bench) parkedTurn(id session.ID) *feed.TurnParked {
	b.Helper()
	p := b.parkedNow(id)
	if p == nil {
		b.Fatalf("no turn is parked: %s", b.agentState(id).Session.Status)
	}
	return p
}

// parkedNow is the parked turn of a session, nil if none is.
func (b *bench) parkedNow(id session.ID) *feed.TurnParked {
	b.Helper()
	synctest.Wait()
	snap, sub, err := b.agent(id).Attach(b.Context(), 0)
	if err != nil {
		b.Fatal(err)
	}
	sub.Close()
	if snap.Turn == nil {
		return nil
	}
	if (snap.Turn.Parked != nil) != (snap.Session.Status == session.Parked) {
		b.Fatalf("%s: %+v", snap.Session.Status, snap.Turn.Parked)
	}
	return snap.Turn.Parked
}

// asked is how many calls the model got.
func (b *bench) asked() int {
	b.fake.mu.Lock()
	defer b.fake.mu.Unlock()
	return len(b.fake.requests)
}

// outcome waits for the end of a turn.
func (b *bench) outcome(id session.ID, turn session.TurnID) Ended {
	b.Helper()
	e, err := b.agent(id).Wait(b.Context(), turn)
	if err != nil {
		b.Fatal(err)
	}
	return e
}

func (b *bench) prompted(id session.ID, p Prompt) Receipt {
	b.Helper()
	r, err := b.agent(id).Prompt(b.Context(), p)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// TestParkQuota parks a turn at a refusal with a time an hour ahead. The turn resumes at that time, and not before; the queue waits.
func TestParkQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := parkBench(t, 12*time.Hour, events(quota(time.Hour)), answer("a", "one"), answer("b", "two"))
		defer b.close()
		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		begun := time.Now()
		first := b.prompted(id, text("first"))
		p := b.parkedTurn(id)
		if p.Why != session.ParkedQuota || p.Resumes != session.ResumesAlone || p.Since != begun.UnixMilli() || p.Error == nil {
			t.Fatalf("parked: %+v", p)
		}
		if wait := time.UnixMilli(p.Until).Sub(begun); wait < time.Hour || wait > time.Hour+time.Minute {
			t.Errorf("it waits %s", wait)
		}
		second := b.prompted(id, text("second"))
		check(t, "a prompt meanwhile", second.Disposition, feed.Enqueued)
		check(t, "turns that keep the daemon", b.group.Running(), 0)
		check(t, "turns that resume by themselves", b.group.Parked(), 1)
		if _, err := b.agent(id).Compact(t.Context()); !errors.Is(err, ErrBusy) {
			t.Errorf("compact: %v", err)
		}
		time.Sleep(59 * time.Minute)
		check(t, "calls before the time", b.asked(), 1)
		e := b.outcome(id, first.Turn)
		check(t, "its end", e.End.StopReason, session.StopEndTurn)
		if took := time.Duration(e.End.DurationMS) * time.Millisecond; took > time.Minute {
			t.Errorf("the time that it was parked counts: %s", took)
		}
		if waited := time.Since(begun); waited < time.Hour || waited > time.Hour+2*time.Minute {
			t.Errorf("it resumed after %s", waited)
		}
		b.outcome(id, second.Turn)
		check(t, "calls", b.asked(), 3)
		check(t, "parked at the end", b.group.Parked(), 0)
		words := strings.Join(methods(sub), ",")
		if !strings.Contains(words, "turn_parked,prompt queued,queue_update 1 held=false,turn_resumed,message_start") {
			t.Errorf("updates: %s", words)
		}
	})
}

// TestParkOnlyWhereAllowed ends turns where the operator allows no parking, the error does not pass, or the time is too far.
func TestParkOnlyWhereAllowed(t *testing.T) {
	final := quota(0)
	final.Kind, final.Hint = provider.KindBadRequest, provider.HintFinal
	for _, c := range []struct {
		name  string
		limit time.Duration
		err   *provider.Error
	}{
		{"not allowed", 0, quota(time.Hour)},
		{"too far", 30 * time.Minute, quota(time.Hour)},
		{"wrong request", 12 * time.Hour, final},
		{"no key", 12 * time.Hour, &provider.Error{Kind: provider.KindAuth, Status: 401}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, id := parkBench(t, c.limit, events(c.err))
				defer b.close()
				check(t, "its end", b.turn(id, "first").End.StopReason, session.StopError)
			})
		})
	}
}

// TestParkOutage makes the call again until the vendor is back, and ends the turn with its error after the operator's time.
func TestParkOutage(t *testing.T) {
	down := &provider.Error{Provider: "sim", Kind: provider.KindTransport, Message: "connection refused"}
	for _, c := range []struct {
		refused int
		end     session.StopReason
	}{{20, session.StopEndTurn}, {10_000, session.StopError}} {
		synctest.Test(t, func(t *testing.T) {
			b, id := parkBench(t, 2*time.Hour)
			defer b.close()
			for range c.refused {
				b.fake.scripts = append(b.fake.scripts, events(down))
			}
			begun := time.Now()
			r := b.prompted(id, text("first"))
			e := b.outcome(id, r.Turn)
			check(t, "its end", e.End.StopReason, c.end)
			if took := time.Since(begun); c.end == session.StopError && (took < 100*time.Minute || took > 2*time.Hour+time.Minute) {
				t.Errorf("it ended after %s", took)
			}
			if c.end == session.StopError {
				check(t, "why", e.End.Error.Kind, string(provider.KindTransport))
			}
		})
	}
}

// TestParkRestart parks a turn over restarts. It resumes by itself once after one, and then waits for a client.
func TestParkRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := parkBench(t, 12*time.Hour, events(quota(time.Hour)), events(quota(time.Hour)), answer("a", "one"))
		defer b.close()
		r := b.prompted(id, text("first"))
		b.prompted(id, text("waits"))
		first := b.parkedTurn(id)
		b.restart()
		if again := b.parkedTurn(id); again == nil || *again.Error != *first.Error || again.Until != first.Until || again.Resumes != session.ResumesAlone {
			t.Fatalf("after a restart: %+v, before %+v", again, first)
		}
		time.Sleep(65 * time.Minute)
		synctest.Wait()
		check(t, "calls", b.asked(), 2)
		check(t, "resumes again in the same process", b.parkedTurn(id).Resumes, session.ResumesAlone)
		b.restart()
		check(t, "resumes after another restart", b.parkedTurn(id).Resumes, session.ResumesOnRequest)
		time.Sleep(3 * time.Hour)
		check(t, "calls", b.asked(), 2)
		on, err := b.agent(id).ResumeTurn(t.Context(), r.Turn, Resumption{})
		if err != nil || on != r.Turn {
			t.Fatal(on, err)
		}
		check(t, "its end", b.outcome(id, r.Turn).End.StopReason, session.StopEndTurn)
		synctest.Wait()
		check(t, "the queue after a restart", b.asked(), 3)
	})
}

// TestParkUnloaded resumes a turn whose session was unloaded meanwhile.
func TestParkUnloaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := parkBench(t, 12*time.Hour, events(quota(2*time.Hour)))
		defer b.close()
		b.prompted(id, text("first"))
		time.Sleep(time.Hour)
		if _, loaded := b.group.For(session.Operator).Live(session.Session{ID: id}); loaded {
			t.Error("a session with a parked turn stays in memory")
		}
		s, err := b.group.For(session.Operator).Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		check(t, "status in the store", s.Status, session.Parked)
		time.Sleep(2 * time.Hour)
		if s, err = b.group.For(session.Operator).Get(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		check(t, "status in the end", s.Status, session.Idle)
		check(t, "calls", b.asked(), 2)
	})
}

// TestParkEnds ends a parked turn by session/cancel and by the deletion of its session.
func TestParkEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := parkBench(t, 12*time.Hour, events(quota(time.Hour)), answer("a", "two"), events(quota(time.Hour)))
		defer b.close()
		r := b.prompted(id, text("first"))
		next := b.prompted(id, text("second"))
		b.parkedTurn(id)
		if ok, err := b.agent(id).Cancel(t.Context(), ""); !ok || err != nil {
			t.Fatal(ok, err)
		}
		check(t, "its end", b.outcome(id, r.Turn).End.StopReason, session.StopCancelled)
		check(t, "the next", b.outcome(id, next.Turn).End.StopReason, session.StopEndTurn)
		if _, err := b.agent(id).ResumeTurn(t.Context(), r.Turn, Resumption{}); !errors.Is(err, ErrNotParked) {
			t.Errorf("resume of a turn that has ended: %v", err)
		}
		b.prompted(id, text("third"))
		b.parkedTurn(id)
		if err := b.group.For(session.Operator).Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		check(t, "calls", b.asked(), 3)
	})
}

// TestParkOtherModel resumes a parked turn with another model: that is a new turn, which continues the parked one.
func TestParkOtherModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := parkBench(t, 12*time.Hour, events(quota(time.Hour)), answer("a", "one"))
		defer b.close()
		r := b.prompted(id, text("first"))
		b.parkedTurn(id)
		on, err := b.agent(id).ResumeTurn(t.Context(), r.Turn, Resumption{Model: &session.ModelRef{Provider: "anthropic", ID: "other"}})
		if err != nil || on == r.Turn {
			t.Fatal(on, err)
		}
		check(t, "the parked turn", b.outcome(id, r.Turn).End.StopReason, session.StopCancelled)
		e := b.outcome(id, on)
		check(t, "the other", e.End.StopReason, session.StopEndTurn)
		check(t, "its model", e.Start.Model, session.ModelRef{Provider: "anthropic", ID: "other"})
		sent := b.fake.requests[1]
		check(t, "model", sent.Model.ID, "other")
		check(t, "messages", len(sent.Messages), 1)
		check(t, "the session's model", b.agentState(id).Session.Model.ID, "claude")
	})
}

func (b *bench) agentState(id session.ID) State {
	b.Helper()
	s, err := b.agent(id).State(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// TestParkProbes has many turns of one credential and one of another wait. One turn asks first; the others go on when it was accepted.
func TestParkProbes(t *testing.T) {
	const turns = 60
	synctest.Test(t, func(t *testing.T) {
		b, _ := parkBench(t, 12*time.Hour)
		defer b.close()
		b.fake.scripts = nil
		var open atomic.Bool // the vendor takes calls
		var most, now, refused atomic.Int32
		b.fake.judge = func(_ *provider.Request, play script) script {
			return func(ctx context.Context, yield func(provider.Event, error) bool) {
				if !open.Load() {
					most.Store(max(most.Load(), now.Add(1)))
					defer now.Add(-1)
					refused.Add(1)
					time.Sleep(10 * time.Second)
					yield(nil, quota(time.Hour))
					return
				}
				play(ctx, yield)
			}
		}
		ids := make([]session.ID, turns)
		receipts := make([]Receipt, turns)
		for i := range ids {
			ids[i] = b.session("sim/claude", "")
			receipts[i] = b.prompted(ids[i], text(fmt.Sprint("turn ", i)))
		}
		time.Sleep(time.Minute)
		check(t, "refused at first", int(refused.Load()), turns)
		most.Store(0)
		time.Sleep(3*time.Hour + 30*time.Minute)
		if n := refused.Load() - turns; n < 3 || n > 4 {
			t.Errorf("%d probes in 3.5 hours", n)
		}
		check(t, "probes in parallel", int(most.Load()), 1)
		open.Store(true)
		for i, id := range ids {
			check(t, "an end", b.outcome(id, receipts[i].Turn).End.StopReason, session.StopEndTurn)
		}
		t.Logf("%d turns of one credential: %d probes were refused, at most %d at once; 0 lost", turns, refused.Load()-turns, most.Load())
		check(t, "calls that were accepted", b.asked()-int(refused.Load()), turns)
	})
}

// TestParkApproval asks a person, who answers three days and a restart later.
func TestParkApproval(t *testing.T) {
	for _, action := range []session.Action{session.AllowOnce, session.Deny} {
		t.Run(string(action), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ran atomic.Int32
				h := &shell{inspect: commands}
				h.run = func(context.Context, provider.ToolCall, func(string)) provider.ToolResult {
					ran.Add(1)
					return said("done")
				}
				b, id := askBench(t, h, tool.Run, calls("c", `{"at":"ls"}`, `{"at":"pwd"}`), answer("a", "done"))
				defer b.close()
				b.cfg.Limits.ConfirmPark = true
				b.restart()
				list := b.questions(id)
				check(t, "questions", len(list), 2)
				p := b.parkedTurn(id)
				if p.Why != session.ParkedApproval || p.Resumes != session.ResumesOnRequest || p.Until != 0 || list[0].Until != 0 {
					t.Fatalf("parked: %+v, %+v", p, list)
				}
				time.Sleep(3 * 24 * time.Hour)
				b.restart()
				again := b.open(id)
				check(t, "questions after a restart", again, list)
				check(t, "turns that resume by themselves", b.group.Parked(), 0)
				turn := b.turnOf(id)
				if _, err := b.agent(id).ResumeTurn(t.Context(), turn, Resumption{}); !errors.Is(err, ErrAsked) {
					t.Errorf("resume: %v", err)
				}
				b.rule(id, list[0].ID, Ruling{Action: action})
				synctest.Wait()
				check(t, "open", b.open(id), list[1:])
				check(t, "why", b.parkedTurn(id).Why, session.ParkedApproval)
				time.Sleep(24 * time.Hour)
				b.restart()
				b.rule(id, list[1].ID, Ruling{Action: action})
				check(t, "its end", b.outcome(id, turn).End.StopReason, session.StopEndTurn)
				want := 2
				if action == session.Deny {
					want = 0
				}
				check(t, "calls that ran", int(ran.Load()), want)
				check(t, "model calls", b.asked(), 2)
				if ok, err := b.agent(id).Answer(t.Context(), list[0].ID, Ruling{Action: action}); ok || !errors.Is(err, ErrNoConfirm) {
					t.Errorf("a second answer: %v, %v", ok, err)
				}
			})
		})
	}
}

// turnOf is the open turn of a session.
func (b *bench) turnOf(id session.ID) session.TurnID {
	b.Helper()
	snap, sub, err := b.agent(id).Attach(b.Context(), 0)
	if err != nil {
		b.Fatal(err)
	}
	sub.Close()
	if snap.Turn == nil {
		b.Fatalf("no turn runs: %s", snap.Session.Status)
	}
	return snap.Turn.ID
}

// TestParkUntil starts a prompt at its time, and ends it at its deadline. After a restart it waits for a client.
func TestParkUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := parkBench(t, 0, answer("a", "one"), answer("b", "two"), events(time.Hour))
		defer b.close()
		at := func(d time.Duration) int64 { return time.Now().Add(d).UnixMilli() }
		later := text("later")
		later.NotBefore = at(time.Hour)
		r := b.prompted(id, later)
		check(t, "why", b.parkedTurn(id).Why, session.ParkedClient)
		time.Sleep(59 * time.Minute)
		check(t, "calls before the time", b.asked(), 0)
		check(t, "its end", b.outcome(id, r.Turn).End.StopReason, session.StopEndTurn)

		later.NotBefore = at(time.Hour)
		r = b.prompted(id, later)
		b.restart()
		check(t, "after a restart", b.parkedTurn(id).Resumes, session.ResumesOnRequest)
		time.Sleep(5 * time.Hour)
		check(t, "calls after a restart", b.asked(), 1)
		if _, err := b.agent(id).ResumeTurn(t.Context(), r.Turn, Resumption{}); err != nil {
			t.Fatal(err)
		}
		check(t, "its end", b.outcome(id, r.Turn).End.StopReason, session.StopEndTurn)

		for _, c := range []struct {
			notBefore, deadline time.Duration
			calls               int
		}{{time.Hour, 30 * time.Minute, 2}, {0, -time.Second, 2}, {0, 100 * time.Second, 3}} {
			later.NotBefore, later.Deadline = at(c.notBefore), at(c.deadline)
			e := b.outcome(id, b.prompted(id, later).Turn)
			check(t, "its end", e.End.StopReason, session.StopLimit)
			check(t, "which", e.End.Limit, "deadline")
			check(t, "calls", b.asked(), c.calls)
		}
	})
}

// TestParkSteered takes a prompt that steers into a parked turn when it resumes.
func TestParkSteered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := parkBench(t, 12*time.Hour, events(quota(time.Hour)), answer("a", "one"))
		defer b.close()
		r := b.prompted(id, text("first"))
		b.parkedTurn(id)
		steer := text("and this")
		steer.Steer = true
		check(t, "disposition", b.prompted(id, steer).Disposition, feed.Steered)
		b.restart()
		b.outcome(id, r.Turn)
		if n := len(b.fake.requests[1].Messages); n != 2 {
			t.Errorf("%d messages were sent", n)
		}
		check(t, "status", b.agentState(id).Session.Status, session.Idle)
	})
}
