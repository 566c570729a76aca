package agent

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/agent/egress"
	"github.com/thinkd/thinkd/agent/fallback"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/forecast"
	"github.com/thinkd/thinkd/agent/media"
	"github.com/thinkd/thinkd/agent/privacy"
	"github.com/thinkd/thinkd/agent/quote"
	"github.com/thinkd/thinkd/agent/structured"
	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/registry/options"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// choice is the model of a call, and how the model is asked.
type choice struct {
	model    provider.Model
	provider provider.Provider // nil: no provider of that name is configured
	decision provider.Decision
	asked    provider.AskedOptions
	options  provider.OptionDecision
	cache    feed.Cache // with it, after what the session's last model was sent
	address  string     // of the provider

	payer *session.Payer // nil: not known

	first   session.Link     // of the chain: the requested model
	key     string           // the name of the provider's key; empty: its first
	instead *session.Instead // nil: it is the first choice

	returned *session.Link // see [session.TurnStart]
}

func (c choice) link() session.Link { return session.Link{Model: c.ref(), Key: c.key} }

// start is what a turn that runs with the choice has in the log.
func (c choice) start() session.TurnStart {
	return session.TurnStart{Model: c.ref(), Reasoning: c.decision, Address: c.address, Payer: c.payer, Options: c.optionsKept(), Key: c.key, Instead: c.instead, Returned: c.returned}
}

func (c choice) ref() session.ModelRef { return refOf(c.model) }

func refOf(m provider.Model) session.ModelRef {
	return session.ModelRef{Provider: m.Provider, ID: m.ID}
}

func (c choice) shown() feed.Model {
	return feed.Model{Provider: c.model.Provider, ID: c.model.ID, Level: c.decision.Effective}
}

// conversation is the session's history in the form that models get. It belongs to the goroutine of the view.
type conversation struct {
	cfg   *Config
	view  *session.View
	trial *session.LeftOut // left out on trial by the running call; nil: nothing

	pending string // see [transcript.Recipient]
}

// decide chooses the model and the level of a call: see [registry.Sources] for the order of what may state a level.
func (v conversation) decide(set session.Settings, o session.Override) (choice, error) {
	c, err := v.cfg.decideFor(set, o, v.kept)
	if err != nil || c.provider == nil {
		return c, err
	}
	if transcript.Changes(c.model, c.decision) || len(v.view.Repairs) > 0 { // what came before has a say in what is sent
		if c.decision.Wire, err = c.provider.Wire(v.asked(c)); err != nil {
			return c, err
		}
	}
	if err := v.settleOptions(&c); err != nil {
		return c, err
	}
	c.cache = v.cached(v.answered(nil), c)
	return c, nil
}

// next chooses what the next turn starts with: what decide does, or the fallback that the session stays with. See [fallback.Returns].
func (v conversation) next(set session.Settings, o session.Override) (choice, error) {
	c, err := v.decide(set, o)
	last := v.lastStart(nil)
	if err != nil || last == nil || last.Instead == nil {
		return c, err
	}
	if last.Instead.Of.At() == c.link() {
		c.returned = &session.Link{Model: last.Model, Level: last.Reasoning.Effective, Key: last.Key}
	}
	link, ok := fallback.Stays(last, v.chain(c.first, set, o))
	if !ok {
		return c, nil
	}
	stay, err := v.decideLink(link, c.first, set, o)
	if err != nil || v.callable(stay) != nil || fallback.Returns(*last.Instead, v.cfg.Now(), func() (bool, bool) { return quote.Cheaper(v.quote(c), v.quote(stay)) }) {
		return c, nil
	}
	stay.instead = last.Instead
	return stay, nil
}

// chain has the links of a turn whose first choice is first.
func (v conversation) chain(first session.Link, set session.Settings, o session.Override) []session.Link {
	links := v.cfg.Fallbacks
	for _, stated := range []*[]session.Link{set.Fallbacks, o.Fallbacks} {
		if stated != nil {
			links = *stated
		}
	}
	return fallback.Chain(first, links)
}

// decideLink decides for a link of a chain. A level that its model lacks never refuses a fallback.
func (v conversation) decideLink(l, first session.Link, set session.Settings, o session.Override) (choice, error) {
	o.Model, o.Level = &l.Model, cmp.Or(l.Level, o.Level)
	c, err := v.decide(set, o)
	if _, lacks := errors.AsType[*provider.LevelError](err); lacks {
		set.Fallback = provider.Downgrade
		c, err = v.decide(set, o)
	}
	c.first = first
	if c.key = l.Key; c.key != "" {
		c.payer = v.cfg.payer(l.Model.Provider, l.Key)
		c.cache = v.cached(v.answered(nil), c)
	}
	return c, err
}

// callable returns why a choice cannot be called, nil if it may be possible.
func (v conversation) callable(c choice) error {
	if c.provider == nil {
		return &provider.Error{Provider: c.model.Provider, Kind: provider.KindAuth, Message: "no such provider is configured"}
	}
	return cmp.Or(gone(c.model), v.egress(c.model.Provider))
}

// egress returns why the session may not send anything to a provider, nil if it may.
func (v conversation) egress(providerID string) error {
	return egress.Check(v.view.Session.Egress, providerID, v.cfg.egress(providerID))
}

// quote is what the next prompt with a choice will cost, without its content. No file is read for it.
func (v conversation) quote(c choice) quote.Quote {
	return v.draft(c, nil, nil).Quote(func(*provider.Request) {}).Next
}

// askAbove is what a prompt into a cold session may cost without a person's answer; 0: any amount.
func (v conversation) askAbove() provider.Money {
	if own := v.view.Session.AskAbove; own != nil {
		return *own
	}
	return v.cfg.Limits.AskAbove
}

// priceFactor says how many times as much output costs at one model as at another, nil if that is not known.
func (v conversation) priceFactor(from, to provider.Model) *float64 {
	const tokens = 1_000_000
	now := v.cfg.Now()
	was, is := from.Price.Cost(provider.Usage{Output: tokens}, now), to.Price.Cost(provider.Usage{Output: tokens}, now)
	if was == nil || is == nil || was.Amount == 0 {
		return nil
	}
	factor := is.Amount.Units() / was.Amount.Units()
	return &factor
}

// lastStart is what the newest turn that started ran with at last, except but; nil: none has started.
func (v conversation) lastStart(but *session.Turn) *session.TurnStart {
	for _, t := range slices.Backward(v.view.Turns) {
		if t != but && t.Start != nil {
			return t.Now()
		}
	}
	return nil
}

// settleOptions decides which of the requested options are sent, adjusted or refused.
func (v conversation) settleOptions(c *choice) error {
	var tools []string
	for _, t := range v.offered(c.model) {
		tools = append(tools, t.Name)
	}
	c.options = options.Resolve(c.asked, c.model, c.decision, options.Request{Tools: tools, ReadOnly: v.view.Session.Mode == tool.ModeRead})
	if c.provider == nil || len(c.options.Outcomes) == 0 {
		return nil
	}
	req := v.asked(*c)
	req.Tools = v.offered(c.model)
	c.askStructured(req)
	wire, err := provider.OptionsWireOf(c.provider, req)
	c.options.Wire = wire
	return err
}

// askStructured has the model answer by a tool, where its API has no parameter for a schema.
func (c choice) askStructured(req *provider.Request) {
	if c.options.Form == provider.OutputTool {
		structured.Ask(req, c.options.Force)
	}
}

// optionsShown is what clients see of the decision on options, nil if none are asked for.
func (c choice) optionsShown() *provider.OptionDecision {
	if len(c.options.Outcomes) == 0 {
		return nil
	}
	return &c.options
}

// optionsKept is what the log keeps of the options of a turn, nil if none are asked for.
func (c choice) optionsKept() *provider.AskedOptions {
	if c.asked.IsZero() {
		return nil
	}
	return &c.asked
}

func (cfg Config) decideFor(set session.Settings, o session.Override, kept func(provider.Model) provider.Model) (choice, error) {
	ref := set.Model
	if o.Model != nil {
		ref = *o.Model
	}
	c := choice{model: kept(cfg.Catalog.Model(ref.Provider, ref.ID)), provider: cfg.provider(set, ref.Provider), address: cfg.address(ref.Provider), payer: cfg.payer(ref.Provider, ""),
		first: session.Link{Model: ref, Level: o.Level}}
	if err := privacy.Check(set.Storage, c.model); err != nil {
		return c, err
	}
	from := registry.Sources{Turn: o.Level, Session: set.Level, Agent: override(set.Agent), Config: cfg.Level,
		Policy: set.Fallback, Display: privacy.Display(set.Storage, cmp.Or(o.Display, set.Display))}
	if cfg.Defaults != nil {
		from.Provider = cfg.Defaults(ref.Provider)
	}
	c.asked = options.Sources{Turn: o.Options.Or(), Session: set.Asked(), Agent: set.Agent.Options.Or(), Config: cfg.Options, Model: c.model.Options.Or()}.Ask()
	var err error
	if c.decision, err = registry.Resolve(from.Ask(), c.model); err != nil {
		return c, err
	}
	if c.provider != nil {
		c.decision.Wire, err = c.provider.Wire(&provider.Request{Model: c.model, Decision: c.decision})
	}
	return c, err
}

// Decide returns the model and the decision that a turn with this override would get in a session with these settings. It needs no
// session. It is safe for concurrent use. Errors: *provider.LevelError, and *provider.StorageError, also for a model that only a fallback
// or a summary would have.
func (cfg Config) Decide(set session.Settings, o session.Override) (provider.Model, provider.Decision, error) {
	c, err := cfg.decide(set, o)
	if err == nil {
		err = cfg.admits(set, o.Fallbacks)
	}
	return c.model, c.decision, err
}

// admits returns a *provider.StorageError if a session cannot call one of the models that its client or its agent states for some calls.
// The fallbacks of the config are for all sessions: one that cannot be called is skipped.
func (cfg Config) admits(set session.Settings, fallbacks *[]session.Link) error {
	var models []session.ModelRef
	for _, list := range []*[]session.Link{set.Fallbacks, fallbacks} {
		if list != nil {
			for _, l := range *list {
				models = append(models, l.Model)
			}
		}
	}
	if ref := set.Agent.CompactModel; ref != (session.ModelRef{}) {
		models = append(models, ref)
	}
	for _, ref := range models {
		if err := privacy.Check(set.Storage, cfg.Catalog.Model(ref.Provider, ref.ID)); err != nil {
			return err
		}
	}
	return nil
}

func (cfg Config) decide(set session.Settings, o session.Override) (choice, error) {
	return cfg.decideFor(set, o, func(m provider.Model) provider.Model { return m })
}

// ChoiceOf returns the part of an agent that a session keeps when it is created for that agent.
func ChoiceOf(a registry.Agent) session.AgentChoice {
	kept := session.AgentChoice{Name: a.Name}
	if a.Reasoning.Mode == registry.Custom {
		kept.Level, kept.Fallback = a.Reasoning.Level, a.Reasoning.Policy
	}
	if !a.Options.IsZero() {
		kept.Options = &a.Options
	}
	return kept
}

// askAgain is what a decision was asked for, to decide once more.
func askAgain(d provider.Decision) registry.Ask {
	ask := registry.Ask{Source: d.Source, Policy: d.Fallback, Display: d.Control.Display}
	if d.Source != provider.SourceModel && d.Source != provider.SourceUnset {
		ask.Level = d.Requested
	}
	return ask
}

// resolveAgain decides for a turn that has started. If the policy refuses, the nearest level is better than the end of the turn.
func resolveAgain(d provider.Decision, m provider.Model) (provider.Decision, error) {
	ask := askAgain(d)
	decision, err := registry.Resolve(ask, m)
	if err != nil {
		ask.Policy = provider.Downgrade
		decision, err = registry.Resolve(ask, m)
	}
	return decision, err
}

// started is the choice of a turn that another process has started. The model, the level and the API stay the same.
func (v conversation) started(t *session.Turn) (choice, error) {
	start := t.Now()
	ref, was := start.Model, start.Reasoning
	was.Control.Display = privacy.Display(v.view.Session.Storage, cmp.Or(t.Prompt.Override.Display, t.Prompt.Settings(v.view.Session.Settings).Display))
	c := choice{model: v.kept(v.cfg.Catalog.Model(ref.Provider, ref.ID)), provider: v.cfg.provider(v.view.Session.Settings, ref.Provider),
		address: v.cfg.address(ref.Provider), payer: start.Payer, key: start.Key, instead: start.Instead}
	if c.first = c.link(); c.instead != nil {
		c.first = c.instead.Of
	}
	var err error
	if c.decision, err = resolveAgain(was, c.model); err == nil && c.provider != nil {
		c.decision.Wire, err = c.provider.Wire(v.asked(c))
	}
	if start.Options != nil {
		c.asked = *start.Options
	}
	if err == nil {
		err = v.settleOptions(&c)
	}
	return c, err
}

// override is the opposite of [ChoiceOf]: what the agent stated when the session was made.
func override(a session.AgentChoice) registry.Override {
	return registry.Override{Mode: registry.Custom, Level: a.Level, Policy: a.Fallback}
}

// speaker is a catalog that knows in which APIs a provider speaks to a model.
type speaker interface {
	Spoken(m provider.Model, api string) provider.Model
}

// kept is a model's row with the API that this session already uses for it. A row may move to another API of its provider. New
// sessions follow. An existing session stays with its API, because thinking of one API is lost in another.
func (v conversation) kept(m provider.Model) provider.Model {
	catalog, ok := v.cfg.Catalog.(speaker)
	if !ok {
		return m
	}
	ref := session.ModelRef{Provider: m.Provider, ID: m.ID}
	for _, t := range slices.Backward(v.view.Turns) {
		for _, said := range slices.Backward(t.Messages) {
			if by := t.By(said); by == nil || by.Model != ref {
				continue
			}
			for _, part := range said.Parts {
				if api := provider.StateOf(part.Block).Origin.API; api != "" {
					return catalog.Spoken(m, api)
				}
			}
		}
	}
	return m
}

// gone is an error for a model that its vendor has retired, according to the vendor's list or a refusal. A date or a row of the
// catalog is not enough, because the vendor decides what it serves.
func gone(m provider.Model) error {
	if m.Lifecycle == nil || !m.Lifecycle.Gone {
		return nil
	}
	f := m.Facts.Lifecycle
	why := fmt.Sprintf("%s is retired: so says the %s", m.ID, f.Source)
	if f.AsOf != "" {
		why += " on " + f.AsOf
	}
	return &provider.Error{API: m.API, Provider: m.Provider, Kind: provider.KindBadRequest, Subject: provider.SubjectModel,
		Message: why + ". " + m.Lifecycle.Succession()}
}

// share is what a model is sent of the conversation.
func (v conversation) share(model session.ModelRef) transcript.Recipient {
	return transcript.Recipient{View: v.view, Model: model, Trial: v.trial, Pending: v.pending}
}

// requestFor returns the request that a choice would make of the conversation so far.
func (v conversation) requestFor(c choice) *provider.Request {
	req := v.asked(c)
	req.System, req.Tools, req.Messages = v.view.Session.SystemPrompt(), v.offered(c.model), v.share(c.ref()).Messages(c.model, c.decision)
	if req.Options.ToolChoice.Forces() && req.Initiator() == "agent" {
		req.Options.ToolChoice = "" // it was called: with the choice still forced, the turn would never end
	}
	c.askStructured(req)
	return req
}

// asked is the part of a request that the wire form of the thinking level depends on.
func (v conversation) asked(c choice) *provider.Request {
	opening, changed := v.share(c.ref()).Effort(c.model, c.decision)
	return &provider.Request{Model: c.model, Key: c.key, Decision: c.decision, Options: c.options.Effective, KeepAlive: v.view.Session.Settings.KeepAlive, Repairs: repairs(v.view), Opening: opening, Changed: changed,
		Opaque: v.view.Session.Storage == provider.StoreOpaque}
}

func repairs(v *session.View) []provider.Repair {
	var list []provider.Repair
	for _, r := range v.Repairs {
		list = append(list, r.Repair)
	}
	return list
}

// offered are the tools in a request: none for a model whose row says that it does not support tools.
func (v conversation) offered(m provider.Model) (tools []provider.Tool) {
	if m.Known && !m.Tools {
		return nil
	}
	for _, t := range v.view.Session.Tools {
		t.Description = cmp.Or(t.Description, t.Title)
		tools = append(tools, t.Tool)
	}
	return tools
}

// Omitted is a message that a model does not get, or not completely.
type Omitted struct {
	Message session.MessageID
	Share   session.Share // of it, that is sent
	Why     string
}

// omitted lists what of the conversation a model is not sent since its provider refused it, in the order of the refusals.
func (v conversation) omitted(model session.ModelRef) (list []Omitted) {
	for _, l := range v.view.LeftOut {
		if l.Model != model {
			continue
		}
		for _, id := range l.Messages {
			list = append(list, Omitted{id, session.NotSent, l.Why})
		}
		for _, id := range l.Emptied {
			list = append(list, Omitted{id, session.SentEmptied, l.Why})
		}
	}
	return list
}

// answered returns the newest section of a turn that a model answered, nil if there is none. The section with which running goes on
// does not count.
func (v conversation) answered(running *session.Turn) (newest *session.Section) {
	for _, t := range slices.Backward(v.view.Turns) {
		for _, part := range t.Sections() {
			if t == running && part.Start == t.Now() {
				continue
			}
			if slices.ContainsFunc(part.Messages, func(m *session.Message) bool {
				return m.Role == provider.Assistant && m.End != nil && m.End.Usage.Input > 0
			}) {
				newest = &part
			}
		}
		if newest != nil {
			break
		}
	}
	return newest
}

// cached returns the expected state of the vendor's prompt cache in a call with choice c. before is the section before the call, nil if
// no model has answered yet.
//
// A vendor caches the beginning of a request, and reads from the cache as long as the next request begins with the same bytes. A
// long conversation costs a tenth of its price that way. What breaks the cache:
//
//   - another model: each model has its own cache;
//   - another key: each account has its own cache;
//   - a summary in place of earlier messages;
//   - another thinking level, for most vendors. Equal wire forms (Decision.Wire) keep it. For others the adapter decides, because
//     only it knows which part of a request its vendor compares (provider.CacheOf);
//   - time. After it the cache is not lost, but cold.
//
// The result is a forecast for people. Explain shows it before a change, and a notice follows if a turn begins without the cache.
func (v conversation) cached(before *session.Section, c choice) feed.Cache {
	if before == nil || c.provider == nil {
		return feed.Cache{}
	}
	was, now := before.Start.Reasoning, c.decision
	if before.Start.Model != c.ref() {
		return feed.Cache{State: provider.CacheLost, Why: fmt.Sprintf("the model changed from %s to %s: its prompt cache starts again", before.Start.Model, c.ref())}
	}
	if before.Start.Key != c.key {
		return feed.Cache{State: provider.CacheLost, Why: fmt.Sprintf("another key of %s is used: its prompt cache starts again", c.ref().Provider)}
	}
	if v.view.Rebound(before.Messages[len(before.Messages)-1]) {
		return feed.Cache{State: provider.CacheLost, Why: "earlier messages were summarised: the prompt cache starts again"}
	}
	state, why := provider.CacheKept, ""
	if !bytes.Equal(was.Wire, now.Wire) {
		state, why = provider.CacheOf(c.provider, was.Wire, v.asked(c))
	}
	if until := warmUntil(before); state == provider.CacheKept && until != 0 && v.cfg.Now().UnixMilli() >= until {
		return feed.Cache{State: provider.CacheCold, Why: "the vendor kept the prompt until " + time.UnixMilli(until).UTC().Format(time.DateTime) + " UTC, and there was no call since"}
	}
	if state == provider.CacheKept || was.Effective == now.Effective {
		return feed.Cache{State: state, Why: why}
	}
	verdict := "starts again"
	if state == provider.CacheUnknown {
		verdict = "may start again"
	}
	return feed.Cache{State: state, Why: fmt.Sprintf("the thinking level changed from %s to %s: the prompt cache %s; %s", was.Effective, now.Effective, verdict, why)}
}

// warmUntil is until when the vendor keeps what the last call of a section left in its cache, in Unix milliseconds; 0: it keeps nothing, or
// that is not known.
func warmUntil(t *session.Section) int64 {
	for _, m := range slices.Backward(t.Messages) {
		if m.End != nil && m.End.Usage.Input > 0 {
			return m.End.WarmUntil
		}
	}
	return 0
}

// trace returns the record of the last answered call. ok is false if there is none, or if nothing is known of it.
func (v conversation) trace() (_ quote.Trace, ok bool) {
	for _, t := range slices.Backward(v.view.Turns) {
		for _, m := range slices.Backward(t.Messages) {
			if t.Start == nil || m.End == nil || m.End.Usage.Input == 0 {
				continue
			}
			if m.End.Prompt == nil {
				return quote.Trace{}, false
			}
			return quote.Trace{Model: t.By(m).Model.String(), Level: t.By(m).Reasoning.Effective, Prompt: *m.End.Prompt, Until: m.End.WarmUntil,
				Rebound: v.view.Rebound(m)}, true
		}
	}
	return quote.Trace{}, false
}

// draft is a quote of the next call with choice c. It is compared with a compaction of a passage before it, which keeps what is pinned;
// nil: with none.
func (v conversation) draft(c choice, compact *transcript.Passage, pinned []session.Pinned) *forecast.Draft {
	return forecast.New(forecast.Source{View: v.view, Provider: c.provider, Model: c.model, Decision: c.decision, State: c.cache.State,
		Compact: compact, Pinned: pinned, Now: v.cfg.Now(), Request: func(view *session.View) *provider.Request {
			as := v
			as.view = view
			return as.requestFor(c)
		}})
}

// estimateOf estimates the use of a call before it is made.
func (v conversation) estimateOf(model session.ModelRef, req *provider.Request) budget.Estimate {
	e := budget.Estimate{Sent: utf8.RuneCountInString(req.System)}
	for _, t := range req.Tools {
		e.Sent += utf8.RuneCountInString(t.Name) + utf8.RuneCountInString(t.Description) + utf8.RuneCount(t.Schema)
	}
	for _, m := range req.Messages {
		e.Sent += transcript.Characters(m.Blocks)
		tokens, unknown := media.Tokens(req.Model, m.Blocks)
		e.Shown, e.Media = e.Shown+tokens, e.Media+unknown
	}
	if u, ok := v.lastUsage(model); ok && u.Cached+u.CacheWrite > 0 {
		e.Cached = u.Input + u.Output
	}
	return e
}

// lastUsage is what the vendor counted for the last call of the session, if this model made it.
func (v conversation) lastUsage(model session.ModelRef) (provider.Usage, bool) {
	for _, t := range slices.Backward(v.view.Turns) {
		for _, m := range slices.Backward(t.Messages) {
			if m.End != nil && m.End.Usage.Input > 0 && !m.End.Usage.Estimated {
				return m.End.Usage, t.By(m).Model == model
			}
		}
	}
	return provider.Usage{}, false
}

// size returns how many tokens the next call with a choice will send: the vendor's count of the last call plus an estimate of what
// came since, or only an estimate if no vendor has counted since the last compaction. It reports whether the model's own vendor has
// counted most of it.
func (v conversation) size(c choice) (used int, counted bool) {
	since := 0
	parts := v.share(c.ref())
	first, message := v.view.Rest()
	for i := len(v.view.Turns) - 1; i >= first; i-- {
		t := v.view.Turns[i]
		if !parts.Spoken(t) {
			continue
		}
		for j := len(t.Messages) - 1; j >= 0 && (i > first || j >= message); j-- {
			m := t.Messages[j]
			if u := m.End; u != nil && u.Usage.Input > 0 && !v.view.Rebound(m) {
				same := t.By(m).Model == c.ref()
				return u.Usage.Size() + budget.Tokens(since), same && !u.Usage.Estimated
			}
			for _, p := range m.Parts {
				since += transcript.Characters(provider.Blocks{p.Block})
			}
		}
	}
	return budget.Tokens(v.estimateOf(c.ref(), v.requestFor(c)).Sent), false
}
