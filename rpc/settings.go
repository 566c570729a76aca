package rpc

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/thinkd/thinkd/agent/egress"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
)

type wireAgent struct {
	Name      string                `json:"agent"`
	Model     string                `json:"model_id,omitempty"`
	System    string                `json:"system_prompt,omitempty"`
	Reasoning registry.OverrideText `json:"reasoning"`
	OnOther   provider.OtherModel   `json:"on_other_model,omitempty"` // absent: as the config has it
	Level     provider.Level        `json:"thinking_level,omitempty"` // derived, for clients that know no other
	Options   *provider.Options     `json:"options,omitempty"`        // absent: none

	Fallbacks    *[]registry.FallbackModel `json:"fallbacks,omitempty"` // absent: as the config has it
	Egress       []string                  `json:"egress,omitempty"`
	CompactModel string                    `json:"compact_model,omitempty"` // absent: the session's
	AskAbove     *float64                  `json:"ask_above,omitempty"`     // USD; absent: as the config has it
}

func newWireAgent(a registry.Agent) wireAgent {
	reasoning, level := a.Reasoning.State()
	w := wireAgent{a.Name, a.Model, a.System, reasoning, a.OnOther, level, nil, a.Fallbacks, a.Egress, a.CompactModel, a.AskAbove}
	if !a.Options.IsZero() {
		w.Options = &a.Options
	}
	return w
}

type agentsResult struct {
	Agents []wireAgent `json:"agents"`
}

func agents(_ context.Context, c *client, _ method.Nothing) (agentsResult, error) {
	r := agentsResult{Agents: []wireAgent{}}
	for _, a := range c.Agents() {
		r.Agents = append(r.Agents, newWireAgent(a))
	}
	return r, nil
}

type setAgentParams struct {
	Name      string                 `json:"agent"`
	Model     *string                `json:"model_id,omitempty"`
	System    *string                `json:"system_prompt,omitempty"`
	Reasoning *registry.OverrideText `json:"reasoning,omitempty"`
	OnOther   provider.OtherModel    `json:"on_other_model,omitempty"`
	Level     string                 `json:"thinking_level,omitempty"`
	Options   *askedOptions          `json:"options,omitempty"` // in place of all of the agent's
	Remove    bool                   `json:"remove,omitempty"`

	Fallbacks    *[]registry.FallbackModel `json:"fallbacks,omitempty"`
	Egress       *[]string                 `json:"egress,omitempty"`
	CompactModel *string                   `json:"compact_model,omitempty"`
	AskAbove     *float64                  `json:"ask_above,omitempty"`
}

type setAgentResult struct {
	Agent *wireAgent `json:"agent"` // null: there is none of that name any more
}

func setAgent(_ context.Context, c *client, p setAgentParams) (setAgentResult, error) {
	settings := c.server.config.Settings
	if err := registry.CheckAgentName(p.Name); err != nil {
		return setAgentResult{}, conn.InvalidParams("agent", "%v", err)
	}
	var err error
	if p.Remove {
		err = settings.RemoveAgent(p.Name)
	} else {
		err = settings.SetAgent(p.Name, func(a *registry.Agent) error { return p.change(c, a) })
	}
	if err != nil {
		return setAgentResult{}, err
	}
	after, ok := settings.Agent(p.Name)
	if !ok {
		return setAgentResult{}, nil
	}
	shown := newWireAgent(after)
	return setAgentResult{&shown}, nil
}

// change sets what is stated; what is absent stays.
func (p setAgentParams) change(c *client, a *registry.Agent) error {
	for of, member := range map[*string]*string{&a.Model: p.Model, &a.CompactModel: p.CompactModel} {
		if member == nil {
			continue
		}
		*of = ""
		if *member != "" {
			m, err := c.Model(*member, "")
			if err != nil {
				return err
			}
			*of = m.String()
		}
	}
	if p.System != nil {
		a.System = *p.System
	}
	a.OnOther = cmp.Or(p.OnOther, a.OnOther)
	if p.Options != nil {
		a.Options = p.Options.Options
	}
	if _, err := c.Fallbacks("fallbacks", p.Fallbacks); err != nil {
		return err
	}
	a.Fallbacks = cmp.Or(p.Fallbacks, a.Fallbacks)
	if _, err := service.AskAbove("ask_above", p.AskAbove); err != nil {
		return err
	}
	a.AskAbove = cmp.Or(p.AskAbove, a.AskAbove)
	if p.Egress != nil {
		if err := egress.CheckLabels(*p.Egress); err != nil {
			return conn.InvalidParams("egress", "%v", err)
		}
		a.Egress = *p.Egress
	}
	// A client of the old form says back the word that was derived for it: that is no wish for less than there is.
	if _, derived := a.Reasoning.State(); p.Reasoning == nil && (p.Level == "" || provider.Level(p.Level) == derived) {
		return nil
	}
	var err error
	a.Reasoning, err = registry.ReadOverride(p.Reasoning, p.Level)
	return err
}

type setProviderParams struct {
	Provider string        `json:"provider"`
	Defaults *wireDefaults `json:"reasoning_defaults,omitempty"`
}

type setProviderResult struct {
	Provider wireProvider `json:"provider"`
}

func setProvider(_ context.Context, c *client, p setProviderParams) (setProviderResult, error) {
	find := func() (names []string, found *service.ProviderStatus) {
		for _, s := range c.server.config.Providers() {
			names = append(names, s.ID)
			if s.ID == p.Provider {
				found = &s
			}
		}
		return names, found
	}
	if names, found := find(); found == nil {
		slices.Sort(names)
		return setProviderResult{}, service.NoProvider(p.Provider, names)
	}
	var set *registry.Defaults
	if p.Defaults != nil {
		d, err := registry.ReadDefaults(string(p.Defaults.Effort), string(p.Defaults.Fallback))
		if wrong, ok := errors.AsType[*registry.OverrideError](err); ok {
			return setProviderResult{}, &registry.OverrideError{Field: "reasoning_defaults." + wrong.Field, Err: wrong.Err}
		}
		set = &d
	}
	if err := c.server.config.Settings.SetDefaults(p.Provider, set); err != nil {
		return setProviderResult{}, err
	}
	if changed := c.server.config.DefaultsChanged; changed != nil {
		changed(p.Provider)
	}
	_, after := find()
	return setProviderResult{newWireProvider(*after)}, nil
}
