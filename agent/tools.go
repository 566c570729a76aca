package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/thinkd/thinkd/agent/fault"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/relay"
	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// runTools starts a round: the calls of a complete reply, which run in parallel. facts are the end of that reply.
//
//	runTools ── goroutine: check arguments, host examines ──► judge ─┬─ refused, wrong ──► result at once
//	                                                                 ├─ needs a person ──► question ── Answer ─┐
//	                                                                 └─ may run ──► launch ◄───────────────────┘
//	                                                                                  └─ host, or client ──► finish
//
// After each result goOn looks whether it was the last one. Then it takes in the prompts that steer the turn, and calls the model
// again. A call has exactly one result: also if its turn ends before (leftOver), or if the daemon crashes (session.LeftOpen).
func (s *state) runTools(id session.MessageID, twice map[int]bool, facts []fact) {
	r := s.run
	if s.record(facts...) != nil {
		return
	}
	calls := r.Turn.Message(id).Calls()
	ctx, stop := context.WithCancelCause(s.ctx)
	rd := &round{reply: id, results: session.NewMessageID(), left: len(calls), ctx: ctx, stop: stop,
		news: make(chan func(), 1+len(calls)), grew: make(chan struct{}, 1)}
	for i, call := range calls {
		c := &toolCall{Call: call, index: i}
		if t := s.tool(call.Name); t != nil {
			c.tool = s.believed(*t)
		}
		rd.calls = append(rd.calls, c)
	}
	r.round = rd
	names, log := toolNames(s.view.Session.Tools), r.log
	examine := s.examiners(rd)
	s.calls.Go(func() { // ends soon after ctx; Close waits
		faults, found := make([]string, len(rd.calls)), make([]examined, len(rd.calls))
		for i, c := range rd.calls {
			if ctx.Err() != nil { // a schema may take a second for each call
				return
			}
			if i >= maxCalls {
				faults[i] = tooManyCalls
				continue
			}
			if faults[i] = guarded(log, c, names); twice[c.Number] {
				faults[i] = "another call of this reply has the same id, so this one was not run"
			}
			if faults[i] == "" && examine[i] != nil {
				found[i], faults[i] = examine[i](ctx)
			}
		}
		rd.news <- func() {
			for i, c := range rd.calls {
				c.concern, c.would = found[i].concern, found[i].would
			}
			s.judge(faults)
		}
	})
}

// examiners returns a function for each call whose host looks at its calls. They run on a goroutine of their own, because hosts read
// files.
func (s *state) examiners(rd *round) []func(context.Context) (examined, string) {
	list := make([]func(context.Context) (examined, string), len(rd.calls))
	for i, c := range rd.calls[:min(len(rd.calls), maxCalls)] {
		if c.tool.Name == "" {
			continue
		}
		host := s.cfg.host(s.view.Session, c.tool)
		examiner, _ := host.(toolhost.Examiner)
		inspector, _ := host.(toolhost.Inspector)
		if examiner == nil && inspector == nil {
			continue
		}
		log, call, q := s.run.log, c.whole(), s.questionAbout(c)
		list[i] = func(ctx context.Context) (examined, string) {
			return examineCall(ctx, log, examiner, inspector, call, q)
		}
	}
	return list
}

// judge starts the calls of a round that may run, opens questions about those that need a person, and ends the others.
func (s *state) judge(faults []string) {
	r := s.run
	rd := r.round
	bad := 0
	var facts []fact
	var run []*toolCall
	for i, c := range rd.calls {
		rule := s.rule(c)
		switch {
		case faults[i] != "":
			bad++
			facts = append(facts, s.answer(c, tool.Failed(c.ID, faults[i]))...)
		case rule == tool.Deny:
			facts = append(facts, s.answer(c, tool.Failed(c.ID, s.denial(c)))...)
		case rule == tool.Ask && c.concern.Danger > approval.NoDanger && !s.cfg.Limits.ConfirmPark && !s.feed.CanConfirm():
			facts = append(facts, s.answer(c, tool.Failed(c.ID, c.concern.Why+"; this needs a person's approval, and no client that could ask one is connected, so the call was not run"))...)
		case rule == tool.Ask:
			facts = append(facts, s.question(c))
		default:
			facts = append(facts, s.beginCall(c)...)
			run = append(run, c)
		}
	}
	if r.bad++; bad < len(rd.calls) {
		r.bad = 0
	}
	if s.recordResults(facts...) != nil {
		return
	}
	s.launch(run...)
	s.goOn()
}

// launch runs calls whose start is stored. The clients run theirs, because they have the update.
func (s *state) launch(calls ...*toolCall) {
	rd := s.run.round
	if len(calls) > 0 && !s.mayBegin(func() {
		if s.run != nil && s.run.round == rd {
			s.launch(calls...)
		}
	}) {
		return
	}
	for _, c := range calls {
		if c.done || c.tool.Host == tool.Client {
			continue
		}
		host := s.cfg.host(s.view.Session, c.tool)
		if host == nil {
			s.finish(c, tool.Failed(c.ID, "the server of this tool is not there any more"))
			if s.run == nil {
				return
			}
			continue
		}
		s.runOn(host, c)
	}
}

// runOn runs a call on its host.
func (s *state) runOn(host toolhost.Host, c *toolCall) {
	rd, log, call := s.run.round, s.run.log, c.whole()
	ctx, stop := context.WithCancel(approval.WithDecision(rd.ctx, approval.Decision{Tool: c.tool, Concern: c.concern}))
	c.stop, c.output = stop, relay.NewOutput(rd.grew)
	s.calls.Go(func() { // a host returns soon after ctx ends; Close waits
		defer stop()
		var result provider.ToolResult
		defer func() {
			if p := recover(); p != nil {
				err := fault.Panicked(log.With("tool", call.Name), "tool", p)
				result = tool.Failed(call.ID, "the tool failed by an "+err.Error())
			}
			c.output.Close()
			rd.news <- func() {
				if s.ctx.Err() != nil { // the agent is to end, and that is what ended the call
					s.interrupt()
					return
				}
				s.finish(c, result)
			}
		}()
		result = host.Run(ctx, call, c.output.Add)
	})
}

// finish takes in the result of a call, if it has none yet.
func (s *state) finish(c *toolCall, result provider.ToolResult) {
	if c.done || s.recordResults(s.answer(c, result)...) != nil {
		return
	}
	s.goOn()
}

// recordResults records results of the round. After the last one the model is called, unless goOn ends the turn.
func (s *state) recordResults(facts ...fact) error {
	r := s.run
	if r.round.left > 0 || r.bad >= maxBadRounds || r.calls >= s.cfg.Limits.ModelCalls {
		return s.record(facts...)
	}
	return s.recordCall(r.ID, r.choice, facts...)
}

// goOn calls the model again when all calls have their results, unless the turn has reached a limit.
func (s *state) goOn() {
	r := s.run
	if r == nil || r.round == nil {
		return
	}
	if r.round.left > 0 {
		if !s.parkForAnswer() {
			s.publishWaiting()
		}
		return
	}
	s.dropRound(nil)
	switch {
	case r.bad >= maxBadRounds:
		s.overLimit("invalid_calls")
	case r.calls >= s.cfg.Limits.ModelCalls:
		s.endTurn(session.TurnEnd{StopReason: session.StopModelCalls}, "")
	default:
		s.publishWaiting()
		if s.takeSteering() == nil {
			s.callModel()
		}
	}
}

// parkForAnswer parks the turn if it waits for nothing but answers of people, and these have no deadline.
func (s *state) parkForAnswer() bool {
	if !s.cfg.Limits.ConfirmPark {
		return false
	}
	asked := s.questions()
	if len(asked) == 0 {
		return false
	}
	s.run.waits = false
	s.parkTurn(session.TurnParked{Why: session.ParkedApproval, Since: s.cfg.Now().UnixMilli(), Resumes: session.ResumesOnRequest, Asked: asked})
	return true
}

// watchTools ends calls that take too long, and questions that nobody answers.
func (s *state) watchTools(now time.Time) {
	limits := s.cfg.Limits
	for _, c := range s.run.round.calls {
		switch {
		case c.done:
			continue
		case c.asked != nil && !limits.ConfirmPark && now.Sub(c.asked.asked) >= limits.ConfirmTime:
			s.decline(c)
		case !c.begun.IsZero() && now.Sub(c.begun) >= limits.ToolTime:
			text := fmt.Sprintf("stopped: there was no result after %s", limits.ToolTime)
			s.finish(c, tool.Failed(c.ID, text))
		}
		if s.run == nil || s.run.round == nil {
			return
		}
	}
}

// publishOutput publishes the output of running calls that is not published yet.
func (s *state) publishOutput() {
	for _, c := range s.run.round.calls {
		if chunk := c.output.Take(); chunk != "" && !c.done {
			s.tell(s.run.ID, feed.ToolOutput{CallID: c.ID, Chunk: chunk})
		}
	}
}

// ErrNoCall says that no call with this id waits for a client's result: there never was one, or it has its result.
var ErrNoCall = errors.New("no call with this id waits for a result")

// ToolResult stores the result of a call that clients run. It is on disk on return. Errors: ErrNoCall, and those of the store.
func (a *Agent) ToolResult(ctx context.Context, callID string, content provider.Blocks, failed bool) error {
	_, err := ask(ctx, a, func(s *state) (struct{}, error) {
		c := s.hosted(callID)
		if c == nil {
			return struct{}{}, ErrNoCall
		}
		s.finish(c, provider.ToolResult{Blocks: content, Failed: failed})
		return struct{}{}, s.ended
	})
	return err
}

// Answer resolves a question about a call. It reports whether this answer counts: only the first one that comes in time does.
// Errors: ErrNoConfirm for an unknown id, ErrNoAction, ErrNoGrant, and those of the store. The verdict is on disk when it returns.
func (a *Agent) Answer(ctx context.Context, confirm string, r Ruling) (bool, error) {
	return ask(ctx, a, func(s *state) (bool, error) {
		c := s.questioned(confirm)
		switch {
		case c == nil && s.resolved[confirm]:
			return false, nil
		case c == nil:
			return false, ErrNoConfirm
		case !slices.Contains(c.asked.Actions, r.Action):
			return false, ErrNoAction
		}
		grant, err := c.asked.grant(r)
		if err != nil {
			return false, err
		}
		if r.Action == session.Deny {
			why := "a person did not allow this call, so it was not run"
			if r.Reason != "" {
				why += ": " + r.Reason
			}
			if grant != nil {
				why += fmt.Sprintf("; until the session ends, these are denied as well: %s", grant.Text)
			}
			s.refuse(c, grant, feed.ByClient, r.Client, why)
			return s.ended == nil, s.ended
		}
		if s.parked() && s.questionAbout(c).Rule() == tool.Deny { // the operator's rules have changed since
			s.refuse(c, nil, feed.ByClient, r.Client, s.denial(c))
			return s.ended == nil, s.ended
		}
		facts := slices.Concat(s.resumed(session.ResumedByAnswer), s.resolve(c, r.Action, grant, feed.ByClient, r.Client), s.beginCall(c))
		if err := s.record(facts...); err != nil {
			return false, err
		}
		s.launch(c)
		if s.run != nil {
			s.publishWaiting()
		}
		return true, s.ended
	})
}

// decline is the answer of nobody.
func (s *state) decline(c *toolCall) {
	s.refuse(c, nil, feed.ByTimeout, "", "this call was not allowed in time, so it did not run")
}

// refuse ends a call that was not approved. A standing denial that comes with it, which may be nil, also ends the other open questions
// that it covers.
func (s *state) refuse(c *toolCall, standing *tool.Grant, by feed.By, client, why string) {
	facts := append(s.resumed(session.ResumedByAnswer), s.refusal(c, standing, by, client, why)...)
	if standing != nil {
		facts = append(facts, s.refusedWhere(func(c *toolCall) bool { return approval.Covers(*standing, c.tool, c.would) }, by, client, why)...)
	}
	if s.recordResults(facts...) == nil {
		s.goOn()
	}
}
