package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/agent/fault"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/forecast"
	"github.com/thinkd/thinkd/agent/gate"
	"github.com/thinkd/thinkd/agent/media"
	"github.com/thinkd/thinkd/agent/relay"
	"github.com/thinkd/thinkd/agent/structured"
	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// startCall begins an exchange, if the turn has time for it and it can be paid; stopCall ends it, and Close waits for it.
func (s *state) startCall() {
	if s.ctx.Err() != nil {
		return // the agent ends: the loop comes to that next
	}
	if s.timeIsUp(s.cfg.Now()) {
		return
	}
	r := s.run
	s.followRedirect()
	req := s.takePrepared()
	r.prompted = req.Initiator() == "user"
	req.Input, req.Counted = s.conversation().size(r.choice)
	if !s.affordable() {
		return
	}
	if s.checkPayer(); s.ended != nil {
		return
	}
	if !s.enterGate(req) {
		return
	}
	if !s.mayBegin(s.callPending) {
		return
	}
	s.uses(r.choice)
	ctx, stop := context.WithCancelCause(s.ctx)
	now := s.cfg.Now()
	r.toolBefore, r.sameBefore, r.answered, r.answering = r.lastTool, r.same, false, answering{}
	c := &call{steps: relay.NewSteps(), stop: stop, begun: now, content: now}
	r.call = c
	req.Sent = func(o provider.Outline) { c.sent.Store(&o) }
	req.Joins = true
	req.Pace = func() time.Duration { return pace(s.viewers.Load(), s.cfg.crowd.Load()) }
	pass, cfg, tool := r.pass, s.cfg, ""
	if r.options.Form == provider.OutputTool {
		tool = structured.Name(s.conversation().offered(r.model))
	}
	r.log.Debug("model call", "model", r.model.Ref(), "call", r.calls, "again", r.again, "reasoning", r.decision)
	s.calls.Go(func() {
		cfg.crowd.Add(1)
		defer cfg.crowd.Add(-1)
		defer c.steps.Close()
		defer func() {
			if p := recover(); p != nil {
				c.steps.Put(ctx, relay.Step{Err: fault.Panicked(r.log, "provider", p)})
			}
		}()
		for _, missing := range cfg.load(req) {
			if !c.steps.Put(ctx, relay.Step{Event: missing}) {
				return
			}
		}
		events := pass.Stream(ctx, req)
		if tool != "" {
			events = structured.Read(events, tool)
		}
		for event, err := range events {
			if !c.steps.Put(ctx, relay.Step{Event: event, Err: err}) || err != nil {
				return
			}
		}
	})
}

// allowance is how long an answer probably is, in tokens. A longer one counts as more while it comes.
const allowance = 4096

// probably is what a call of a model uses that is estimated so far, with its cost.
func probably(m provider.Model, e budget.Estimate, now time.Time) provider.Usage {
	u := e.Usage()
	u.Output += allowance
	if m.MaxOutput > 0 {
		u.Output = max(min(u.Output, m.MaxOutput), budget.Tokens(e.Said))
	}
	u.Cost = m.Price.Cost(u, now)
	return u
}

// atMost is what a call with a request may use at most, with its cost. It is the reservation of the call, if there is a limit for all
// sessions; otherwise nothing needs a bound, and what a killed call probably used is reserved.
func (cfg Config) atMost(req *provider.Request, e budget.Estimate) (u provider.Usage) {
	if cfg.Limits.Spending == (gate.Limits{}) && !cfg.gate.Bounded(cfg.owner) {
		return u
	}
	return budget.Dearest(req.Model.Price, e.Most(cmp.Or(req.OutputLimit(), provider.MostOutput)), cfg.Now())
}

// recordCall is record for facts after which a turn calls its model. The reservation of the call is in the same commit.
func (s *state) recordCall(turn session.TurnID, c choice, facts ...fact) error {
	s.follows = func() *session.Reserved { return s.prepare(turn, c) }
	defer func() { s.follows = nil }()
	return s.record(facts...)
}

// prepare makes the next call of a turn ready, and returns what it reserves, nil if it cannot or need not.
func (s *state) prepare(turn session.TurnID, c choice) *session.Reserved {
	if c.provider == nil {
		return nil
	}
	if q := s.promptQuestion(s.view.Turn(turn), c); q != nil {
		s.leaveGate()
		s.ready = &prepared{turn: turn, question: q}
		return nil // the turn is parked when the call is to be made
	}
	p := &prepared{turn: turn, request: s.conversation().requestFor(c), kept: s.kept}
	p.estimate = s.conversation().estimateOf(c.ref(), p.request)
	call := s.passing(c, p.request, p.estimate, c.payer)
	if s.run != nil && s.run.pass != nil && s.run.pass.Fits(call) {
		s.ready = p
		return nil
	}
	s.leaveGate()
	s.ready = p
	pass, err := s.enter(call)
	if err != nil {
		return nil // the turn is parked when the call is to be made
	}
	p.pass = pass
	return &pass.Reserved
}

// enter reserves at the gate, which may wait for the store of a cluster.
func (s *state) enter(call gate.Call) (pass *gate.Pass, err error) {
	err = s.await(s.ctx, func(ctx context.Context) (err error) {
		pass, err = s.cfg.gate.Enter(ctx, call)
		return err
	})
	return pass, err
}

// passing is the next call of a turn at the gate.
func (s *state) passing(c choice, req *provider.Request, e budget.Estimate, payer *session.Payer) gate.Call {
	if size, counted := s.conversation().size(c); counted {
		e.Counted = size
	}
	return gate.Call{Owner: s.ref.Owner, Provider: c.provider, Model: c.ref(), Level: c.decision.Effective, Payer: payer, Purpose: session.ForTurn, Sum: s.sum,
		Usage: probably(c.model, e, s.cfg.Now()), Most: s.cfg.atMost(req, e), Allowed: s.allowed || s.run != nil && s.run.allowed}
}

// takePrepared gives the running turn the request of its next call, and what was reserved for it.
func (s *state) takePrepared() *provider.Request {
	r, p := s.run, s.ready
	s.ready = nil
	if p != nil && p.pass != nil {
		r.pass, r.allowed = p.pass, false
	}
	if p == nil || p.turn != r.ID || p.kept != s.kept || p.request == nil {
		req := s.request()
		r.estimate = s.conversation().estimateOf(r.ref(), req)
		return req
	}
	r.estimate = p.estimate
	return p.request
}

// enterGate reserves what the running call may cost, if that was not done before. The log has the reservation before the call is made.
// It reports whether the call may be made. If a limit of all sessions has no room until other calls end, the turn waits for them; if
// it has none, the turn is parked, and a person decides.
func (s *state) enterGate(req *provider.Request) bool {
	r := s.run
	call := s.passing(r.choice, req, r.estimate, r.paidBy)
	if r.pass != nil && r.pass.Fits(call) {
		return true
	}
	s.leaveGate()
	if err := s.fits(); err != nil {
		s.overQuota(err)
		return false
	}
	pass, err := s.enter(call)
	if full, ok := s.cfg.full(err); ok {
		if full.Busy && s.waitsForOthers() {
			return false
		}
		s.askToSpend(full.Spending, nil)
		return false
	}
	if err != nil {
		if e, ok := errors.AsType[*gate.Exceeded](err); ok && e.Busy && s.waitsForOthers() {
			return false
		}
		s.overQuota(err)
		return false
	}
	r.pass, r.allowed, r.busySince = pass, false, time.Time{}
	return s.record(fact{r.ID, pass.Reserved, nil}) == nil
}

// fits refuses another call of a turn whose user has stored all that the quota has. The prompt and the call that runs are stored in any case. It may wait
// for the store of a cluster.
func (s *state) fits() error {
	return s.await(s.ctx, func(ctx context.Context) error {
		release, err := s.cfg.stored.Reserve(ctx, s.ref.Owner, 0)
		if err == nil {
			release()
		}
		return err
	})
}

// waitsForOthers lets the running call try again after a pause, unless it has done so for long.
func (s *state) waitsForOthers() bool {
	r, now := s.run, s.cfg.Now()
	if r.busySince.IsZero() {
		r.busySince = now
	}
	if now.Sub(r.busySince) >= busyMost {
		return false
	}
	r.retry = time.NewTimer(busyPause)
	return true
}

// A turn whose call waits for others to end tries again after a pause, and asks a person after a longer time.
const (
	busyPause = time.Second
	busyMost  = 5 * time.Minute
)

// askToSpend parks the running turn before a call that a limit has no room for, or a prompt that a person has to decide on. A person
// resumes or ends it. err is why what a person chose before failed; nil: nothing was chosen.
func (s *state) askToSpend(q session.Spending, err error) {
	r := s.run
	facts := s.closeMessage(session.StopError, session.Failed)
	r.reply, r.busySince = reply{}, time.Time{}
	p := session.TurnParked{Why: session.ParkedBudget, Since: s.cfg.Now().UnixMilli(), Resumes: session.ResumesOnRequest, Payer: r.paidBy, Spending: &q}
	if err != nil {
		p.Error = s.failure(err)
	}
	s.parkTurn(p, facts...)
}

// promptQuestion returns the question that a person decides before the first call of a turn: the conversation may not be in the vendor's
// cache, and the turn may cost more than ask_above. It returns nil if there is nothing to decide, or if the cost is not known. The
// forecast is that of Quote, except that no media is read for it.
func (s *state) promptQuestion(t *session.Turn, c choice) *session.Spending {
	v := s.conversation()
	above, before := v.askAbove(), v.answered(t)
	said := func(m *session.Message) bool { return m.Role == provider.Assistant }
	if above == 0 || before == nil || c.provider == nil || c.model.Price == nil || t.Agreed || s.agreed || s.run != nil && s.run.ID == t.ID && s.run.agreed ||
		slices.ContainsFunc(t.Messages, said) {
		return nil
	}
	c.cache = v.cached(before, c)
	last := time.UnixMilli(before.Messages[len(before.Messages)-1].Time)
	if !forecast.Cold(c.cache.State, warmUntil(before), last, v.cfg.Now()) {
		return nil
	}
	var compact *transcript.Passage
	var pinned []session.Pinned
	if p, ok := v.share(c.ref()).Plan(t, transcript.KeptAsked, c.model.Window); ok {
		compact = &p
		var err error
		if pinned, err = s.pinnedUpto(c, p.Upto); err != nil {
			s.log.Warn("what is pinned cannot be read", "err", err)
			compact = nil
		}
	}
	return v.draft(c, compact, pinned).Quote(func(*provider.Request) {}).Question(above)
}

// pinnedUpto is what a summary of the messages up to one keeps word for word.
func (s *state) pinnedUpto(c choice, upto session.MessageID) ([]session.Pinned, error) {
	return s.conversation().share(c.ref()).Pinned(upto, func(t *session.Turn) (*session.Turn, error) {
		return s.whole(context.WithoutCancel(s.ctx), t)
	})
}

// asksFirst parks the running turn before its first call, if a person has to decide on it. It reports whether the call is not made now.
func (s *state) asksFirst() bool {
	r, q := s.run, (*session.Spending)(nil)
	if p := s.ready; p != nil && p.turn == r.ID {
		q = p.question
	} else {
		q = s.promptQuestion(r.Turn, r.choice)
	}
	if q != nil {
		s.askToSpend(*q, nil)
	}
	return q != nil
}

// covered counts an answer that is longer than it probably would be. It reports whether the call goes on.
func (s *state) covered() bool {
	r, now := s.run, s.cfg.Now()
	used := r.estimate.Usage()
	if used.Cost = r.priced().Price.Cost(used, now); r.pass.Covers(used) {
		return true
	}
	var more bool
	err := s.await(s.ctx, func(ctx context.Context) (err error) {
		more, err = r.pass.Extend(ctx, probably(r.priced(), r.estimate, now))
		return err
	})
	if full, ok := s.cfg.full(err); ok {
		s.tell(r.ID, warn(noticeBudgetReached, full.UsedUp()))
		s.overLimit(string(full.Limit))
		return false
	}
	if err != nil {
		s.overQuota(err)
		return false
	}
	return !more || s.record(fact{r.ID, r.pass.Reserved, nil}) == nil
}

// callPending makes the running call, which has waited because the session stood still.
func (s *state) callPending() {
	if s.run != nil && s.run.call == nil && s.run.retry == nil && !s.parked() {
		s.startCall()
	}
}

// callAgain makes the running call once more, or the one that waited for others to end.
func (s *state) callAgain() {
	r := s.run
	if r.retry = nil; r.busySince.IsZero() {
		r.again++
		r.tries++
	}
	s.startCall()
}

// request is everything that the call depends on.
func (s *state) request() *provider.Request { return s.conversation().requestFor(s.run.choice) }

// load reads the media that a request refers to, and makes images smaller that are too large for its model. What cannot be read is
// logged. Both are notices.
func (cfg Config) load(req *provider.Request) (notices []provider.Notice) {
	for _, lost := range transcript.LoadMedia(cfg.Blobs, req) {
		m := lost.Media
		cfg.Log.Warn("media", "hash", m.Hash, "err", lost.Err)
		notices = append(notices, provider.Notice{Kind: noticeMissing,
			Text: fmt.Sprintf("%s of %d bytes is missing or damaged; the model gets a sentence in its place: %.12s", m.Type, m.Size, m.Hash)})
	}
	for _, scaled := range cfg.scaler.Scale(media.For(cfg.find(req.Model.Provider), req.Model), req) {
		notices = append(notices, provider.Notice{Kind: noticeScaled, Text: scaled.String()})
	}
	return notices
}

// followRedirect gives the running turn the rules of the model that answers under its model's name since today: a turn
// may run over the day on which the vendor redirects the name.
func (s *state) followRedirect() {
	r := s.run
	now := s.conversation().kept(s.cfg.Catalog.Model(r.model.Provider, r.model.ID))
	if now.As == r.model.As {
		return
	}
	decision, err := resolveAgain(r.decision, now)
	if err != nil {
		r.log.Error("no level for a redirected model", "model", now.Ref(), "err", err)
		return
	}
	r.model, r.decision = now, decision
	if s.ready != nil {
		s.ready.request = nil
	}
	if wire, err := r.provider.Wire(s.conversation().asked(r.choice)); err == nil {
		r.decision.Wire = wire
	}
	if err := s.conversation().settleOptions(&r.choice); err != nil {
		r.log.Error("no options for a redirected model", "model", now.Ref(), "err", err)
	}
	s.warnRetirement()
}

// warnRetirement warns once of each model that is retired, or will be within retiresSoon. The vendor decides what it
// serves: the call is made.
func (s *state) warnRetirement() {
	r := s.run
	if s.notified.retires == r.ref() && s.notified.answers == r.model.As {
		return
	}
	if text := retirement(r.model, s.cfg.Now()); text != "" {
		s.notified.retires, s.notified.answers = r.ref(), r.model.As
		s.tell(r.ID, warn(noticeRetires, text))
	}
}

// before is what a model answered before the running section of the turn, nil if there is nothing.
func (s *state) before() *session.Section { return s.conversation().answered(s.run.Turn) }

// contextUsed is how many tokens the next call is about to send.
func (s *state) contextUsed() int {
	used, _ := s.conversation().size(s.run.choice)
	return used
}

// served takes in which model answers. It comes before the first block of an answer. If it is another model than the one that
// was asked for, people know before the first word, and a session that takes no other ends the turn.
func (s *state) served(ev provider.Served) {
	r := s.run
	now := s.cfg.Catalog.Served(r.model, ev.Model)
	r.answering = answering{row: now.Row, by: &session.Served{Requested: r.ref(), Sent: r.model.ID, Model: ev.Model, Host: ev.Host, Other: now.Other}}
	if !now.Other {
		return
	}
	if r.substitute != ev.Model { // a loop of tools has many calls, and they are all alike
		r.substitute = ev.Model
		s.tell(r.ID, warn(noticeSubstituted, substituted(r.model.Ref(), ev)+priceNow(r.model, now.Row)))
	}
	if s.stopsOther() && s.ended == nil {
		s.refuseOther(otherModel(r.model, ev))
	}
}

// checkPayer warns before a call that is paid by somebody else than the session's call to the same provider before it.
func (s *state) checkPayer() {
	r := s.run
	now := s.cfg.payer(r.model.Provider, r.key)
	was := r.paidBy
	if was == nil {
		was = s.paidBefore()
	}
	if r.paidBy = now; now == nil || was == nil || *now == *was {
		return
	}
	text := fmt.Sprintf("%s was paid by %s. From now on %s pays", r.model.Provider, was.Payer, now.Payer)
	if now.Payer == was.Payer {
		text = fmt.Sprintf("%s is paid by %s, as before, but by another account", r.model.Provider, now.Payer)
	}
	s.tell(r.ID, warn(noticePayer, text))
}

// paidBefore is who paid for the session's last calls to the running turn's provider, nil if that is not known.
func (s *state) paidBefore() (by *session.Payer) {
	for _, t := range slices.Backward(s.view.Turns) {
		for _, part := range t.Sections() {
			if part.Start != nil && part.Start.Payer != nil && part.Start != s.run.Now() && part.Start.Model.Provider == s.run.model.Provider {
				by = part.Start.Payer
			}
		}
		if by != nil {
			break
		}
	}
	return by
}

// fellBack returns what clients see of the switch from a choice to that of the running turn. It counts kept and dropped thinking as
// Explain does, except that it reads no files.
func (s *state) fellBack(was choice, why *session.Failure, continues bool) feed.FellBack {
	now, v := s.run.choice, s.conversation()
	e := feed.FellBack{From: was.shown(), To: now.shown(), Key: now.key, Reason: feed.Returned, Error: why, Continues: continues, Options: now.optionsShown(),
		Cache: v.cached(v.answered(s.run.Turn), now), PriceFactor: v.priceFactor(was.model, now.model)}
	if why != nil {
		e.Reason = feed.SwitchReason(why.Kind)
	}
	if now.payer != nil {
		e.Payer = &now.payer.Payer
	}
	if api, ok := now.provider.(provider.Converter); ok {
		if c, err := api.Convert(v.requestFor(now)); err == nil {
			e.Thinking = feed.NewThoughts(c)
		}
	}
	return e
}

// noticeModel tells what people should know of the model that the turn runs with from now on.
func (s *state) noticeModel() {
	r := s.run
	d := r.decision
	if r.model.Provider == s.cfg.Simulator && !s.notified.simulator {
		s.notified.simulator = true
		s.tell(r.ID, inform(noticeSimulator, "the answers come from the built-in simulator, not from a model"))
	}
	clamp := fmt.Sprint(r.model.Ref(), d.Requested, d.Effective, d.Reason)
	if clamp != s.notified.clamp {
		s.notified.clamp = clamp
		switch d.Reason {
		case provider.LevelNotSupported:
			s.tell(r.ID, inform(noticeClamped, fmt.Sprintf("%s has no level %s: %s applies; it has %v",
				r.model.Ref(), d.Requested, d.Effective, d.Supported)))
		case provider.OffNotSupported:
			s.tell(r.ID, warn(noticeOff, fmt.Sprintf("%s cannot be off: %s applies", r.model.Ref(), d.Effective)))
		}
	}
	s.noticeUnpriced()
	s.warnRetirement()
	if len(s.view.Session.Tools) > 0 && r.model.Known && !r.model.Tools {
		s.tell(r.ID, inform(string(provider.NoticeOverride), r.model.Ref()+" does not support tools, so it gets none"))
	}
}

// noticeUnpriced tells that a budget of money cannot see what a model costs.
func (s *state) noticeUnpriced() {
	r, l := s.run, s.cfg.Limits
	budgets := l.TurnBudget.Cost != 0 || l.SessionBudget.Cost != 0 || l.Spending != (gate.Limits{})
	asks := s.conversation().askAbove() != 0
	if !budgets && !asks || r.model.Price != nil || r.model.Provider == s.cfg.Simulator || s.notified.unpriced == r.ref() {
		return
	}
	s.notified.unpriced = r.ref()
	text := fmt.Sprintf("the price of %s is not known: ", r.model.Ref())
	switch {
	case !asks:
		text += "the budget of money does not see what it costs"
	case !budgets:
		text += "ask_above does not see what a prompt costs"
	default:
		text += "the budget of money and ask_above do not see what it costs"
	}
	s.tell(r.ID, warn(noticePriceUnknown, text))
}
