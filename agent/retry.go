package agent

import (
	"errors"
	mathrand "math/rand/v2"
	"slices"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Bounds of retries.
const (
	maxTries    = 5                // of one model call, the first included
	maxRetries  = 100              // of all model calls of a turn
	maxWait     = 60 * time.Second // a vendor that asks for more ends the turn
	backoff     = time.Second      // before the first retry, doubled with each further one
	backoffBusy = 2 * time.Second  // the same for a vendor that is overloaded, or limits the rate and names no time
	jitterShare = 0.2              // a wait of ours is up to this share shorter or longer
)

// failed decides what a failed call means: a repair and another call, a wait and another call, or the turn's end.
func (s *state) failed(err error) {
	r := s.run
	s.stopCall(err, callEnd{fault: s.faultOf(err)})
	if s.ctx.Err() != nil { // the agent is to end, and that is what ended the call
		s.interrupt()
		return
	}
	var facts []fact
	if pe, ok := errors.AsType[*provider.Error](err); ok && (r.reply.repeatable() || pe.Subject == provider.SubjectOutput) {
		s.learnRetired(pe)
		if s.repair(pe) || s.ended != nil || s.compactAfter(pe) {
			return
		}
		if wait, again := r.wait(pe); again {
			s.retryAfter(wait, pe)
			return
		}
		if s.tryWithout(pe) {
			return
		}
		facts = s.unsend(pe)
	}
	s.endTurn(session.TurnEnd{StopReason: session.StopError, Error: s.failure(err)}, session.Failed, facts...)
}

// repair sends the history in another form from now on, if the error names one that is not in force yet.
func (s *state) repair(pe *provider.Error) bool {
	inForce := func(r session.Repair) bool { return r.Repair == pe.Repair }
	if pe.Repair == "" || !s.run.mayRetry() || slices.ContainsFunc(s.view.Repairs, inForce) {
		return false
	}
	facts, void := s.discard()
	if len(void) > 0 { // people were shown something that is void now
		facts = append(facts, s.run.retryFact(0, pe, void))
	}
	facts = append(facts, fact{"", session.Repair{API: pe.API, Repair: pe.Repair}, nil},
		fact{s.run.ID, nil, warn(noticeRepaired,
			"the provider refused the history; from now on it is sent with the repair "+string(pe.Repair)+": "+pe.Message)})
	before := s.cached(s.before(), s.run.choice)
	if s.record(facts...) != nil {
		return true
	}
	if pe.Learned != nil && s.cfg.Learned != nil {
		s.cfg.Learned(s.run.ref(), *pe.Learned)
	}
	if after := s.cached(s.before(), s.run.choice); after.State == provider.CacheLost && before.State != provider.CacheLost {
		s.tell(s.run.ID, inform(noticeCacheLost, after.Why))
	}
	s.callAgain()
	return true
}

// mayRetry reports whether the budget of retries has one left for the running call.
func (r *turn) mayRetry() bool { return r.tries < maxTries && r.again < maxRetries }

// wait says whether the call is made again, and after how long. A time that the vendor names comes first.
func (r *turn) wait(pe *provider.Error) (time.Duration, bool) {
	base := backoff
	switch {
	case pe.Hint == provider.HintFinal, !r.mayRetry(), pe.RetryAfter > maxWait:
		return 0, false
	case pe.Hint == provider.HintRetry:
	case !pe.Passing():
		return 0, false
	case pe.Kind != provider.KindOverloaded && pe.Kind != provider.KindRateLimit && pe.Kind != provider.KindTransport:
		return 0, false
	}
	if pe.RetryAfter > 0 {
		return pe.RetryAfter, true
	}
	if pe.Kind == provider.KindOverloaded || pe.Kind == provider.KindRateLimit {
		base = backoffBusy
	}
	return jitter(base << (r.tries - 1)), true
}

// jitter spreads a wait, so that many clients do not come back at once.
func jitter(wait time.Duration) time.Duration {
	return time.Duration(float64(wait) * (1 - jitterShare + 2*jitterShare*mathrand.Float64()))
}

// retryAfter makes the call again after a wait; what it had said is void.
func (s *state) retryAfter(wait time.Duration, pe *provider.Error) {
	r := s.run
	facts, void := s.discard()
	if s.record(append(facts, r.retryFact(wait, pe, void))...) == nil {
		r.retry = time.NewTimer(wait)
	}
}

func (r *turn) retryFact(wait time.Duration, pe *provider.Error, void []int) fact {
	return fact{r.ID, nil, feed.Retry{Attempt: r.again + 2, AfterMS: wait.Milliseconds(),
		Kind: pe.Kind, Message: pe.Error(), Discarded: void}}
}

// discard ends the open blocks and makes all of the reply so far void: it lists the numbers of those blocks. The
// message goes on with numbers above them.
func (s *state) discard() (facts []fact, void []int) { return s.void(s.unmetered()) }

// void is discard for a call that has used so much.
func (s *state) void(usage provider.Usage) (facts []fact, void []int) {
	m := &s.run.reply
	void = append([]int{}, m.sealed...)
	for _, b := range m.seen() {
		void = append(void, b.number)
	}
	slices.Sort(void)
	facts = s.closeBlocks(false)
	if m.id != "" && (len(void) > 0 || usage.Input+usage.Output > 0) { // what is void is paid for all the same
		facts = append(facts, fact{s.run.ID, session.Retry{Message: m.id, Discarded: void, Usage: usage}, nil})
	}
	*m = reply{id: m.id, next: m.next}
	s.run.lastTool, s.run.same = s.run.toolBefore, s.run.sameBefore
	return facts, void
}

// retryTime is when the awaited retry is due, nil if none is.
func (s *state) retryTime() <-chan time.Time {
	if s.run == nil || s.run.retry == nil {
		return nil
	}
	return s.run.retry.C
}

func (s *state) callAgain() {
	s.run.retry = nil
	s.run.again++
	s.run.tries++
	s.startCall()
}

// failure is an error in words for clients. What is not known here is an internal error: the log has it by ref.
func (s *state) failure(err error) *session.Failure {
	if pe, ok := errors.AsType[*provider.Error](err); ok {
		return &session.Failure{Kind: string(pe.Kind), Message: pe.Error(), Status: pe.Status,
			RetryAfterMS: pe.RetryAfter.Milliseconds(), RequestID: pe.RequestID}
	}
	if ie, ok := errors.AsType[*internalError](err); ok {
		return &session.Failure{Kind: "internal", Message: "internal error", Ref: ie.ref}
	}
	if le, ok := errors.AsType[*provider.LevelError](err); ok {
		return &session.Failure{Kind: string(provider.KindBadRequest), Message: le.Error()}
	}
	ie := newInternalError()
	s.log.Error("turn failed", "ref", ie.ref, "err", err)
	return &session.Failure{Kind: "internal", Message: "internal error", Ref: ie.ref}
}
