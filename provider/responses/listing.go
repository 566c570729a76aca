package responses

import (
	"context"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// Models lists what the host has, where its list tells more than names: that is the ChatGPT plan's backend alone. Its
// form is that of OpenAI's own client, which is open source.
func (a *API) Models(ctx context.Context) ([]provider.Model, error) {
	if a.host.Catalog == "" && a.host.List == "" {
		return nil, provider.ErrNoList
	}
	if err := a.caller.NoKey(); err != nil {
		return nil, err
	}
	if a.host.List != "" {
		return a.caller.PlainList(ctx, a.caller.BaseURL+a.host.List, a.header(nil, "thinkd", "user"))
	}
	answer, err := a.caller.List(ctx, a.caller.BaseURL+a.host.Catalog, a.header(nil, "thinkd", "user"), "models")
	if err != nil {
		return nil, err
	}
	var list []provider.Model
	for _, m := range answer.Get("models").Array() {
		id := m.Get("slug").Str
		if id == "" || m.Get("visibility").Str == "hide" {
			continue
		}
		row := provider.Model{
			Provider: a.caller.Provider, ID: id, Name: m.Get("display_name").Str, Tools: true,
			Window: provider.Tokens(m.Get("context_window").Int()), Thinking: leveled(m),
			Source: provider.FromRefreshed, AsOf: provider.Today(),
		}
		for _, kind := range m.Get("input_modalities").Array() {
			if slices.Contains([]string{"text", "image", "audio"}, kind.Str) {
				row.Input = append(row.Input, kind.Str)
			}
		}
		list = append(list, row)
	}
	return list, nil
}

// leveled reads the levels. Some are not efforts, but words for a mode of the vendor's own client.
func leveled(m gjson.Result) provider.Capability {
	var c provider.Capability
	words := m.Get("supported_reasoning_levels")
	if !words.IsArray() {
		return c
	}
	c.Control = provider.ControlNone
	for _, word := range words.Array() {
		level, err := provider.ParseLevel(word.Get("effort").Str)
		switch {
		case err != nil, level == provider.On, level == provider.Auto:
		case level == provider.Off:
			c.Off = provider.OffFull
		case !slices.Contains(c.Levels, level):
			c.Levels, c.Control = append(c.Levels, level), provider.ControlEffort
		}
	}
	if c.Control == provider.ControlNone {
		c.Off = provider.OffNever
		return c
	}
	slices.SortFunc(c.Levels, func(a, b provider.Level) int { return a.Rank() - b.Rank() })
	if c.CanDisable() {
		c.Levels = slices.Insert(c.Levels, 0, provider.Off)
	}
	if level, err := provider.ParseLevel(m.Get("default_reasoning_level").Str); err == nil && slices.Contains(c.Levels, level) {
		c.Default = level
	}
	return c
}
