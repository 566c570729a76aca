package agent

import (
	"context"
	"slices"
	"time"

	"github.com/thinkd/thinkd/agent/aside"
	"github.com/thinkd/thinkd/agent/fault"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/gate"
	"github.com/thinkd/thinkd/agent/report"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Question is a side question: it is asked with the conversation so far, and neither it nor its answer becomes a part of it.
type Question struct {
	Content  provider.Blocks // text and media
	Override session.Override
}

// Aside is a side question that is ready. It has all that it needs of the session, so Ask runs on the caller's goroutine.
type Aside struct {
	Model     feed.Model
	Reasoning provider.Decision
	Cache     feed.Cache

	call   aside.Call
	ref    session.Ref
	enter  gate.Call
	desk   *aside.Desk
	agent  context.Context // ends with the agent
	cfg    Config
	report report.Call
}

// stillRuns is the result of a call in a side question during the turn that made the call.
const stillRuns = "this call is still running: it has no result yet"

// Aside prepares a side question, also while a turn runs. Without an override it has the model and the level of the running turn, so
// that the vendor's cache has the prompt. Errors: *provider.LevelError, *media.Error, and *provider.Error if the model cannot
// be called.
func (a *Agent) Aside(ctx context.Context, q Question) (*Aside, error) {
	return ask(ctx, a, func(s *state) (*Aside, error) { return s.aside(q) })
}

func (s *state) aside(q Question) (*Aside, error) {
	c, err := s.asideChoice(q.Override)
	if err == nil && c.provider == nil {
		err = &provider.Error{Provider: c.model.Provider, Kind: provider.KindAuth, Message: "no such provider is configured"}
	}
	if err == nil {
		err = gone(c.model)
	}
	if err == nil {
		q.Content, err = s.showable(c.provider, c.model, q.Content)
	}
	if err != nil {
		return nil, err
	}
	o := &c.options.Effective // these options are for the session's answers, not for this one
	o.Schema, o.Output, o.ToolChoice, o.Stop, c.options.Form = nil, "", "", nil, ""
	v := s.conversationWith(c, append(provider.Blocks{provider.Text{Text: aside.Preface}}, q.Content...))
	req := v.requestFor(c)
	req.NoTools = true
	req.Input, req.Counted = v.size(c)
	limits := s.cfg.patient(c.model.Provider)
	premium := c.model.Premium
	estimate := v.estimateOf(c.ref(), req)
	if req.Counted {
		estimate.Counted = req.Input
	}
	price := func(u provider.Usage) *provider.Cost { return c.model.Price.Cost(u, s.cfg.Now()) }
	s.used = s.cfg.Now()
	s.uses(c)
	return &Aside{Model: c.shown(), Reasoning: c.decision, Cache: c.cache,
		call: aside.Call{Model: c.model, Request: req, Estimate: estimate, Price: price, Premium: premium,
			Now: s.cfg.Now, Load: func(req *provider.Request) { s.cfg.load(req) },
			Patience: aside.Patience{Headers: limits.Headers, Quiet: limits.QuietBytes, Whole: limits.TurnTime}},
		ref: s.ref, desk: s.asides, agent: s.ctx, cfg: s.cfg,
		enter: gate.Call{Owner: s.ref.Owner, Provider: c.provider, Model: c.ref(), Level: c.decision.Effective, Payer: c.payer, Purpose: session.ForAside,
			Sum: s.sum, Usage: probably(c.model, estimate, s.cfg.Now()), Most: s.cfg.atMost(req, estimate)},
		report: report.Call{Session: s.id, Model: c.ref(), API: c.model.API, Reasoning: c.decision, Aside: true}}, nil
}

// asideChoice is the model and the level of a side question.
func (s *state) asideChoice(o session.Override) (choice, error) {
	v := s.conversation()
	if s.run != nil && o == (session.Override{}) {
		c := s.run.choice
		c.cache = v.cached(v.answered(nil), c)
		return c, nil
	}
	set := s.view.Session.Settings
	if s.run != nil {
		set.Model = s.run.ref()
	}
	if o == (session.Override{}) {
		return v.next(set, o)
	}
	return v.decide(set, o)
}

// conversationWith is the conversation with a prompt at its end. It is a copy: the view of the session does not change.
func (s *state) conversationWith(c choice, prompt provider.Blocks) conversation {
	said := &session.Message{Role: provider.User}
	for i, b := range prompt {
		said.Parts = append(said.Parts, session.Part{Number: i, Block: b})
	}
	view := *s.view
	view.Turns = append(slices.Clip(view.Turns), &session.Turn{Messages: []*session.Message{said},
		Start: &session.TurnStart{Model: c.ref(), Reasoning: c.decision, Address: c.address}})
	v := s.conversation()
	v.view, v.pending = &view, stillRuns
	return v
}

// Ask asks it, once, and returns the answer. said gets each piece as it comes; it is called on this goroutine, and must not wait. What
// the answer used counts for the session's budget, also if it fails. It ends with ctx, and with the agent. Error: aside.ErrFull, and
// then nothing was used.
func (q *Aside) Ask(ctx context.Context, said func(provider.BlockKind, string)) (a aside.Answer, err error) {
	if err := q.desk.Begin(); err != nil {
		return a, err
	}
	defer q.desk.End()
	pass, err := q.cfg.gate.Enter(ctx, q.enter)
	if full, ok := q.cfg.full(err); ok {
		m := q.call.Model
		return aside.Answer{Err: &provider.Error{API: m.API, Provider: m.Provider, Kind: provider.KindQuota, Hint: provider.HintFinal, Message: full.Error()}}, nil
	}
	if err != nil {
		return a, err
	}
	settle := q.hold(ctx, pass)
	defer func() { settle(a.Usage) }()
	near := [2]bool{}
	q.call.Bounds, q.call.Stream = q.cfg.Limits.SessionBudget.Bounds("session", pass.Others(), &near), pass.Stream
	if err := q.call.Affordable(q.call.Estimate.Usage()); err != nil {
		return aside.Answer{Err: err}, nil
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(q.agent, func() { stop(feed.ErrClosed) })()
	begun := q.cfg.Now()
	defer func() {
		if p := recover(); p != nil {
			a.Err = fault.Panicked(q.cfg.Log, "provider", p)
		}
		q.tell(a, begun)
	}()
	return q.call.Run(ctx, said), nil
}

// hold keeps the reservation of the call in the ledger, and returns what puts the use in its place. A store that takes nothing does not
// stop the call; then the use counts until the daemon exits.
func (q *Aside) hold(ctx context.Context, pass *gate.Pass) (settle func(provider.Usage)) {
	ctx = context.WithoutCancel(ctx)
	ledger, id := q.cfg.Store.Ledger(), session.NewConfirmID()
	held := ledger.Hold(ctx, q.ref, id, pass.Reserved)
	return func(used provider.Usage) {
		defer pass.SettleLogged(used)
		err := held
		if err == nil {
			err = ledger.Settle(ctx, q.ref, id, used, nil)
		}
		if err != nil {
			q.cfg.Log.Warn("what a side question used is not in the ledger", "session", q.report.Session, "err", err)
		}
	}
}

// tell tells of the exchange.
func (q *Aside) tell(a aside.Answer, begun time.Time) {
	if q.cfg.Called == nil {
		return
	}
	r := q.report
	r.Begun, r.Heard, r.Ended, r.Stop, r.As, r.Usage = begun, a.Heard, q.cfg.Now(), a.Reason, a.As, a.Usage
	if a.Err != nil {
		r.Stop, r.Fault = "", faultOf(a.Err)
	}
	q.cfg.Called(r)
}
