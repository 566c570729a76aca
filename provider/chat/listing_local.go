package chat

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// listLMStudio asks for the native list of this or the last generation (LM Studio docs: rest/list). A model that is
// loaded has the window that it was loaded with, often a small one.
func (a *API) listLMStudio(ctx context.Context) ([]provider.Model, error) {
	list, err := a.list(ctx, a.root()+"/api/v1/models", "models")
	if e, ok := err.(*provider.Error); ok && e.Status == http.StatusNotFound {
		list, err = a.list(ctx, a.root()+"/api/v0/models", "data")
	}
	if err != nil {
		return nil, err
	}
	var rows []provider.Model
	for _, m := range list {
		id, kind, can := m.Get("key").Str, m.Get("type").Str, m.Get("capabilities")
		if id == "" {
			id = m.Get("id").Str
		}
		if id == "" || kind != "" && kind != "llm" && kind != "vlm" {
			continue
		}
		row := a.listed(id, m.Get("display_name").Str)
		row.Window = provider.Tokens(m.Get("max_context_length").Int())
		for _, loaded := range []string{"loaded_context_length", "loaded_instances.0.config.context_length"} {
			if n := provider.Tokens(m.Get(loaded).Int()); n > 0 {
				row.Window = n
			}
		}
		row.Input = []string{"text"}
		if kind == "vlm" || can.Get("vision").Bool() {
			row.Input = append(row.Input, "image")
		}
		row.Tools = !can.Exists() || has(can, "tool_use") || can.Get("trained_for_tool_use").Bool()
		row.Thinking = optional(can.Get("reasoning"))
		rows = append(rows, row)
	}
	return rows, nil
}

// optional reads the reasoning of a model's capabilities, which newer builds have: the options that it may be set to.
func optional(r gjson.Result) provider.Capability {
	var c provider.Capability
	switch {
	case r.Type == gjson.False:
		c.Control = provider.ControlNone
	case r.IsObject() && r.Get("allowed_options").IsArray():
		options := r.Get("allowed_options")
		levels, off := words(options.Array())
		switch {
		case len(levels) > 0:
			c.Control, c.Levels = provider.ControlEffort, levels
		case off:
			c.Control = provider.ControlToggle
		case has(options, "on"):
			c.Control = provider.ControlAlways
		}
		if off {
			c.Off = provider.OffFull
		}
		if level, err := provider.ParseLevel(r.Get("default").Str); err == nil {
			c.Default = level
		}
	}
	return c
}

// listLlamaCPP asks which model is served, and looks into its template (llama.cpp: tools/server/README). Where several
// are, the template is that of none of them.
func (a *API) listLlamaCPP(ctx context.Context) ([]provider.Model, error) {
	list, err := a.list(ctx, a.caller.BaseURL+"/models", "data")
	if err != nil {
		return nil, err
	}
	var props gjson.Result
	if len(list) == 1 {
		if props, err = a.props(ctx); err != nil {
			return nil, fmt.Errorf("what is loaded: %w", err)
		}
	}
	var rows []provider.Model
	for _, m := range list {
		id := m.Get("id").Str
		if id == "" {
			continue
		}
		row := a.listed(id, id[strings.LastIndexByte(id, '/')+1:])
		if row.Window = provider.Tokens(props.Get("default_generation_settings.n_ctx").Int()); row.Window == 0 {
			row.Window = provider.Tokens(m.Get("meta.n_ctx_train").Int())
		}
		row.Input = []string{"text"}
		if props.Get("modalities.vision").Bool() || has(m.Get("architecture.input_modalities"), "image") {
			row.Input = append(row.Input, "image")
		}
		if tools := props.Get("chat_template_caps.supports_tools"); tools.Exists() {
			row.Tools = tools.Bool()
		}
		row.Thinking = templated(props.Get("chat_template").Str)
		rows = append(rows, row)
	}
	return rows, nil
}

func (a *API) props(ctx context.Context) (gjson.Result, error) {
	header := a.header(&history{})
	header.Set("Accept", "application/json")
	resp, err := a.caller.Get(ctx, a.root()+"/props", header)
	if err != nil {
		return gjson.Result{}, err
	}
	return a.caller.JSON(ctx, resp)
}

// templated says how thinking is controlled by what a template asks for. A template that is missing says nothing.
func templated(template string) provider.Capability {
	asks := func(word string) bool { return strings.Contains(template, word) }
	var c provider.Capability
	switch {
	case template == "":
	case asks("reasoning_effort"):
		c.Control, c.Levels = provider.ControlEffort, []provider.Level{provider.Low, provider.Medium, provider.High}
		if asks("enable_thinking") {
			c.Off = provider.OffFull
		}
	case asks("enable_thinking"):
		c.Control, c.Off, c.Default = provider.ControlToggle, provider.OffFull, provider.On
	case asks("<think>"):
		c.Control = provider.ControlAlways
	default:
		c.Control = provider.ControlNone
	}
	return c
}

// listServed reads the list of servers that tell the window and no more (vLLM docs: openai_compatible_server).
func (a *API) listServed(ctx context.Context) ([]provider.Model, error) {
	list, err := a.list(ctx, a.caller.BaseURL+"/models", "data")
	if err != nil {
		return nil, err
	}
	var rows []provider.Model
	for _, m := range list {
		if id := m.Get("id").Str; id != "" {
			row := a.listed(id, id)
			row.Window = provider.Tokens(m.Get("max_model_len").Int())
			rows = append(rows, row)
		}
	}
	return rows, nil
}
