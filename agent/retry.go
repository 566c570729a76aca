package agent

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/agent/fallback"
	"github.com/thinkd/thinkd/agent/media"
	"github.com/thinkd/thinkd/agent/summary"
	"github.com/thinkd/thinkd/agent/suspect"
	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/refusal"
	"github.com/thinkd/thinkd/session"
)

// failed decides what a failed call means. The first of these that applies is taken:
//
//  1. the daemon ends: the turn is interrupted;
//  2. clients have seen text of the answer: the next link of the chain goes on from there (fallBack), or the turn ends, because a
//     second answer would contradict the first (except for an answer that broke off in a tool call, see reply.repeatable, or a form of
//     output that the vendor refuses);
//  3. the error names a repair of the history: the call is made again with it, and so are all later calls (repair);
//  4. the request was too long: earlier turns are summarised, once a turn (compactAfter);
//  5. the error passes: the call is made again after a wait (turn.wait, retryAfter), fewer times if the turn can fall back;
//  6. the chain of the turn has a link that was not tried: the call is made with it (fallBack, package fallback);
//  7. the error passes later, and the operator lets turns wait that long: the turn is parked (park);
//  8. something in the history may be the reason: the call is made again without it (tryWithout, package suspect);
//  9. the turn ends with the error.
//
// Each repeated call discards what the failed one has said (discard). What it used is paid for and counts.
func (s *state) failed(err error) {
	r := s.run
	s.stopCall(err, callEnd{fault: s.faultOf(err)})
	if s.ctx.Err() != nil { // the agent is to end, and that is what ended the call
		s.interrupt()
		return
	}
	var facts []fact
	pe, ok := errors.AsType[*provider.Error](err)
	switch {
	case !ok:
	case r.reply.repeatable() || pe.Subject == provider.SubjectOutput:
		s.learnRetired(pe)
		if s.repair(pe) || s.ended != nil || s.compactAfter(pe) {
			return
		}
		if wait, again := r.wait(pe); again && !s.leaves(pe, wait) {
			s.retryAfter(wait, pe)
			return
		}
		if s.fallBack(pe) || s.park(s.soonest(pe)) || s.tryWithout(pe) {
			return
		}
		facts = s.unsend(pe)
	case s.fallBack(pe):
		return
	}
	if ok {
		err = s.soonest(pe)
	}
	s.endTurn(session.TurnEnd{StopReason: session.StopError, Error: s.failure(err)}, session.Failed, facts...)
}

// soonest is the error of a call for which all links of the chain have failed: that of the link which can be called again first.
func (s *state) soonest(pe *provider.Error) *provider.Error {
	r, now := s.run, s.cfg.Now()
	if len(r.failures) == 0 || fallback.RuleOf(pe.Kind) == fallback.Never {
		return pe
	}
	return fallback.Soonest(append(slices.Clip(r.failures), fallback.Failure{Link: r.link(), Err: pe, At: now}), now)
}

// repair sends the history in another form from now on, if the error names a form that is not used yet.
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
	before := s.conversation().cached(s.before(), s.run.choice)
	if s.record(facts...) != nil {
		return true
	}
	if pe.Learned != nil && s.cfg.Learned != nil {
		s.cfg.Learned(s.run.ref(), *pe.Learned)
	}
	if after := s.conversation().cached(s.before(), s.run.choice); after.State == provider.CacheLost && before.State != provider.CacheLost {
		s.tell(s.run.ID, inform(noticeCacheLost, after.Why))
	}
	s.callAgain()
	return true
}

// compactAfter summarises earlier turns since a call was refused as too long, once a turn, and makes the call again.
func (s *state) compactAfter(pe *provider.Error) bool {
	r := s.run
	if pe.Kind != provider.KindTooLong || r.overflowed || s.conversation().futile() {
		return false
	}
	p, ok := s.planned(transcript.KeptAsked)
	if !ok {
		return false
	}
	r.overflowed = true
	// The window may be smaller than the row says, or not be known: half of what was too long fits rather.
	p.Shorten(s.conversation().estimateOf(r.ref(), s.request()).Sent / 2)
	facts, void := s.discard()
	if len(void) > 0 {
		facts = append(facts, r.retryFact(0, pe, void))
	}
	if s.record(facts...) != nil {
		return true
	}
	if b := budget.Exceeded(s.bounds(), summary.Cost(s.summaryModel(), p, s.cfg.Now())); b != nil {
		s.tell(r.ID, warn(noticeBudgetReached, fmt.Sprintf("the %s's budget of %s has no room for a summary of what is too long", b.Whose, b.Words())))
		s.overLimit(b.Limit)
		return true
	}
	s.compact(p, func(err error) {
		if err == nil {
			s.callAgain()
			return
		}
		if s.tryWithout(pe) {
			return
		}
		end := session.TurnEnd{StopReason: session.StopError, Error: s.failure(pe)}
		end.Error.Message += "; and the earlier messages could not be summarised: " + s.failure(err).Message
		s.endTurn(end, session.Failed, s.unsend(pe)...)
	})
	return true
}

// retryAfter makes the call again after a wait. What the failed call said is discarded.
func (s *state) retryAfter(wait time.Duration, pe *provider.Error) {
	r := s.run
	facts, void := s.discard()
	if s.record(append(facts, r.retryFact(wait, pe, void))...) == nil {
		r.retry = time.NewTimer(wait)
	}
}

// leaves reports whether a call that could be made again on its host goes to the next link of the chain instead.
func (s *state) leaves(pe *provider.Error, wait time.Duration) bool {
	if !fallback.Leaves(pe.Kind, s.run.tries, wait) {
		return false
	}
	_, ok := s.nextLink()
	return ok
}

// nextLink is the choice to make the running call with after its link has failed. The first choice is the last to be tried while its
// pause is not over. ok is false if every link that can be called was tried.
func (s *state) nextLink() (c choice, ok bool) {
	r, v := s.run, s.conversation()
	v.trial = nil
	set, o := r.Prompt.Settings(s.view.Session.Settings), r.Prompt.Override
	chain := v.chain(r.first, set, o)
	paused := r.instead != nil && s.cfg.Now().UnixMilli() < r.instead.Until
	tried := func(l session.Link) bool {
		return l.At() == r.link() || slices.ContainsFunc(r.failures, func(f fallback.Failure) bool { return f.Link == l.At() })
	}
	may := func(l session.Link) bool {
		at, err := v.decideLink(l, r.first, set, o)
		if at.asked = r.asked; err == nil {
			err = v.settleOptions(&at) // a turn keeps its options, even if the session's have changed
		}
		if err != nil || v.callable(at) != nil || media.Check(media.For(at.provider, at.model), r.Prompt.Content) != nil {
			return false
		}
		c = at
		return true
	}
	if _, ok = fallback.Next(chain, func(l session.Link) bool { return paused && l == chain[0] || tried(l) }, may); !ok {
		_, ok = fallback.Next(chain, tried, may)
	}
	return c, ok
}

// fallBack makes the failed call with the next link of the turn's chain. The switch is in the log before the call is made. Text that
// clients have seen stays: the next answer goes on from there. All else of the failed answer is discarded, as before a retry.
func (s *state) fallBack(pe *provider.Error) bool {
	if fallback.RuleOf(pe.Kind) == fallback.Never {
		return false
	}
	next, ok := s.nextLink()
	if !ok {
		return false
	}
	r, was := s.run, s.run.choice
	seen := !r.reply.repeatable()
	var facts []fact
	if !seen {
		var void []int
		if facts, void = s.discard(); len(void) > 0 {
			facts = append(facts, r.retryFact(0, pe, void))
		}
	}
	facts = append(facts, s.closeMessage(session.StopError, session.Failed)...)
	if next.link() != next.first.At() {
		if next.instead = was.instead; next.instead == nil {
			next.instead = fallback.Failed(next.first, s.failedBefore(), pe.RetryAfter, s.cfg.Now())
		}
	}
	why := s.failure(pe)
	if s.record(append(facts, fact{r.ID, session.FellBack{TurnStart: next.start(), Why: *why, Continues: seen}, nil})...) != nil {
		return true
	}
	r.failures = append(r.failures, fallback.Failure{Link: was.link(), Err: pe, At: s.cfg.Now()})
	r.choice, r.reply, r.answering, r.substitute = next, reply{}, answering{}, ""
	r.thought, r.noticed, r.overflowed, r.unsummed = false, nil, false, false
	if r.calls = max(r.calls, 1); was.model.Provider != next.model.Provider {
		r.paidBy = nil
	}
	s.tellAt(r.Steps[len(r.Steps)-1].Time, r.ID, s.fellBack(was, why, seen))
	if s.noticeModel(); s.ended == nil {
		s.newCall()
	}
	return true
}

// failedBefore is what the turn before kept of the first choice, if that has not answered in this turn.
func (s *state) failedBefore() *session.Instead {
	if slices.ContainsFunc(s.run.Messages, func(m *session.Message) bool { return m.End != nil && m.End.Incomplete == "" }) {
		return nil
	}
	if last := s.conversation().lastStart(s.run.Turn); last != nil {
		return last.Instead
	}
	return nil
}

// park makes the turn wait for its vendor, if the operator allows that.
func (s *state) park(pe *provider.Error) bool {
	r, limit := s.run, s.cfg.Limits.Park
	if limit <= 0 {
		return false
	}
	p, ok := s.cfg.parks.Failed(pe, r.stuck, limit, s.cfg.Now())
	if !ok {
		return false
	}
	p.Payer, p.Error = r.paidBy, s.failure(pe)
	facts, void := s.discard()
	if len(void) > 0 {
		facts = append(facts, r.retryFact(max(time.UnixMilli(p.Until).Sub(s.cfg.Now()), 0), pe, void))
	}
	facts = append(facts, s.closeMessage(session.StopError, session.Failed)...)
	r.reply, r.stuck = reply{}, &p
	s.parkTurn(p, facts...)
	return true
}

// tryWithout makes a refused call again without some of the suspects; false if there is nothing left to try.
func (s *state) tryWithout(pe *provider.Error) bool {
	r := s.run
	if r.suspects == nil {
		r.suspects = new(suspect.Find(suspect.Call{To: s.conversation().share(r.ref()), Turn: r.Turn, Level: r.decision.Effective, Address: r.address}, pe))
	}
	if r.trial = nil; len(r.suspects.Trials) == 0 || r.again >= maxRetries || !suspect.Suspicious(pe) {
		return false
	}
	facts, void := s.discard()
	r.trial, r.suspects.Trials = &r.suspects.Trials[0], r.suspects.Trials[1:]
	if s.recordCall(r.ID, r.choice, append(facts, r.retryFact(0, pe, void))...) == nil {
		s.callAgain()
	}
	return true
}

// unsend leaves this turn's suspects out of later requests, because the turn ends with a refusal and no trial helped.
func (s *state) unsend(pe *provider.Error) []fact {
	r := s.run
	if r.suspects == nil || len(r.suspects.Own) == 0 || !refusal.BlamesHistory(pe) {
		return nil
	}
	return []fact{leaveOut(r.ID, session.LeftOut{Model: r.ref(), Messages: r.suspects.Own, Why: pe.Error()})}
}

func leaveOut(turn session.TurnID, l session.LeftOut) fact {
	text := fmt.Sprintf("%d messages are not sent to %s any more", len(l.Messages), l.Model)
	switch {
	case len(l.Messages) == 0:
		text = fmt.Sprintf("media and results of tools in %d messages are not sent to %s any more, but a sentence in their place", len(l.Emptied), l.Model)
	case len(l.Messages) == 1:
		text = fmt.Sprintf("1 message is not sent to %s any more", l.Model)
	}
	return fact{turn, l, warn(noticeLeftOut, text+", because its provider refused the request: "+l.Why)}
}

// learnRetired reports the model as retired after a refusal, if its date of retirement has passed.
func (s *state) learnRetired(pe *provider.Error) {
	m := s.run.model
	l := m.Lifecycle
	if s.cfg.Learned == nil || pe.Subject != provider.SubjectModel || pe.Status < 400 || l == nil || l.Gone {
		return
	}
	if l.State == provider.LifecycleRetired || l.Retires != "" && l.Retires <= s.cfg.Now().UTC().Format(time.DateOnly) {
		s.cfg.Learned(s.run.ref(), provider.Learned{Retired: true})
	}
}
