package main

import (
	"maps"
	"slices"
	"time"

	"github.com/thinkd/thinkd/agent/tool"
)

// toolsConfig says which calls of tools run, which ask a person, and which are refused.
type toolsConfig struct {
	Rules       tool.Policy
	ConfirmTime time.Duration // until silence is a no
}

// fileTools is [tools] as written.
type fileTools struct {
	ConfirmTime any               `toml:"confirm_time"` // see parseTime
	Names       map[string]string `toml:"names"`
	Effects     map[string]string `toml:"effects"`
}

func (src *source) tools(f fileTools) (toolsConfig, error) {
	c := toolsConfig{ConfirmTime: 5 * time.Minute}
	if f.ConfirmTime != nil {
		var err error
		if c.ConfirmTime, err = parseTime(f.ConfirmTime); err != nil {
			return c, src.errorf("tools.confirm_time", "%w", err)
		}
		if c.ConfirmTime <= 0 {
			return c, src.errorf("tools.confirm_time", "wants more than nothing")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Names)) {
		var r tool.Rule
		if err := r.UnmarshalText([]byte(f.Names[name])); err != nil {
			return c, src.errorf("tools.names."+name, "%w", err)
		}
		if c.Rules.Names == nil {
			c.Rules.Names = make(map[string]tool.Rule)
		}
		c.Rules.Names[name] = r
	}
	for _, word := range slices.Sorted(maps.Keys(f.Effects)) {
		var e tool.Effect
		if err := e.UnmarshalText([]byte(word)); err != nil {
			return c, src.errorf("tools.effects."+word, "%w", err)
		}
		var r tool.Rule
		if err := r.UnmarshalText([]byte(f.Effects[word])); err != nil {
			return c, src.errorf("tools.effects."+word, "%w", err)
		}
		if c.Rules.Effects == nil {
			c.Rules.Effects = make(map[tool.Effect]tool.Rule)
		}
		c.Rules.Effects[e] = r
	}
	return c, nil
}
