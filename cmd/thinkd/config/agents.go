package config

import (
	"errors"
	"maps"
	"slices"

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
		a, err := f[name].Agent(name)
		if wrong, ok := errors.AsType[*registry.OverrideError](err); ok {
			return nil, src.errorf(key+"."+wrong.Field, "%w", wrong.Err)
		}
		list = append(list, a)
	}
	return list, nil
}
