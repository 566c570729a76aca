package acp

import (
	"context"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/rpc/acp/option"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
)

// options is the complete list for a session as it stands.
func (e *Editor) options(st agent.State) []option.Option {
	available := make(map[string]bool)
	for _, s := range e.Providers() {
		available[s.ID] = s.Available
	}
	return option.List(option.Source{Models: e.server.config.Catalog.Models(), Boolean: bool(e.can.Session.Options.Boolean),
		Available: func(id string) bool { return available[id] }}, st)
}

type setOptionParams struct {
	Session sessionID `json:"sessionId"`
	Option  string    `json:"configId"`
	Value   any       `json:"value"`
}

type optionsResult struct {
	Options []option.Option `json:"configOptions"`
}

// setOption applies from the next turn. The answer is the list, so this client's sender does not send it again.
func setOption(ctx context.Context, e *Editor, p setOptionParams) (optionsResult, error) {
	th := e.thread(p.Session.ID)
	if th != nil { // the sender waits, so that it does not send the list again
		th.mu.Lock()
		defer th.mu.Unlock()
	}
	if err := p.Session.check(); err != nil {
		return optionsResult{}, err
	}
	st, err := service.OnAgent(ctx, e, p.Session.ID, func(a *agent.Agent) (agent.State, error) {
		now, err := a.State(ctx)
		if err != nil {
			return now, err
		}
		change, err := option.Change(p.Option, p.Value, now.Session.Settings, func(ref string) (session.ModelRef, error) { return e.Model(ref, "") })
		if err != nil {
			return now, err
		}
		return a.Set(ctx, change)
	})
	if err != nil {
		return optionsResult{}, err
	}
	list := e.options(st)
	if th != nil {
		th.toldLocked(list)
	}
	return optionsResult{list}, nil
}

func (e *Editor) change(ctx context.Context, id sessionID, change agent.Change) (agent.State, error) {
	if err := id.check(); err != nil {
		return agent.State{}, err
	}
	return service.OnAgent(ctx, e, id.ID, func(a *agent.Agent) (agent.State, error) { return a.Set(ctx, change) })
}

type setModeParams struct {
	Session sessionID `json:"sessionId"`
	Mode    string    `json:"modeId"`
}

func setMode(ctx context.Context, e *Editor, p setModeParams) (method.Nothing, error) {
	mode, err := option.ReadMode("modeId", p.Mode)
	if err != nil {
		return method.Nothing{}, err
	}
	_, err = e.change(ctx, p.Session, agent.Change{Mode: &mode})
	return method.Nothing{}, err
}

type setModelParams struct {
	Session sessionID `json:"sessionId"`
	Model   string    `json:"modelId"`
}

// setModel is of the protocol's early days, and still said. The list of options follows.
func setModel(ctx context.Context, e *Editor, p setModelParams) (method.Nothing, error) {
	m, err := e.Model(p.Model, "")
	if err != nil {
		return method.Nothing{}, err
	}
	_, err = e.change(ctx, p.Session, agent.Change{Model: &m})
	return method.Nothing{}, err
}
