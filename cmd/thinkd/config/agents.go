package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/agent/egress"
	"github.com/thinkd/thinkd/registry"
)

// agents are those that the file states, by name, each checked against the catalog.
func (src *source) agents(f map[string]registry.AgentText, catalog *registry.Catalog) ([]registry.Agent, error) {
	var list []registry.Agent
	for _, name := range slices.Sorted(maps.Keys(f)) {
		key := "agents." + name
		if err := registry.CheckAgentName(name); err != nil {
			return nil, src.errorf(key, "%w", err)
		}
		if model := f[name].Model; model != "" {
			if _, err := catalog.Find(model); err != nil {
				return nil, src.errorf(key+".model", "%w", err)
			}
		}
		if model := f[name].CompactModel; model != "" {
			if _, err := catalog.Find(model); err != nil {
				return nil, src.errorf(key+".compact_model", "%w", err)
			}
		}
		if f[name].Fallbacks != nil {
			if _, err := src.fallbacks(key+".fallbacks", *f[name].Fallbacks, catalog); err != nil {
				return nil, err
			}
		}
		if err := egress.CheckLabels(f[name].Egress); err != nil {
			return nil, src.errorf(key+".egress", "%w", err)
		}
		a, err := f[name].Agent(name)
		if err != nil {
			return nil, src.overrideError(key+".", err)
		}
		list = append(list, a)
	}
	return list, nil
}

// fallbacks checks a list, and returns it with the full ids of its models.
func (src *source) fallbacks(key string, f []registry.FallbackModel, catalog *registry.Catalog) ([]registry.FallbackModel, error) {
	err := registry.CheckFallbacks(f)
	if wrong, ok := errors.AsType[*registry.OverrideError](err); ok {
		return nil, src.errorf(key+strings.TrimPrefix(wrong.Field, "fallbacks"), "%w", wrong.Err)
	}
	list := slices.Clone(f)
	for i := range list {
		m, err := catalog.Find(list[i].Model)
		if err != nil {
			return nil, src.errorf(fmt.Sprintf("%s.%d.model", key, i), "%w", err)
		}
		list[i].Model = m.Ref()
	}
	return list, nil
}
