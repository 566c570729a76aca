package agent

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/thinkd/thinkd/agent/aside"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/summary"
	"github.com/thinkd/thinkd/session"
)

// start loads a session and runs it until Close, until ctx ends, or until it has been idle for Limits.Idle. A turn that a crash left
// open is closed first. The update numbers up to used are taken, whatever the log says. While there are users, it is not idle. The agent's
// goroutine calls after when the agent has ended.
func start(ctx context.Context, ref session.Ref, cfg Config, used uint64, users *atomic.Int32, after func()) (*Agent, error) {
	cfg = cfg.withDefaults()
	ctx, stop := context.WithCancelCause(ctx)
	s, err := load(ctx, ref, cfg)
	if err != nil {
		stop(err)
		return nil, err
	}
	s.users = users
	s.asides = new(aside.Desk)
	if used > 0 {
		s.feed = feed.New(ref.ID, max(s.feed.Seq(), session.NextBase(used)))
	}
	s.inbox, s.cancels = make(chan request), make(chan *cancel)
	a := &Agent{id: ref.ID, inbox: s.inbox, cancels: s.cancels, done: make(chan struct{}), stop: stop, live: &s.live, busy: &s.busy, size: &s.size, departs: &s.departs}
	go func() { // ends after stop, or when s.ended is set; Close waits on done, and that of a group for all of it
		a.loop(ctx, s)
		after()
	}()
	return a, nil
}

// loop is where an idle session waits. Go halves the stack of a goroutine that uses less than a quarter of it, about 1,200 bytes of 8 KiB, which
// a large value in this frame would prevent: 4 KiB for each attached session.
func (a *Agent) loop(ctx context.Context, s *state) {
	defer close(a.done)
	defer a.stop(feed.ErrClosed)
	defer func() {
		if err := s.owned.Release(context.WithoutCancel(ctx)); err != nil {
			s.log.Warn("the log is not released", "err", err)
		}
	}()
	defer func() {
		if s.cfg.loaded != nil && !(s.mayReturn && s.view.Session.Settings.KeepAlive != "") {
			a.unload = s.cfg.loaded.Leave(s.id)
		}
	}()
	defer s.waitForCalls()
	period := s.period()
	tick := time.NewTicker(period)
	defer tick.Stop()
	always := make(chan struct{})
	close(always)
	for ; s.ended == nil; s.guard(s.endCancelled) {
		s.noteStatus()
		s.viewers.Store(int32(s.feed.Subscribers()))
		if s.run == nil || s.parked() {
			s.feed.Forget()
		}
		var start chan struct{} // ready while a queued turn is to start, so that the loop comes round
		if s.mayStart() {
			start = always
		}
		if p := s.period(); p != period {
			period = p
			tick.Reset(p)
		}
		if s.standsStill() {
			a.stand(ctx, s, tick)
			continue
		}
		select {
		case r := <-a.inbox:
			s.serve(r)
		case <-s.stepped():
			s.act(s.step)
		case sum := <-s.summed():
			s.act(func() { s.compacted(*sum) })
		case f := <-s.news():
			s.act(f)
		case <-s.outputGrew():
			s.act(s.publishOutput)
		case <-s.retryTime():
			s.act(s.callAgain)
		case <-tick.C:
			s.act(func() { s.tick(s.cfg.Now()) })
		case <-start:
		case <-ctx.Done():
			s.guard(s.interrupt)
			s.end(context.Cause(ctx))
		}
		if !s.standsStill() {
			s.guard(s.keepNumber)
			s.guard(s.endCancelled)
			s.guard(s.startNext)
			s.guard(a.moveOn(ctx, s))
		}
	}
	s.closeAll()
	if s.failedToKeep {
		a.lastSeq = s.feed.Seq()
	}
}

// stand is one round of the loop while the session stands still.
func (a *Agent) stand(ctx context.Context, s *state, tick *time.Ticker) {
	select {
	case r := <-a.inbox:
		s.serve(r)
	case <-tick.C:
		s.guard(func() {
			if err := s.confirm(); err != nil {
				s.log.Debug("the session stands still", "err", err)
			}
		})
	case <-ctx.Done():
		s.end(context.Cause(ctx)) // the next holder of the log ends the turn
	}
}

// serve answers a request. A cancel is answered by endCancelled, which follows.
func (s *state) serve(r request) {
	if c, ok := r.(*cancel); ok {
		s.halt(c)
		return
	}
	defer func() {
		if p := recover(); p != nil { // of confirm
			r.refuse(s.panicked(p))
		}
	}()
	if err := s.confirm(); err != nil {
		r.refuse(err)
		return
	}
	r.do(s)
}

// moveOn ends the agent of a session that leaves, as soon as nothing runs in it.
func (a *Agent) moveOn(ctx context.Context, s *state) func() {
	return func() {
		if !s.departs.Load() || s.ended != nil || s.works() || s.compacting != nil || s.asides.Running() > 0 {
			return
		}
		if s.moves != nil && s.queue.Len() > 0 && !s.queue.Held {
			if err := s.await(context.WithoutCancel(ctx), s.moves.HandOver); err != nil {
				s.storeFailed(err)
				return
			}
			a.handed, a.epoch = true, s.moves.Epoch()
		}
		s.end(new(session.ElsewhereError))
	}
}

// period is how often time is looked after: each second while a turn works, else now and then. The group looks after parked turns. A session
// that another node may claim looks whether that has happened.
func (s *state) period() time.Duration {
	idle := max(s.cfg.Limits.Idle/10, time.Millisecond)
	switch {
	case s.works():
		return time.Second
	case s.standsStill():
		return min(idle, standing)
	case s.moves != nil:
		return min(idle, looks)
	}
	return idle
}

// tick looks after time: stalls, limits, and idleness.
func (s *state) tick(now time.Time) {
	if s.works() {
		s.used = now
		s.watch(now)
		return
	}
	if err := s.writable(); err != nil {
		s.log.Debug("the turn that a crash left open is still open in the store", "err", err)
	}
	s.feed.Prune()
	s.pruneWaiters()
	if s.users.Load() > 0 || s.feed.Subscribed() || len(s.waiters) > 0 || s.compacting != nil || s.asides.Running() > 0 {
		s.used = now
	}
	if now.Sub(s.used) >= s.cfg.Limits.Idle {
		s.rest()
	}
}

// rest ends the agent of a session in which nothing happens, to free its memory. The next call loads it again.
func (s *state) rest() {
	s.mayReturn = true
	s.end(feed.ErrClosed)
}

// stepped has a token when the running call sent something, nil between calls.
func (s *state) stepped() <-chan struct{} {
	if s.run == nil || s.run.call == nil {
		return nil
	}
	return s.run.call.steps.Ready()
}

// summed is where the summary comes, nil while none is on its way.
func (s *state) summed() chan *summary.Result {
	if s.compacting == nil {
		return nil
	}
	return s.compacting.said
}

// news is what calls have to say, nil between rounds.
func (s *state) news() chan func() {
	if s.run == nil || s.run.round == nil {
		return nil
	}
	return s.run.round.news
}

// outputGrew has a token when publishOutput has something to tell, nil between rounds.
func (s *state) outputGrew() chan struct{} {
	if s.run == nil || s.run.round == nil {
		return nil
	}
	return s.run.round.grew
}

// retryTime is when the awaited retry is due, nil if none is.
func (s *state) retryTime() <-chan time.Time {
	if s.run == nil || s.run.retry == nil {
		return nil
	}
	return s.run.retry.C
}

// callsEnd is how long the end of an agent waits for the goroutines of its calls, after their context has ended. A tool that
// does not heed its context is left behind: the daemon has to end, and its results are not read any more.
const callsEnd = 4 * time.Second

func (s *state) waitForCalls() {
	ended := make(chan struct{})
	go func() { // ends with the last call
		defer close(ended)
		s.calls.Wait()
	}()
	late := time.NewTimer(callsEnd)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
		s.cfg.Log.Error("a tool or a model call does not stop; the agent no longer waits for it", "session", s.view.Session.ID, "after", callsEnd)
	}
}

// closeAll releases all callers that wait.
func (s *state) closeAll() {
	s.guard(s.noteStatus)
	s.queue.Close()
	s.holds(0)
	for _, c := range s.cancelled { // the turn ends without them, or has ended
		c.refuse(feed.ErrClosed)
	}
	s.stopCall(feed.ErrClosed, callEnd{fault: string(session.StopInterrupted)})
	s.dropRound(feed.ErrClosed)
	s.dropCompaction(feed.ErrClosed)
	s.leaveGate()
	s.sum.Logged()
	s.cfg.parks.Abandon(s.ref)
	s.feed.Close(s.ended)
	for id := range s.waiters {
		s.wakeWaiters(id)
	}
}
