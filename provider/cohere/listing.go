package cohere

import (
	"context"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// Models lists the models of conversation (docs: reference/list-models). The list says whether a model thinks and what it takes, and not
// how much it writes or what it costs. It is still in the first version of the API.
func (a *API) Models(ctx context.Context) ([]provider.Model, error) {
	if err := a.caller.NoKey(); err != nil {
		return nil, err
	}
	found, err := a.caller.Pages(ctx, a.caller.BaseURL+"/v1/models?endpoint=chat&page_size=1000", "page_token", a.header(), "models",
		func(page gjson.Result) string { return page.Get("next_page_token").Str })
	if err != nil {
		return nil, err
	}
	var list []provider.Model
	for _, m := range found {
		if id := m.Get("name").Str; id != "" {
			list = append(list, a.listed(id, m))
		}
	}
	return list, nil
}

func (a *API) listed(id string, m gjson.Result) provider.Model {
	row := provider.Model{Provider: a.caller.Provider, ID: id, Tools: true, Window: provider.Tokens(m.Get("context_length").Int()),
		Source: provider.FromRefreshed, AsOf: provider.Today(), Lifecycle: &provider.Lifecycle{State: provider.LifecycleCurrent}}
	if m.Get("is_deprecated").Bool() {
		row.Lifecycle.State = provider.LifecycleDeprecated
	}
	features := m.Get("features")
	if !features.IsArray() {
		return row
	}
	var can []string
	for _, f := range features.Array() {
		can = append(can, f.Str)
	}
	row.Tools, row.Input = slices.Contains(can, "tools"), []string{"text"}
	if slices.Contains(can, "vision") {
		row.Input = append(row.Input, "image")
	}
	if !slices.Contains(can, "reasoning") { // of models that think, it does not say how far that can be controlled
		row.Thinking = provider.Capability{Control: provider.ControlNone, Levels: []provider.Level{provider.Off}, Default: provider.Off}
	}
	return row
}
