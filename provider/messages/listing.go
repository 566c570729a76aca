package messages

import (
	"context"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// Models lists what the vendor has (docs: models API). The list tells which efforts and forms of thinking a model takes;
// not its default, nor how it shows thinking. Other hosts' lists tell names.
func (a *API) Models(ctx context.Context) ([]provider.Model, error) {
	switch {
	case a.host.List != nil:
		return a.host.List(ctx, &a.caller, a.caller.Header(""))
	case a.host.ListBase != nil:
		return a.list(ctx, a.host.ListBase(a.caller.BaseURL))
	case a.host.Plain || a.host.Address != nil || a.host.Betas != nil:
		return nil, provider.ErrNoList
	}
	return a.list(ctx, a.caller.BaseURL)
}

// ListsOwn reports whether the list has only the models that this adapter speaks to, though the provider has others.
func (a *API) ListsOwn() bool { return a.host.ListBase != nil }

func (a *API) list(ctx context.Context, base string) ([]provider.Model, error) {
	if err := a.caller.NoKey(); err != nil {
		return nil, err
	}
	entries, err := a.caller.Pages(ctx, base+"/v1/models?limit=1000", "after_id", a.header(nil), "data", func(page gjson.Result) string {
		if !page.Get("has_more").Bool() {
			return ""
		}
		return page.Get("last_id").Str
	})
	if err != nil {
		return nil, err
	}
	var list []provider.Model
	for _, m := range entries {
		if id := m.Get("id").Str; id != "" {
			list = append(list, a.listed(id, m))
		}
	}
	return list, nil
}

func (a *API) listed(id string, m gjson.Result) provider.Model {
	can := m.Get("capabilities")
	row := provider.Model{
		Provider: a.caller.Provider, ID: id, Name: m.Get("display_name").Str, Tools: true,
		Window: provider.Tokens(m.Get("max_input_tokens").Int()), MaxOutput: provider.Tokens(m.Get("max_tokens").Int()),
		Thinking: capability(can), Source: provider.FromRefreshed, AsOf: provider.Today(), Lifecycle: exchange.ListedLifecycle(m),
	}
	if image := can.Get("image_input.supported"); image.Exists() {
		row.Input = []string{"text"}
		if image.Bool() {
			row.Input = append(row.Input, "image")
		}
		if can.Get("pdf_input.supported").Bool() {
			row.Input = append(row.Input, "pdf")
		}
	}
	return row
}

// capability is what the list says of thinking; an older list says nothing.
func capability(can gjson.Result) provider.Capability {
	thinking := can.Get("thinking")
	takes := func(kind string) bool { return thinking.Get("types." + kind + ".supported").Bool() }
	var c provider.Capability
	switch {
	case !thinking.Exists():
		return c
	case !thinking.Get("supported").Bool():
		c.Control = provider.ControlNone
		return c
	case takes("adaptive"):
		c.Control = provider.ControlEffort
	case takes("enabled"):
		c.Control = provider.ControlBudget
		c.EffortToo = can.Get("effort.supported").Bool()
	default:
		return c
	}
	switch {
	case takes("disabled"):
		c.Off = provider.OffFull
	case takes("between_tools"):
		c.Off = provider.OffUpFront
	}
	if c.Control == provider.ControlBudget {
		return c // the levels of a budget are ours
	}
	for _, level := range []provider.Level{provider.Minimal, provider.Low, provider.Medium, provider.High, provider.XHigh, provider.Max} {
		if can.Get("effort." + string(level) + ".supported").Bool() {
			c.Levels = append(c.Levels, level)
		}
	}
	if len(c.Levels) > 0 && c.CanDisable() {
		c.Levels = slices.Insert(c.Levels, 0, provider.Off)
	}
	return c
}
