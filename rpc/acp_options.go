package rpc

import (
	"cmp"
	"context"
	"slices"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
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

type acpOption struct {
	ID       string      `json:"id"`
	Name     string      `json:"name"`
	About    string      `json:"description,omitempty"`
	Category string      `json:"category"`
	Type     string      `json:"type"`
	Current  string      `json:"currentValue"`
	Options  []acpChoice `json:"options"`
	Meta     meta        `json:"_meta,omitempty"`
}

type acpChoice struct {
	Value string `json:"value"`
	Name  string `json:"name"`
	About string `json:"description,omitempty"`
}

// options is the complete list for a session as it stands. Another model has other levels, so a change of one option is
// told as the list.
func (c *client) options(st agent.State) []acpOption {
	return []acpOption{c.modelOption(st), modeOption(st.Session.Mode), levelOption(st)}
}

// modelOption has the models that can be used now, and the session's own whether it can or not.
func (c *client) modelOption(st agent.State) acpOption {
	current := session.ModelRef{Provider: st.Model.Provider, ID: st.Model.ID}.String()
	o := acpOption{ID: optionModel, Name: "Model", Category: "model", Type: "select", Current: current, Options: []acpChoice{}}
	available := make(map[string]bool)
	for _, s := range c.server.config.Providers() {
		available[s.ID] = s.Available
	}
	found := false
	for _, m := range c.server.config.Catalog.Models() {
		ref := session.ModelRef{Provider: m.Provider, ID: m.ID}.String()
		if ref != current && !available[m.Provider] {
			continue
		}
		found = found || ref == current
		o.Options = append(o.Options, acpChoice{Value: ref, Name: cmp.Or(m.Name, m.ID)})
	}
	if !found {
		o.Options = append(o.Options, acpChoice{Value: current, Name: cmp.Or(st.Model.Name, st.Model.ID)})
	}
	return o
}

var levelNames = map[provider.Level]string{
	provider.Off: "Off", provider.Auto: "Provider default", provider.On: "On", provider.Minimal: "Minimal", provider.Low: "Low",
	provider.Medium: "Medium", provider.High: "High", provider.XHigh: "Extra high", provider.Max: "Max",
}

// levelOption has the levels of the session's model. What is chosen is the level in force: the one that the user prefers may
// be none of this model's, and is told beside it.
func levelOption(st agent.State) acpOption {
	d := st.Decision
	levels := slices.Clone(d.Supported)
	switch {
	case !d.KnownModel: // nobody knows what it takes; a level passes as its vendor spells it
		levels = []provider.Level{provider.Auto, provider.Off, provider.Low, provider.Medium, provider.High}
	case st.Model.Thinking.Thinks():
		levels = slices.Insert(levels, 0, provider.Auto)
	}
	if !slices.Contains(levels, d.Effective) {
		levels = append(levels, d.Effective)
	}
	o := acpOption{ID: optionLevel, Name: "Thinking", Category: "thought_level", Type: "select", Current: string(d.Effective),
		Options: []acpChoice{}, Meta: meta{metaKey + "/level": map[string]any{
			"preferred": wire.Preferred(st.Session.Settings), "effective": d.Effective, "reason": d.Reason}}}
	for i, level := range levels {
		if !slices.Contains(levels[:i], level) {
			o.Options = append(o.Options, acpChoice{Value: string(level), Name: cmp.Or(levelNames[level], string(level))})
		}
	}
	return o
}

func modeOption(mode tool.Mode) acpOption {
	o := acpOption{ID: optionMode, Name: "Mode", Category: "mode", Type: "select", Current: string(cmp.Or(mode, tool.ModeAsk))}
	for _, m := range acpModeList() {
		o.Options = append(o.Options, acpChoice{Value: m.ID, Name: m.Name, About: m.About})
	}
	return o
}

// acpModes is the older form of the mode option, for clients that know no options.
type acpModes struct {
	Current   string    `json:"currentModeId"`
	Available []acpMode `json:"availableModes"`
}

type acpMode struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	About string `json:"description"`
}

func acpModeList() []acpMode {
	return []acpMode{
		{string(tool.ModeAsk), "Ask", "Asks before it changes or runs anything"},
		{string(tool.ModeEdit), "Edit freely", "Changes files without asking, and asks before it runs anything"},
		{string(tool.ModeRead), "Read only", "Reads, and refuses the rest"},
	}
}

func modesOf(st agent.State) *acpModes {
	return &acpModes{string(cmp.Or(st.Session.Mode, tool.ModeAsk)), acpModeList()}
}

type acpSetOptionParams struct {
	Session acpSessionID `json:"sessionId"`
	Option  string       `json:"configId"`
	Value   any          `json:"value"`
}

type acpOptionsResult struct {
	Options []acpOption `json:"configOptions"`
}

// acpSetOption acts on the next turn. The answer is the list, so this client's sender does not tell it again.
func acpSetOption(ctx context.Context, c *client, p acpSetOptionParams) (acpOptionsResult, error) {
	value, ok := p.Value.(string)
	if !ok {
		return acpOptionsResult{}, conn.InvalidParams("value", "must be a string; no option is of another type")
	}
	var change agent.Change
	switch p.Option {
	case optionModel:
		m, err := c.Model(value, "")
		if err != nil {
			return acpOptionsResult{}, err
		}
		change.Model = &m
	case optionLevel:
		level, err := provider.ParseLevel(value)
		if err != nil {
			return acpOptionsResult{}, err
		}
		change.Level = &level
	case optionMode:
		mode, err := readMode("value", value)
		if err != nil {
			return acpOptionsResult{}, err
		}
		change.Mode = &mode
	default:
		return acpOptionsResult{}, conn.InvalidParams("configId", "there is no option %q", wire.Characters(p.Option, 100))
	}
	th := c.editor.thread(p.Session.ID)
	if th != nil { // the sender waits, so that it finds the list told
		th.mu.Lock()
		defer th.mu.Unlock()
	}
	st, err := c.change(ctx, p.Session, change)
	if err != nil {
		return acpOptionsResult{}, err
	}
	list := c.options(st)
	if th != nil {
		th.toldLocked(list)
	}
	return acpOptionsResult{list}, nil
}

func readMode(member, word string) (mode tool.Mode, err error) {
	if err := mode.UnmarshalText([]byte(word)); err != nil {
		return mode, conn.InvalidParams(member, "%v", err)
	}
	return mode, nil
}

func (c *client) change(ctx context.Context, id acpSessionID, change agent.Change) (agent.State, error) {
	if err := id.check(); err != nil {
		return agent.State{}, err
	}
	return set(ctx, c, id.ID, change)
}

type acpSetModeParams struct {
	Session acpSessionID `json:"sessionId"`
	Mode    string       `json:"modeId"`
}

func acpSetMode(ctx context.Context, c *client, p acpSetModeParams) (method.Nothing, error) {
	mode, err := readMode("modeId", p.Mode)
	if err != nil {
		return method.Nothing{}, err
	}
	_, err = c.change(ctx, p.Session, agent.Change{Mode: &mode})
	return method.Nothing{}, err
}

type acpSetModelParams struct {
	Session acpSessionID `json:"sessionId"`
	Model   string       `json:"modelId"`
}

// acpSetModel is of the protocol's early days, and still said. The list of options follows.
func acpSetModel(ctx context.Context, c *client, p acpSetModelParams) (method.Nothing, error) {
	m, err := c.Model(p.Model, "")
	if err != nil {
		return method.Nothing{}, err
	}
	_, err = c.change(ctx, p.Session, agent.Change{Model: &m})
	return method.Nothing{}, err
}
