package main

import (
	"errors"
	"maps"
	"slices"

	"github.com/thinkd/thinkd/registry"
)

// agents are those that the file states, by name, each checked against the catalog.
func (src *source) agents(f map[string]fileAgent, catalog *registry.Catalog) ([]registry.Agent, error) {
	var list []registry.Agent
	for _, name := range slices.Sorted(maps.Keys(f)) {
		stated, key := f[name], "agents."+name
		if err := registry.CheckAgentName(name); err != nil {
			return nil, src.errorf(key, "%w", err)
		}
		a := registry.Agent{Name: name, Model: stated.Model, System: stated.System}
		if a.Model != "" {
			if _, err := catalog.Find(a.Model); err != nil {
				return nil, src.errorf(key+".model", "%w", err)
			}
		}
		var err error
		a.Reasoning, err = registry.ReadOverride((*registry.Stated)(stated.Reasoning), stated.Level)
		if wrong, ok := errors.AsType[*registry.OverrideError](err); ok {
			return nil, src.errorf(key+"."+wrong.Field, "%w", wrong.Err)
		}
		list = append(list, a)
	}
	return list, nil
}
