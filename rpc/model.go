package rpc

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
)

type modelsParams struct {
	Provider string `json:"provider,omitempty"`
	Refresh  bool   `json:"refresh,omitempty"`
}

type modelsResult struct {
	Models  []wire.CatalogModel  `json:"models"`
	Default string               `json:"default_model,omitempty"` // provider/id of new sessions whose client names none
	Refresh []registry.Refreshed `json:"refresh,omitempty"`
	Changes []registry.Change    `json:"changes,omitempty"` // by the refresh
	More    int                  `json:"more,omitempty"`    // changes that are not listed
}

// maxChanges bounds how many changes an answer lists.
const maxChanges = 1000

// models answers with the list first and what depends on it later: a local server may list its models meanwhile, and the default is one
// of the models that are shown.
func models(_ context.Context, c *client, p modelsParams) (modelsResult, error) {
	list := c.server.config.Catalog.Models()
	status := make(map[string]service.ProviderStatus)
	for _, s := range c.Providers() {
		status[s.ID] = s
	}
	if _, ok := status[p.Provider]; !ok && p.Provider != "" {
		return modelsResult{}, service.NoProvider(p.Provider, slices.Sorted(maps.Keys(status)))
	}
	r := modelsResult{Models: []wire.CatalogModel{}}
	if c.server.config.DefaultModel != nil {
		r.Default = c.DefaultModel().String()
	}
	for _, m := range list {
		if p.Provider == "" || m.Provider == p.Provider {
			s := status[m.Provider]
			r.Models = append(r.Models, wire.NewCatalogModel(m, s.Available, s.Why))
		}
	}
	return r, nil
}

// refreshModels asks the hosts, then answers as models does.
func refreshModels(ctx context.Context, c *client, p modelsParams) (func(context.Context) (modelsResult, error), error) {
	if _, err := models(ctx, c, p); err != nil { // no such provider
		return nil, err
	}
	if !c.OwnsMachine() { // it changes the list of all
		return nil, method.Forbidden(method.Settings, "models/list with refresh")
	}
	return func(ctx context.Context) (modelsResult, error) {
		var done registry.Refresh
		if refresh := c.server.config.Refresh; refresh != nil {
			var err error
			if done, err = refresh(ctx, p.Provider); err != nil {
				return modelsResult{}, err
			}
		}
		r, err := models(ctx, c, p)
		r.Refresh = append([]registry.Refreshed{}, done.Lists...)
		for i, change := range done.Changes {
			if of, _, _ := strings.Cut(change.Model, "/"); p.Provider != "" && of != p.Provider {
				continue
			}
			if len(r.Changes) == maxChanges {
				r.More = len(done.Changes) - i
				break
			}
			r.Changes = append(r.Changes, change)
		}
		return r, err
	}, nil
}

type setModelParams struct {
	Session  method.ID[session.ID] `json:"session_id"`
	Model    string                `json:"model_id"`
	Provider string                `json:"provider,omitempty"`
	Level    askedLevel            `json:"thinking_level,omitempty"`
}

type setModelResult struct {
	Model feed.Model `json:"model"`
	setThinkingResult
}

func setModel(ctx context.Context, c *client, p setModelParams) (setModelResult, error) {
	m, err := c.Model(p.Model, p.Provider)
	if err != nil {
		return setModelResult{}, err
	}
	change := agent.Change{Model: &m}
	if level := p.Level.level(); level != "" {
		change.Level = &level
	}
	st, err := set(ctx, c, p.Session.Value, change)
	return setModelResult{wire.ModelOf(st.Model, st.Decision), newSetThinkingResult(st)}, err
}

type setThinkingParams struct {
	Session  method.ID[session.ID] `json:"session_id"`
	Level    askedLevel            `json:"level"`
	Fallback provider.Policy       `json:"fallback,omitempty"`
	Display  provider.Display      `json:"display,omitempty"`
}

type setThinkingResult struct {
	Level     provider.Level    `json:"thinking_level"`
	Preferred *provider.Level   `json:"preferred_thinking_level"`
	Reasoning provider.Decision `json:"reasoning"`
	Levels    []provider.Level  `json:"thinking_levels"`
	Applies   applies           `json:"applies"`
}

// applies says when a change takes effect.
type applies string

const (
	appliesNow  applies = "now"
	appliesNext applies = "next_turn"
)

// Words lists both.
func (applies) Words() []string { return provider.Words(appliesNow, appliesNext) }

func newSetThinkingResult(st agent.State) setThinkingResult {
	r := setThinkingResult{Level: st.Decision.Effective, Preferred: wire.Preferred(st.Session.Settings), Reasoning: *wire.NewReasoning(st.Decision),
		Levels: append([]provider.Level{}, st.Decision.Supported...), Applies: appliesNow}
	if st.Running {
		r.Applies = appliesNext
	}
	return r
}

func setThinking(ctx context.Context, c *client, p setThinkingParams) (setThinkingResult, error) {
	level := p.Level.level()
	if level == "" {
		_, err := provider.ParseLevel("")
		return setThinkingResult{}, err
	}
	change := agent.Change{Level: &level}
	if p.Fallback != "" {
		change.Fallback = &p.Fallback
	}
	if p.Display != "" {
		change.Display = &p.Display
	}
	st, err := set(ctx, c, p.Session.Value, change)
	return newSetThinkingResult(st), err
}

func set(ctx context.Context, c *client, id session.ID, change agent.Change) (agent.State, error) {
	return service.OnAgent(ctx, c, id, func(a *agent.Agent) (agent.State, error) { return a.Set(ctx, change) })
}

type explainParams struct {
	Session method.ID[session.ID] `json:"session_id"`
	Model   string                `json:"model_id,omitempty"`
	Level   askedLevel            `json:"level,omitempty"`
	Options *askedOptions         `json:"options,omitempty"` // as of a turn
}

type explainResult struct {
	Reasoning provider.Decision `json:"reasoning"`

	Options *provider.OptionDecision `json:"options,omitempty"` // absent: none are asked for

	Facts  provider.Facts `json:"facts,omitzero"`
	Blocks *feed.Thoughts `json:"blocks,omitempty"` // absent: the provider cannot tell
	feed.Cache
	LeftOut []wireOmitted `json:"left_out,omitempty"`
}

// wireOmitted is a message that a model does not get, or not completely, because its provider refused it.
type wireOmitted struct {
	Message session.MessageID `json:"message_id"`
	Part    omittedPart       `json:"part"`
	Why     string            `json:"why"`
}

// omittedPart is what of a message is not sent.
type omittedPart string

const (
	omitsAll   omittedPart = "all"
	omitsMedia omittedPart = "media_and_results"
)

// Words lists both parts.
func (omittedPart) Words() []string { return provider.Words(omitsAll, omitsMedia) }

func newExplainResult(e agent.Explanation) explainResult {
	r := explainResult{Reasoning: *wire.NewReasoning(e.Decision), Options: e.Options, Facts: e.Model.Facts, Cache: e.Cache}
	if c := e.Earlier; c != nil {
		r.Blocks = feed.NewThoughts(*c)
	}
	for _, o := range e.LeftOut {
		part := omitsAll
		if o.Share == session.SentEmptied {
			part = omitsMedia
		}
		r.LeftOut = append(r.LeftOut, wireOmitted{o.Message, part, o.Why})
	}
	return r
}

func explain(ctx context.Context, c *client, p explainParams) (explainResult, error) {
	o := session.Override{Level: p.Level.level(), Options: p.Options.orNil()}
	if p.Model != "" {
		m, err := c.Model(p.Model, "")
		if err != nil {
			return explainResult{}, err
		}
		o.Model = &m
	}
	return service.OnAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (explainResult, error) {
		e, err := a.Explain(ctx, o)
		return newExplainResult(e), err
	})
}

type quoteParams struct {
	Session method.ID[session.ID] `json:"session_id"`
	Model   string                `json:"model_id,omitempty"`
	Level   askedLevel            `json:"thinking_level,omitempty"`
	Text    string                `json:"text,omitempty"`
	Content provider.Blocks       `json:"content,omitempty"`
}

// quoteResult has null for what is not known.
type quoteResult struct {
	Model     feed.Model        `json:"model"`
	Reasoning provider.Decision `json:"reasoning"`
	feed.Cache
	WarmUntil int64 `json:"warm_until,omitempty"`
	Running   bool  `json:"running,omitempty"`
	session.Quoted
}

func newQuoteResult(q agent.Quote) quoteResult {
	return quoteResult{Model: wire.ModelOf(q.Model, q.Decision), Reasoning: *wire.NewReasoning(q.Decision), Cache: q.Cache, WarmUntil: q.WarmUntil,
		Running: q.Running, Quoted: q.Quoted()}
}

// quote asks the adapter what it would send, which takes a while for a long conversation, on the goroutine of the late answer.
func quote(_ context.Context, c *client, p quoteParams) (func(context.Context) (quoteResult, error), error) {
	o := session.Override{Level: p.Level.level()}
	var prompt provider.Blocks
	if p.Text != "" || len(p.Content) > 0 {
		var err error
		if prompt, err = (promptParams{Text: p.Text, Content: p.Content}).content(); err != nil {
			return nil, err
		}
	}
	if p.Model != "" {
		m, err := c.Model(p.Model, "")
		if err != nil {
			return nil, err
		}
		o.Model = &m
	}
	return func(ctx context.Context) (quoteResult, error) {
		return service.OnAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (quoteResult, error) {
			q, err := a.Quote(ctx, o, prompt)
			return newQuoteResult(q), err
		})
	}, nil
}

type providersResult struct {
	Providers []wireProvider `json:"providers"`
}

type wireProvider struct {
	Provider  string        `json:"provider"`
	Available bool          `json:"available"`
	Why       string        `json:"why,omitempty"`
	Defaults  *wireDefaults `json:"reasoning_defaults"` // null: none were set
}

type wireDefaults struct {
	Effort   provider.Level  `json:"effort,omitempty"`
	Fallback provider.Policy `json:"fallback,omitempty"`
}

func providers(_ context.Context, c *client, _ method.Nothing) (providersResult, error) {
	r := providersResult{Providers: []wireProvider{}}
	for _, s := range c.Providers() {
		r.Providers = append(r.Providers, newWireProvider(s))
	}
	return r, nil
}

func newWireProvider(s service.ProviderStatus) wireProvider {
	w := wireProvider{Provider: s.ID, Available: s.Available, Why: s.Why}
	if s.Defaults != (registry.Defaults{}) {
		w.Defaults = &wireDefaults{s.Defaults.Level, s.Defaults.Policy}
	}
	return w
}
