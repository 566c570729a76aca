package acp

import (
	"cmp"
	"context"
	"slices"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// Ids of the options. Editors look for these words where a category is not enough for them.
const (
	optionModel = "model"
	optionMode  = "mode"
	optionLevel = "reasoning_effort"
)

// options is the complete list for a session as it stands. Another model has other levels, so a change of one option is
// sent as the list.
func (e *Editor) options(st agent.State) []option {
	return []option{e.modelOption(st), modeOption(st.Session.Mode), levelOption(st)}
}

// modelOption has the models that can be used now, and the session's own whether it can or not.
func (e *Editor) modelOption(st agent.State) option {
	current := session.ModelRef{Provider: st.Model.Provider, ID: st.Model.ID}.String()
	o := option{ID: optionModel, Name: "Model", Category: "model", Type: "select", Current: current, Options: []choice{}}
	available := make(map[string]bool)
	for _, s := range e.server.config.Providers() {
		available[s.ID] = s.Available
	}
	found := false
	for _, m := range e.server.config.Catalog.Models() {
		ref := session.ModelRef{Provider: m.Provider, ID: m.ID}.String()
		if ref != current && !available[m.Provider] {
			continue
		}
		found = found || ref == current
		o.Options = append(o.Options, choice{Value: ref, Name: cmp.Or(m.Name, m.ID)})
	}
	if !found {
		o.Options = append(o.Options, choice{Value: current, Name: cmp.Or(st.Model.Name, st.Model.ID)})
	}
	return o
}

var levelNames = map[provider.Level]string{
	provider.Off: "Off", provider.Auto: "Provider default", provider.On: "On", provider.Minimal: "Minimal", provider.Low: "Low",
	provider.Medium: "Medium", provider.High: "High", provider.XHigh: "Extra high", provider.Max: "Max",
}

// levelOption has the levels of the session's model. The chosen one is the level in effect: the one that the user prefers may
// be none of this model's, and is shown beside it.
func levelOption(st agent.State) option {
	d := st.Decision
	levels := slices.Clone(d.Supported)
	switch {
	case !d.KnownModel: // it is unknown what it takes; a level passes as its vendor spells it
		levels = []provider.Level{provider.Auto, provider.Off, provider.Low, provider.Medium, provider.High}
	case st.Model.Thinking.Thinks():
		levels = slices.Insert(levels, 0, provider.Auto)
	}
	if !slices.Contains(levels, d.Effective) {
		levels = append(levels, d.Effective)
	}
	o := option{ID: optionLevel, Name: "Thinking", Category: "thought_level", Type: "select", Current: string(d.Effective),
		Options: []choice{}, Meta: meta{metaKey + "/level": map[string]any{
			"preferred": wire.Preferred(st.Session.Settings), "effective": d.Effective, "reason": d.Reason}}}
	for i, level := range levels {
		if !slices.Contains(levels[:i], level) {
			o.Options = append(o.Options, choice{Value: string(level), Name: cmp.Or(levelNames[level], string(level))})
		}
	}
	return o
}

func modeOption(mode tool.Mode) option {
	o := option{ID: optionMode, Name: "Mode", Category: "mode", Type: "select", Current: string(cmp.Or(mode, tool.ModeAsk))}
	for _, m := range modeList() {
		o.Options = append(o.Options, choice{Value: m.ID, Name: m.Name, About: m.About})
	}
	return o
}

func modeList() []mode {
	return []mode{
		{string(tool.ModeAsk), "Ask", "Asks before it changes or runs anything"},
		{string(tool.ModeEdit), "Edit freely", "Changes files without asking, and asks before it runs anything"},
		{string(tool.ModeRead), "Read only", "Reads, and refuses the rest"},
	}
}

func modesOf(st agent.State) *modes {
	return &modes{string(cmp.Or(st.Session.Mode, tool.ModeAsk)), modeList()}
}

type setOptionParams struct {
	Session sessionID `json:"sessionId"`
	Option  string    `json:"configId"`
	Value   any       `json:"value"`
}

type optionsResult struct {
	Options []option `json:"configOptions"`
}

// setOption applies from the next turn. The answer is the list, so this client's sender does not send it again.
func setOption(ctx context.Context, e *Editor, p setOptionParams) (optionsResult, error) {
	value, ok := p.Value.(string)
	if !ok {
		return optionsResult{}, conn.InvalidParams("value", "must be a string; no option is of another type")
	}
	var change agent.Change
	switch p.Option {
	case optionModel:
		m, err := e.Model(value, "")
		if err != nil {
			return optionsResult{}, err
		}
		change.Model = &m
	case optionLevel:
		level, err := provider.ParseLevel(value)
		if err != nil {
			return optionsResult{}, err
		}
		change.Level = &level
	case optionMode:
		mode, err := readMode("value", value)
		if err != nil {
			return optionsResult{}, err
		}
		change.Mode = &mode
	default:
		return optionsResult{}, conn.InvalidParams("configId", "there is no option %q", wire.Characters(p.Option, 100))
	}
	th := e.thread(p.Session.ID)
	if th != nil { // the sender waits, so that it does not send the list again
		th.mu.Lock()
		defer th.mu.Unlock()
	}
	st, err := e.change(ctx, p.Session, change)
	if err != nil {
		return optionsResult{}, err
	}
	list := e.options(st)
	if th != nil {
		th.toldLocked(list)
	}
	return optionsResult{list}, nil
}

func readMode(member, word string) (mode tool.Mode, err error) {
	if err := mode.UnmarshalText([]byte(word)); err != nil {
		return mode, conn.InvalidParams(member, "%v", err)
	}
	return mode, nil
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
	mode, err := readMode("modeId", p.Mode)
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
