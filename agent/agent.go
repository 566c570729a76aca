package agent

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/gate"
	"github.com/thinkd/thinkd/agent/loaded"
	"github.com/thinkd/thinkd/agent/park"
	"github.com/thinkd/thinkd/agent/queue"
	"github.com/thinkd/thinkd/session"
)

// Agent runs one session. Its methods are safe for concurrent use; each waits only for the agent's goroutine and at
// most one commit of the store. After the agent has ended they return ErrClosed.
type Agent struct {
	id      session.ID
	inbox   chan request
	cancels chan *cancel  // read while the agent waits for its store
	done    chan struct{} // closed when the goroutine has ended
	stop    context.CancelCauseFunc
	live    *atomic.Value // Live
	busy    *atomic.Bool  // a turn runs
	size    *atomic.Int64 // bytes that the session holds, at the last look
	departs *atomic.Bool  // see state

	handed  bool // set before done is closed: the log was handed over, which had this
	epoch   uint64
	lastSeq uint64          // set before done is closed, if the store failed: the log may not know of it
	unload  []loaded.Unload // set before done is closed: of the models that no session uses any more
}

// Close interrupts a running turn, ends all subscriptions, and returns when the agent's goroutines have ended.
func (a *Agent) Close() error {
	a.stop(feed.ErrClosed)
	<-a.done
	return nil
}

// Done is closed when the agent has ended.
func (a *Agent) Done() <-chan struct{} { return a.done }

// ask runs f on the agent's goroutine and waits for its answer. If ctx ends first, f may still run. A panic in f is an
// internal error, never ErrClosed: what f did before may be on disk, so it must not be run again.
func ask[T any](ctx context.Context, a *Agent, f func(*state) (T, error)) (T, error) {
	q := newInquiry(f)
	var zero T
	select {
	case a.inbox <- q:
		return q.answer(ctx)
	case <-a.done:
		return zero, feed.ErrClosed
	case <-ctx.Done():
		return zero, context.Cause(ctx)
	}
}

// inquiry is the request for what f returns.
type inquiry[T any] struct {
	f       func(*state) (T, error)
	answers chan response[T] // one answer, also when nobody waits for it any more
}

type response[T any] struct {
	value T
	err   error
}

func newInquiry[T any](f func(*state) (T, error)) *inquiry[T] {
	return &inquiry[T]{f: f, answers: make(chan response[T], 1)}
}

func (q *inquiry[T]) do(s *state) {
	defer func() {
		if p := recover(); p != nil {
			q.refuse(s.panicked(p))
		}
	}()
	value, err := q.f(s)
	s.noteStatus() // before anybody can ask for it
	q.answers <- response[T]{value, err}
}

func (q *inquiry[T]) refuse(err error) { q.answers <- response[T]{err: err} }

func (q *inquiry[T]) answer(ctx context.Context) (T, error) {
	select {
	case r := <-q.answers:
		return r.value, r.err
	case <-ctx.Done():
		var zero T
		return zero, context.Cause(ctx)
	}
}

// load reads the log, and ends the turn that a crash left open. A parked turn stays parked. If the store accepts no writes at the moment, the turn ends only in
// the view, so that the session can be read. The next write, or the next tick, ends it in the store (writable).
func load(ctx context.Context, ref session.Ref, cfg Config) (*state, error) {
	now := cfg.Now()
	cfg.owner = ref.Owner
	s := &state{id: ref.ID, ref: ref, store: cfg.Store.For(ref.Owner), cfg: cfg, ctx: ctx, log: cfg.Log.With("session", ref.ID), used: now,
		queue: queue.New(cfg.queued), waiters: make(map[session.TurnID][]waiter), resolved: make(map[string]bool)}
	log, err := s.store.Claim(ctx, s.id)
	if err != nil {
		return nil, err
	}
	s.owned = log
	s.moves, _ = log.(session.Movable)
	if err := s.read(now); err != nil {
		return nil, errors.Join(err, log.Release(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// read makes the state of the log.
func (s *state) read(now time.Time) error {
	view, err := session.Load(s.ctx, s.store, s.id)
	if err != nil {
		return err
	}
	if t := view.Running(); t != nil && t.Parked == nil {
		view, err = s.recover(now)
		if err != nil {
			return err
		}
	}
	s.view = view
	if view.Session.Ephemeral {
		s.cfg.Blobs = nil // its log has its media
	}
	for _, t := range view.Queue() {
		s.queue.Add(t.ID, t.Prompt)
		view.Unload(t)
	}
	s.queue.Held = s.queue.Len() > 0 && (s.moves == nil || s.moves.Held())
	s.feed = feed.New(s.id, session.FirstSeq(view.LastSeq, s.owned.Epoch()))
	if t := view.Running(); t != nil {
		if err := s.restore(t, now); err != nil {
			return err
		}
	}
	used, err := s.cfg.Store.Ledger().Total(s.ctx, s.ref)
	if err != nil {
		return err
	}
	s.sum = gate.NewSum(used)
	s.measure()
	s.unlisted = s.moves != nil // the session may have been at a node that died, and lists show what that node said of it
	return nil
}

// restore makes the running turn of a parked one, as the log has it.
func (s *state) restore(t *session.Turn, now time.Time) error {
	c, err := s.conversation().started(t)
	if err != nil {
		return err
	}
	p := t.Parked
	s.run = &turn{Turn: t, choice: c, log: s.log.With("turn", t.ID), usage: t.Usage, restarted: p.Restarted, paidBy: cmp.Or(p.Payer, t.Now().Payer)}
	s.run.begun = now.Add(-s.run.ran(now))
	for _, m := range t.Messages {
		if m.End != nil {
			s.run.calls++
		}
	}
	switch p.Why {
	case session.ParkedQuota, session.ParkedOutage:
		s.run.stuck = p
		s.run.calls++ // the one that failed
	case session.ParkedBudget:
		s.run.calls++ // the one that was not made
	case session.ParkedApproval:
		if err := s.restoreRound(p.Asked, now); err != nil {
			return err
		}
	}
	s.cfg.parks.Restore(park.Restored(s.ref, t, s.cfg.Limits.Park))
	return nil
}

func (s *state) recover(now time.Time) (*session.View, error) {
	ends, err := session.LeftOpen(s.ctx, s.store, s.owned, s.id, now)
	if err != nil {
		return nil, err
	}
	if _, err = s.owned.Append(s.ctx, ends...); err != nil && !errors.Is(err, session.ErrReadOnly) {
		return nil, err
	}
	view, loadErr := session.Load(s.ctx, s.store, s.id)
	if err == nil || loadErr != nil || view.Running() == nil || view.Running().Parked != nil { // a failed write may be there after all
		return view, loadErr
	}
	s.unsaved = ends
	for _, e := range ends {
		if err := view.Apply(e); err != nil {
			return nil, err
		}
	}
	return view, nil
}
