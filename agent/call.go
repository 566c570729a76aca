package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/relay"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// call is one exchange with a model: a goroutine that sends what arrives.
type call struct {
	steps *relay.Steps // closed by the goroutine, after a Stop or an error or when it was stopped
	stop  context.CancelCauseFunc

	begun   time.Time
	heard   time.Time // the first event that is more than a sign of life
	byteAt  time.Time // the last sign of life, zero before the first
	content time.Time // the last content
	noticed bool      // a notice says that it is quiet
	odd     int       // events that fit nothing

}

// stepped has a token when the running call sent something, nil between calls.
func (s *state) stepped() <-chan struct{} {
	if s.run == nil || s.run.call == nil {
		return nil
	}
	return s.run.call.steps.Ready()
}

// startCall begins an exchange, if that can be paid; stopCall ends it, and Close waits for it.
func (s *state) startCall() {
	r := s.run
	s.followRedirect()
	req := s.request()
	r.estimate, r.prompted = s.estimateOf(req), req.Initiator() == "user"
	req.Input, req.Counted = s.contextSize()
	if !s.affordable() {
		return
	}
	ctx, stop := context.WithCancelCause(s.ctx)
	now := time.Now()
	r.toolBefore, r.sameBefore, r.answered = r.lastTool, r.same, false
	c := &call{steps: relay.NewSteps(), stop: stop, begun: now, content: now}
	r.call = c
	api, cfg := r.provider, s.cfg
	r.log.Debug("model call", "model", r.model.Ref(), "call", r.calls, "again", r.again, "reasoning", r.decision)
	s.calls.Go(func() {
		defer c.steps.Close()
		defer func() {
			if p := recover(); p != nil {
				c.steps.Put(ctx, relay.Step{Err: panicked(r.log, "provider", p)})
			}
		}()
		for _, missing := range cfg.load(req) {
			if !c.steps.Put(ctx, relay.Step{Event: missing}) {
				return
			}
		}
		for event, err := range api.Stream(ctx, req) {
			if !c.steps.Put(ctx, relay.Step{Event: event, Err: err}) || err != nil {
				return
			}
		}
	})
}

// stopCall ends the running exchange, if there is one; end is what came of it.
func (s *state) stopCall(cause error, end callEnd) {
	if s.run == nil || s.run.call == nil {
		return
	}
	c := s.run.call
	c.stop(cause)
	s.called(c, end)
	if c.odd > 0 {
		s.run.log.Warn("events without a block were ignored", "provider", s.run.model.Provider, "count", c.odd)
	}
	s.run.call = nil
}

// request is everything that the call depends on.
func (s *state) request() *provider.Request { return s.requestFor(s.run.choice) }

// requestFor is the request that a choice would make of what was said so far.
func (s *state) requestFor(c choice) *provider.Request {
	req := s.asked(c)
	req.System, req.Tools, req.Messages = s.view.Session.System, s.offered(c.model), s.share(c.ref()).Messages(c.model, c.decision)
	return req
}

// step takes in the next of what the call sent.
func (s *state) step() {
	if s.ctx.Err() != nil {
		return // the agent ends, and its calls with it: the loop comes to that next
	}
	c := s.run.call
	list, ok := c.steps.Next(s.stride())
	switch {
	case !ok:
		s.failed(&provider.Error{Provider: s.run.model.Provider, Kind: provider.KindTransport,
			Message: "the answer ended without an end"})
		return
	case len(list) == 0:
		return
	case list[0].Err != nil:
		s.failed(list[0].Err)
		return
	}
	c.byteAt, c.noticed = time.Now(), false
	switch list[0].Event.(type) {
	case provider.Alive, provider.Served:
		return
	}
	if c.heard.IsZero() {
		c.heard = c.byteAt
	}
	if _, said := list[0].Event.(provider.Notice); !said && !s.accepted() {
		return
	}
	switch ev := list[0].Event.(type) {
	case provider.Begin:
		s.begin(ev)
	case provider.Delta:
		s.grow(ev.Index, list)
	case provider.End:
		s.seal(ev)
	case provider.Notice:
		s.notice(ev)
		return
	case provider.Stop:
		s.stopped(ev)
	default:
		c.odd++
	}
	c.content = c.byteAt
}

// stride is how many bytes of growth are taken in at once. Limits are looked at after each, so it is short where money is
// counted, and ends where the turn may not say more.
func (s *state) stride() int {
	most := relay.MaxStride
	if s.cfg.Limits.budgeted() {
		most = 64 * budget.PerToken
	}
	return min(most, s.cfg.Limits.TurnBytes-s.run.bytes)
}

// stopped takes in the end of a reply.
func (s *state) stopped(stop provider.Stop) {
	r := s.run
	usage := r.metered(stop.Usage)
	s.stopCall(nil, callEnd{stop: stop, usage: usage})
	m := s.openMessage()
	s.tellNear()
	empty := stop.Reason == provider.StopEndTurn && !s.says(m) && !s.spoke()
	if empty && !s.heard() && s.again(stop, usage) {
		return
	}

	var incomplete session.Incomplete
	switch {
	case stop.Reason == provider.StopMaxTokens:
		incomplete = session.CutOff
	case stop.Reason == provider.StopRefusal:
		incomplete = session.Refused
	case len(m.open) > 0: // a block without its end may lack what its vendor wants back
		incomplete = session.Failed
	}
	facts, cited := s.closeBlocks(true), m.late(stop.Cited)
	facts = append(facts,
		fact{r.ID, session.MessageEnd{Message: m.id, StopReason: session.StopReason(stop.Reason), Raw: stop.Raw, Model: stop.Model,
			RequestID: stop.RequestID, Usage: usage, RawUsage: stop.RawUsage, State: stop.State, Incomplete: incomplete, Cited: cited},
			feed.MessageEnd{Message: m.id, StopReason: session.StopReason(stop.Reason), Usage: usage, Cited: cited}})
	m.paused = stop.Reason == provider.StopPause
	facts = append(facts, s.checked(*m, usage)...)
	said := *m
	r.reply = reply{}

	calls := len(said.calls) > 0
	whole := stop.Reason != provider.StopMaxTokens && stop.Reason != provider.StopRefusal
	switch {
	case calls && whole && incomplete == "" && len(s.view.Session.Tools) > 0:
		s.runTools(said.id, said.twice, facts)
	case calls && whole && incomplete != "":
		s.endTurn(session.TurnEnd{StopReason: session.StopError, Error: &session.Failure{Kind: string(provider.KindTransport),
			Message: "the reply has calls of tools and a block without its end, so none was run"}}, "", facts...)
	case calls && whole, stop.Reason == provider.StopToolUse && len(s.view.Session.Tools) == 0:
		s.endTurn(session.TurnEnd{StopReason: session.StopError, Error: &session.Failure{Kind: string(provider.KindBadRequest),
			Message: "the model called a tool, and this session has none"}}, "", facts...)
	case stop.Reason == provider.StopToolUse:
		s.endTurn(session.TurnEnd{StopReason: session.StopError, Error: &session.Failure{Kind: string(provider.KindTransport),
			Message: "the model was to call a tool, and nothing of the call came"}}, "", facts...)
	case empty && s.heard():
		notice := inform(noticeEmpty, "the model ended its turn without a word after the results of its tools")
		s.endTurn(session.TurnEnd{StopReason: session.StopReason(stop.Reason)}, "", append(facts, fact{r.ID, nil, notice})...)
	case empty:
		s.endTurn(session.TurnEnd{StopReason: session.StopError, Error: s.failure(emptyAnswer(r.model.Provider, stop))}, "", facts...)
	case stop.Reason != provider.StopPause:
		end := session.TurnEnd{StopReason: session.StopReason(stop.Reason)}
		if stop.Reason == provider.StopRefusal {
			end.Error = &session.Failure{Kind: string(provider.KindRefused), RequestID: stop.RequestID,
				Message: strings.TrimSpace("the model refused to answer " + stop.Detail)}
		}
		s.endTurn(end, "", facts...)
	case r.calls >= s.cfg.Limits.ModelCalls:
		s.endTurn(session.TurnEnd{StopReason: session.StopModelCalls}, "", facts...)
	default:
		if s.record(facts...) == nil {
			s.callModel()
		}
	}
}

// spoke reports whether the model said something in an earlier message of the turn, with no results of tools since.
func (s *state) spoke() bool {
	for _, m := range slices.Backward(s.run.Turn.Messages) {
		if m.Role != provider.Assistant {
			return false
		}
		if m.End != nil && speaks(m) {
			return true
		}
	}
	return false
}

// heard reports whether the turn has results of tools: the model may have nothing to add to them.
func (s *state) heard() bool {
	return slices.ContainsFunc(s.run.Turn.Messages, func(m *session.Message) bool { return m.Answers != "" })
}

// again makes a call again whose answer was empty, once.
func (s *state) again(stop provider.Stop, usage provider.Usage) bool {
	r := s.run
	if r.emptied || !r.mayRetry() {
		return false
	}
	r.emptied = true
	facts, void := s.void(usage)
	if s.record(append(facts, r.retryFact(0, emptyAnswer(r.model.Provider, stop), void))...) == nil {
		s.callAgain()
	}
	return true
}

func emptyAnswer(providerID string, stop provider.Stop) *provider.Error {
	text := "the answer has neither text nor a tool call"
	if stop.Detail != "" {
		text += ": " + stop.Detail
	}
	return &provider.Error{Provider: providerID, Kind: provider.KindEmpty, RequestID: stop.RequestID, Message: text}
}

// overLimit ends the turn since it ran away.
func (s *state) overLimit(which string) {
	s.endTurn(session.TurnEnd{StopReason: session.StopLimit, Limit: which}, session.Cancelled)
}

// errStalled is the cause by which a silent call is stopped.
var errStalled = errors.New("stalled")

// watch looks after the time that a turn and its call take; once a second.
func (s *state) watch(now time.Time) {
	r := s.run
	limits := s.cfg.patient(r.model.Provider)
	if now.Sub(r.begun) >= limits.TurnTime {
		s.overLimit("time")
		return
	}
	if r.round != nil {
		s.watchTools(now)
		return
	}
	c := r.call
	if c == nil {
		return
	}
	quiet := now.Sub(cmp.Or(c.byteAt, c.begun))
	switch {
	case c.byteAt.IsZero() && quiet >= limits.Headers:
		s.stalled("no answer came for %s", quiet)
	case quiet >= limits.QuietBytes:
		s.stalled("nothing came for %s", quiet)
	case now.Sub(c.content) >= limits.QuietContent:
		s.stalled("no content came for %s", now.Sub(c.content))
	case quiet >= limits.QuietNotice && !c.noticed:
		c.noticed = true
		s.tell(r.ID, inform(noticeStalled, fmt.Sprintf("nothing has come from %s for %s", r.model.Provider, quiet.Round(time.Second))))
	}
}

func (s *state) stalled(format string, quiet time.Duration) {
	s.stopCall(errStalled, callEnd{fault: string(provider.KindStalled)})
	s.failed(&provider.Error{Provider: s.run.model.Provider, Kind: provider.KindStalled,
		Message: fmt.Sprintf(format, quiet.Round(time.Second))})
}
