package agent

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/agent/fault"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/gate"
	"github.com/thinkd/thinkd/agent/report"
	"github.com/thinkd/thinkd/agent/stored"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// endTurn ends the running turn: what is open is closed as incomplete, and all ends are one commit. before are facts
// that belong there too.
func (s *state) endTurn(end session.TurnEnd, incomplete session.Incomplete, before ...fact) {
	r := s.run
	s.stopCall(nil, callEnd{fault: string(end.StopReason)})
	before = append(before, s.dropCompaction(nil)...)
	if r.retry != nil {
		r.retry.Stop()
	}
	facts := slices.Concat(before, s.closeMessage(end.StopReason, incomplete), s.leftOver())
	s.leaveGate()
	s.dropRound(nil)
	end.Usage = r.usage // with what closeMessage counts
	end.DurationMS = r.ran(s.cfg.Now()).Milliseconds()
	if use := r.cacheUse; use.Expected > 0 {
		end.Cache = &use
	}
	facts = append(facts, fact{r.ID, nil, feed.UsageTotal{Usage: s.usage()}})
	if len(s.view.Turns) > 0 && s.view.Turns[0] == r.Turn || s.titled == r.ID || s.titled != "" && slices.Contains(r.Took, s.titled) {
		title := s.view.Session.Title
		facts = append(facts, fact{"", nil, feed.SessionUpdate{Title: &title}})
	}
	facts = append(facts, endFact(r.ID, end))
	for _, id := range r.Took {
		facts = append(facts, fact{id, nil, feed.TurnEnd{TurnEnd: session.TurnEnd{StopReason: end.StopReason}, Into: r.ID}})
	}
	if s.record(facts...) != nil {
		return
	}
	s.cfg.parks.Leave(s.ref)
	s.report(end)
	s.run = nil
	s.measure()
	s.wakeWaiters(r.ID)
	for _, steered := range r.Took {
		s.wakeWaiters(steered)
	}
}

// report tells of the running turn, whose end is on disk.
func (s *state) report(end session.TurnEnd) {
	if s.cfg.Ended == nil {
		return
	}
	r := s.run
	s.cfg.Ended(report.Turn{Session: s.id, Turn: r.ID, Model: r.ref(), Reasoning: r.decision, Begun: r.begun,
		Ended: s.cfg.Now(), Calls: r.calls, Again: r.again, End: end})
}

// interrupt ends the running turn, or the summary between two turns, since the daemon goes down. A parked turn stays parked.
func (s *state) interrupt() {
	switch {
	case s.run == nil:
		_ = s.stopCompaction(feed.ErrClosed) // record has logged the error
	case !s.parked():
		s.queue.Held = true // the queue waits for the next start
		s.endTurn(session.TurnEnd{StopReason: session.StopInterrupted}, session.Interrupted)
	}
}

// stopCompaction ends a summary that a client asked for between turns, if there is one, and records what it used. The client that waits
// gets the cause.
func (s *state) stopCompaction(cause error) error {
	if facts := s.dropCompaction(cause); len(facts) > 0 {
		return s.record(append(facts, fact{"", nil, feed.UsageTotal{Usage: s.usage().Add(facts[0].body.(session.Compaction).Usage)}})...)
	}
	return nil
}

// overLimit ends the turn since it ran away.
func (s *state) overLimit(which string) {
	s.endTurn(session.TurnEnd{StopReason: session.StopLimit, Limit: which}, session.Cancelled)
}

// overQuota ends the turn because the quota of its user has no room for its call, or because nobody can tell what the user has used.
func (s *state) overQuota(err error) {
	which := "quota"
	if e, ok := errors.AsType[*gate.Exceeded](err); ok {
		which = e.Which
		s.tell(s.run.ID, warn(noticeBudgetReached, e.Error()))
	} else if e, ok := errors.AsType[*stored.Full](err); ok {
		which = "stored_bytes"
		s.tell(s.run.ID, warn(noticeBudgetReached, e.Error()))
	} else {
		s.log.Error("a quota cannot be checked", "err", err)
		s.tell(s.run.ID, warn(noticeBudgetReached, "your quota cannot be checked at the moment"))
	}
	s.overLimit(which)
}

// bounds returns the limits that apply, each with its use so far. It estimates the use of the running call.
func (s *state) bounds() []budget.Bound {
	r, l := s.run, s.cfg.Limits
	if !l.budgeted() {
		return nil
	}
	now := r.estimate.Usage()
	now.Cost = r.priced().Price.Cost(now, s.cfg.Now())
	turn := budget.Of(r.usage).Plus(budget.Of(now))
	all := s.others().Plus(budget.Of(now))
	list := append(l.TurnBudget.Bounds("turn", turn, &r.near), l.SessionBudget.Bounds("session", all, &s.notified.near)...)
	return slices.DeleteFunc(list, func(b budget.Bound) bool { return b.Most == 0 })
}

// affordable ends the turn where a budget is used up, and tells where one nearly is. So a runaway ends in the middle of
// its answer, and a call that is too large is not made.
func (s *state) affordable() bool {
	for _, b := range s.bounds() {
		if b.Used >= b.Most {
			s.tell(s.run.ID, warn(noticeBudgetReached, fmt.Sprintf("the %s's budget of %s is used up", b.Whose, b.Words())))
			s.overLimit(b.Limit)
			return false
		}
	}
	s.noticeNearBudget()
	return true
}

// others is what the session has used, without the running call.
func (s *state) others() budget.Used {
	switch {
	case s.ready != nil && s.ready.pass != nil:
		return s.ready.pass.Others()
	case s.run != nil && s.run.pass != nil:
		return s.run.pass.Others()
	}
	return s.sum.Used()
}

// noticeNearBudget tells once of each budget that is nearly used up.
func (s *state) noticeNearBudget() {
	for _, b := range s.bounds() {
		if share := float64(b.Used) / float64(b.Most); share >= budget.Near && !*b.Told {
			*b.Told = true
			s.tell(s.run.ID, warn(noticeBudgetNear,
				fmt.Sprintf("%d %% of the %s's budget of %s is used", int(100*share), b.Whose, b.Words())))
		}
	}
}

// closeBlocks ends what is open, as far as it came. Kept, it can be shown, and text can be sent; void, it is only
// ended. Of half a tool call nothing is kept: it is of use to nobody.
func (s *state) closeBlocks(keep bool) []fact {
	m := &s.run.reply
	var facts []fact
	for _, b := range m.seen() {
		f := fact{turn: s.run.ID}
		said := b.soFar()
		switch block := said.(type) {
		case provider.Thinking:
			block.Duration = s.cfg.Now().Sub(b.begun).Truncate(time.Millisecond)
			said, f.event = block, thinkingEnd(m.id, b.number, block)
		case provider.Text:
			f.event = feed.TextEnd{Message: m.id, Block: b.number, Text: block.Text, Sources: nil}
		}
		if keep {
			f.body = session.Sealed{Message: m.id, Number: b.number, Block: said}
		}
		facts = append(facts, f)
	}
	m.open = nil
	return facts
}

// closeMessage ends a reply that is still open as incomplete.
func (s *state) closeMessage(reason session.StopReason, incomplete session.Incomplete) []fact {
	m := &s.run.reply
	if m.id == "" {
		return nil
	}
	usage := s.unmetered()
	facts := s.closeBlocks(true)
	by := s.run.answering.by
	facts = append(facts, fact{s.run.ID, session.MessageEnd{Message: m.id, StopReason: reason, Usage: usage, Incomplete: incomplete, Served: by},
		feed.MessageEnd{Message: m.id, StopReason: reason, Usage: usage, Cited: nil, Served: m.corrected(by)}})
	*m = reply{}
	return facts
}

// leftOver gives every call of the turn that has no result one that says so, and takes open questions back: a history
// with a call that nothing answers is refused by every vendor.
func (s *state) leftOver() (facts []fact) {
	r := s.run
	var calls []*toolCall
	if r.round != nil {
		calls = r.round.calls
	}
	for _, c := range calls {
		if c.asked != nil {
			facts = append(facts, s.resolve(c, session.Deny, nil, feed.ByTurnEnd, "")...)
		}
	}
	made := make(map[session.MessageID][]session.Call)
	for _, end := range r.Turn.Unanswered() {
		known := false
		if r.round != nil && end.Reply == r.round.reply {
			end.Message = r.round.results
			known = calls[end.Number].announced
			if rest := calls[end.Number].output.Take(); rest != "" {
				facts = append(facts, fact{r.ID, nil, feed.ToolOutput{CallID: end.CallID, Chunk: rest}})
			}
			s.ran(calls[end.Number], report.ToolNoResult)
			if begun := calls[end.Number].begun; !begun.IsZero() {
				end.DurationMS = s.cfg.Now().Sub(begun).Milliseconds()
			}
		}
		if !known {
			if made[end.Reply] == nil {
				made[end.Reply] = r.Turn.Message(end.Reply).Calls()
			}
			facts = append(facts, fact{r.ID, nil, toolStart(end.Reply, made[end.Reply][end.Number], "", "")})
		}
		facts = append(facts, fact{r.ID, end, feed.ToolEnd{ToolEnd: end}})
	}
	return facts
}

// unmetered is what a call has used that ended without the vendor's counts: an estimate, if the vendor had begun to
// answer. A call that was refused, or never reached the vendor, costs nothing.
func (s *state) unmetered() provider.Usage {
	if !s.run.answered || s.run.reply.id == "" {
		s.run.estimate = budget.Estimate{}
		return provider.Usage{}
	}
	return s.run.metered(provider.Usage{}, s.cfg.Now())
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
	if m.id != "" && (len(void) > 0 || usage.Input+usage.Output > 0) { // the vendor bills discarded blocks too
		facts = append(facts, fact{s.run.ID, session.Retry{Message: m.id, Discarded: void, Usage: usage}, nil})
	}
	*m = reply{id: m.id, served: m.served, next: m.next}
	s.run.lastTool, s.run.same = s.run.toolBefore, s.run.sameBefore
	return facts, void
}

// failure is an error in words for clients. What is not known here is an internal error: the log has it by ref.
func (s *state) failure(err error) *session.Failure {
	if pe, ok := errors.AsType[*provider.Error](err); ok {
		return &session.Failure{Kind: string(pe.Kind), Message: pe.Error(), Status: pe.Status,
			RetryAfterMS: pe.RetryAfter.Milliseconds(), RequestID: pe.RequestID}
	}
	if ie, ok := errors.AsType[*fault.Error](err); ok {
		return &session.Failure{Kind: "internal", Message: "internal error", Ref: ie.Ref}
	}
	if se, ok := errors.AsType[*provider.StorageError](err); ok {
		return &session.Failure{Kind: string(provider.KindBadRequest), Message: se.Error()}
	}
	if le, ok := errors.AsType[*provider.LevelError](err); ok {
		return &session.Failure{Kind: string(provider.KindBadRequest), Message: le.Error()}
	}
	ie := fault.New()
	s.log.Error("turn failed", "ref", ie.Ref, "err", err)
	return &session.Failure{Kind: "internal", Message: "internal error", Ref: ie.Ref}
}

// refuseOther ends the turn, since its session takes no other model. The answer so far is discarded. The vendor bills the
// request without reporting its usage, so the usage is estimated.
func (s *state) refuseOther(err *provider.Error) {
	r := s.run
	s.stopCall(err, callEnd{fault: string(err.Kind)})
	var before []fact
	if r.reply.id == "" { // else it is that of the message
		before = []fact{{r.ID, session.Settled{Usage: r.metered(provider.Usage{}, s.cfg.Now())}, nil}}
	}
	discarded, _ := s.discard()
	facts := append(before, discarded...)
	s.endTurn(session.TurnEnd{StopReason: session.StopError, Error: s.failure(err)}, session.Failed, facts...)
}

// limitDeadline is how turn_end names the deadline of a prompt.
const limitDeadline = "deadline"

// timeIsUp ends the running turn if it has had its time, or if its deadline has come. It reports whether it has.
func (s *state) timeIsUp(now time.Time) bool {
	r := s.run
	switch d := r.Prompt.Deadline; {
	case now.Sub(r.begun) >= s.cfg.patient(r.model.Provider).TurnTime:
		s.overLimit("time")
	case d != 0 && now.UnixMilli() >= d:
		s.overLimit(limitDeadline)
	default:
		return false
	}
	return true
}
