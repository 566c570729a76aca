package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/mem"
)

// shared is a store of which another process has a part, as far as its logs say.
type shared struct {
	session.Local
	mu      sync.Mutex
	cut     bool // the node is cut off
	doubt   bool // the log may belong to somebody else
	lates   int  // acknowledgements that come too late
	held    bool
	empties int // appends without entries
	handed  int
	taken   bool                    // another node has the session
	slow    chan struct{}           // appends wait for its end; nil: they do not
	at      func(session.Body) bool // only those of such an entry; nil: all
}

// waits has the appends that begin from now on wait for the end of the channel.
func (s *shared) waits() chan struct{} {
	slow := make(chan struct{})
	s.set(func(s *shared) { s.slow = slow })
	return slow
}

// waitsAt is waits for appends with such an entry.
func (s *shared) waitsAt(at func(session.Body) bool) chan struct{} {
	s.set(func(s *shared) { s.at = at })
	return s.waits()
}

// settle is where an append waits.
func (s *shared) settle(ctx context.Context, entries []session.Entry) error {
	s.mu.Lock()
	slow, at := s.slow, s.at
	s.mu.Unlock()
	if slow == nil || at != nil && !slices.ContainsFunc(entries, func(e session.Entry) bool { return at(e.Body) }) {
		return nil
	}
	select {
	case <-slow:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *shared) For(owner session.Owner) session.Sessions {
	return sharedSessions{s.Local.For(owner), s}
}

type sharedSessions struct {
	session.Sessions
	of *shared
}

func (s sharedSessions) Claim(ctx context.Context, id session.ID) (session.Log, error) {
	s.of.mu.Lock()
	cut, taken := s.of.cut, s.of.taken
	s.of.mu.Unlock()
	switch {
	case cut:
		return nil, session.ErrCutOff
	case taken:
		return nil, new(session.ElsewhereError)
	}
	log, err := s.Sessions.Claim(ctx, id)
	if err != nil {
		return nil, err
	}
	return &sharedLog{log, s.of}, nil
}

// Entries and MarkRead wait as appends do, if there is no condition.
func (s sharedSessions) Entries(ctx context.Context, id session.ID, after uint64, limit int) ([]session.Entry, error) {
	if err := s.of.settle(ctx, nil); err != nil {
		return nil, err
	}
	return s.Sessions.Entries(ctx, id, after, limit)
}

func (s sharedSessions) MarkRead(ctx context.Context, id session.ID, principal string, ended int) error {
	if err := s.of.settle(ctx, nil); err != nil {
		return err
	}
	return s.Sessions.MarkRead(ctx, id, principal, ended)
}

type sharedLog struct {
	session.Log
	of *shared
}

func (l *sharedLog) Append(ctx context.Context, entries ...session.Entry) (uint64, error) {
	if err := l.of.settle(ctx, entries); err != nil {
		return 0, err
	}
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	if l.of.cut {
		return 0, session.ErrCutOff
	}
	if len(entries) == 0 {
		l.of.empties++
	}
	last, err := l.Log.Append(ctx, entries...)
	l.of.doubt = l.of.doubt && err != nil
	return last, err
}

func (l *sharedLog) Held() bool { return l.of.held }

func (l *sharedLog) HandOver(ctx context.Context) error {
	l.of.mu.Lock()
	l.of.handed++
	l.of.mu.Unlock()
	return l.Release(ctx)
}

func (l *sharedLog) Current() bool {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	return !l.of.cut && !l.of.doubt
}

func (l *sharedLog) InContact() bool {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	return !l.of.cut
}

// Recent takes one of the late acknowledgements.
func (l *sharedLog) Recent() bool {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	if l.of.lates > 0 {
		l.of.lates--
		return false
	}
	return !l.of.cut
}

func (l *sharedLog) Doubt() { l.of.set(func(s *shared) { s.doubt = true }) }

func (s *shared) set(f func(*shared)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

// newShared is a bench whose store is shared.
func newShared(t *testing.T, scripts ...script) (*bench, *shared) {
	b := newBench(t, scripts...)
	b.group.Close()
	s := &shared{Local: mem.New()}
	b.keepIn(s)
	b.cfg.Store = s
	b.start()
	return b, s
}

// A session that another process has claimed ends as soon as somebody says so, without waiting for the next look.
func TestConfirm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := newShared(t)
		defer b.close()
		id := b.session("sim/claude", provider.High)
		ref := session.Ref{ID: id}
		a := b.agent(id)
		sub, err := a.Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.group.Confirm(ref)
		synctest.Wait()
		if s.empties != 0 {
			t.Error("a log without doubt is written to")
		}
		if _, err := s.Local.For(session.Operator).Claim(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		s.set(func(s *shared) { s.doubt = true })
		begun := time.Now()
		b.group.Confirm(ref)
		for err == nil {
			_, err = sub.Next(t.Context())
		}
		if time.Since(begun) > 0 {
			t.Errorf("its subscribers hear of it after %v", time.Since(begun))
		}
		b.group.Confirm(ref) // it is not loaded
	})
}

// A session whose node is cut off publishes nothing, and answers nothing. It goes on where it was when the contact is back.
func TestStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := newShared(t, events(concat([]any{time.Second}, think("Think."), []any{10 * time.Second}, say("Say."), []any{ended})...))
		defer b.close()
		id := b.session("sim/claude", provider.High)
		a := b.agent(id)
		r, err := a.Prompt(t.Context(), text("x"))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		sub, err := a.Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.set(func(s *shared) { s.cut = true })
		time.Sleep(5 * time.Second)
		synctest.Wait()
		check(t, "updates while it is cut off", methods(sub), []string(nil))
		if _, err := a.Prompt(t.Context(), text("y")); !errors.Is(err, session.ErrCutOff) {
			t.Errorf("a prompt is answered with %v", err)
		}
		if _, _, err := a.Attach(t.Context(), 0); !errors.Is(err, session.ErrCutOff) {
			t.Errorf("attach is answered with %v", err)
		}
		s.set(func(s *shared) { s.cut, s.doubt = false, true })
		if e, err := a.Wait(t.Context(), r.Turn); err != nil || e.End.StopReason != session.StopEndTurn {
			t.Fatalf("the turn ends with %+v, %v", e, err)
		}
		synctest.Wait()
		check(t, "updates", methods(sub), []string{"message_start", "thinking_start", "thinking_delta Think.", "thinking_end Think. signed=true", "message_delta Say.",
			"text_end Say.", "message_end end_turn", "usage", "session_update", "turn_end end_turn"})
		check(t, "calls", len(b.fake.requests), 1)
	})
}

// A session that another node has claimed ends, and its subscribers attach again. They get no notice of it.
func TestClaimedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := newShared(t)
		defer b.close()
		id := b.session("sim/claude", provider.High)
		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		a := b.agent(id)
		if _, err := s.Local.For(session.Operator).Claim(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		s.set(func(s *shared) { s.doubt = true })
		<-a.Done() // although nothing happens in it
		if u, err := sub.TryNext(); u != nil || !errors.Is(err, session.ErrFenced) {
			t.Errorf("the subscriber gets %v, %v", u, err)
		}
	})
}

// A call whose entry is acknowledged late starts after one more append, and if that is late too, after the session has stood still.
func TestLateAcknowledgement(t *testing.T) {
	for lates, want := range []int{0, 1, 2} {
		synctest.Test(t, func(t *testing.T) {
			b, s := newShared(t)
			defer b.close()
			id := b.session("sim/claude", provider.High)
			b.agent(id)
			s.set(func(s *shared) { s.lates = lates })
			if e := b.turn(id, "x"); e.End.StopReason != session.StopEndTurn {
				t.Errorf("the turn ends with %+v", e.End)
			}
			check(t, "calls", len(b.fake.requests), 1)
			check(t, "appends without entries", s.empties, want)
		})
	}
}

// A node that was cut off for long ends what runs, without a word in the log. The next holder of the log ends the turn.
func TestAbandon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := newShared(t, events(time.Hour))
		defer b.close()
		id, idle := b.session("sim/claude", provider.High), b.session("sim/claude", provider.High)
		a, other := b.agent(id), b.agent(idle)
		if _, err := a.Prompt(t.Context(), text("x")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		sub, err := a.Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.set(func(s *shared) { s.cut = true })
		b.group.Abandon()
		<-a.Done()
		if _, err := sub.TryNext(); !errors.Is(err, session.ErrCutOff) {
			t.Errorf("the subscriber gets %v", err)
		}
		select {
		case <-other.Done():
			t.Error("a session in which nothing runs ends")
		default:
		}
		s.set(func(s *shared) { s.cut = false })
		page, _, err := b.agent(id).History(t.Context(), Page{Limit: 10})
		if err != nil || len(page) != 1 {
			t.Errorf("the history has %d messages, %v", len(page), err)
		}
		check(t, "calls", len(b.fake.requests), 1)
	})
}

// Sessions leave when their turn has ended. A queue that is to run is handed over, and one that is held is not.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := newShared(t, events(concat([]any{time.Minute}, say("Say."), []any{ended})...))
		defer b.close()
		idle, busy := b.session("sim/claude", provider.High), b.session("sim/claude", provider.High)
		sub, err := b.agent(idle).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		a := b.agent(busy)
		for _, words := range []string{"x", "y"} {
			if _, err := a.Prompt(t.Context(), text(words)); err != nil {
				t.Fatal(err)
			}
		}
		var moved []session.ID
		drained := testgo.Go(t, func() {
			b.group.Drain(t.Context(), func(ref session.Ref, epoch uint64) { moved = append(moved, ref.ID) })
		})
		synctest.Wait()
		if b.group.Holds(session.Ref{ID: idle}) || !b.group.Holds(session.Ref{ID: busy}) {
			t.Error("the idle session stays, or the busy one leaves")
		}
		elsewhere := (*session.ElsewhereError)(nil)
		if err := b.group.Open(t.Context(), session.Ref{ID: idle}); !errors.As(err, &elsewhere) {
			t.Errorf("a session that has left: %v", err)
		}
		if _, err := sub.TryNext(); !errors.As(err, &elsewhere) {
			t.Errorf("its subscriber gets %v", err)
		}
		<-drained
		check(t, "handed over", moved, []session.ID{busy})
		check(t, "logs that were handed over", s.handed, 1)
		check(t, "calls", len(b.fake.requests), 1)

		// At the next node the queue runs, unless it was held.
		b.group.Close()
		b.start()
		synctest.Wait()
		check(t, "calls before the session is opened", len(b.fake.requests), 1)
		if err := b.group.Open(t.Context(), session.Ref{ID: busy}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		check(t, "calls at the next node", len(b.fake.requests), 2)
	})
}
