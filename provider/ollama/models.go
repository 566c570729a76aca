package ollama

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// Models lists what is installed. Capabilities are asked for model by model, since older servers do not list them; a
// model that cannot be described any more was deleted meanwhile and is left out.
func (a *API) Models(ctx context.Context) ([]provider.Model, error) {
	if err := a.caller.NoKey(); err != nil {
		return nil, err
	}
	tags, err := a.caller.List(ctx, a.caller.BaseURL+"/api/tags", a.header(), "models")
	if err != nil {
		return nil, err
	}
	var list []provider.Model
	for _, m := range tags.Get("models").Array() {
		name := m.Get("model").Str
		if name == "" {
			name = m.Get("name").Str
		}
		if name == "" {
			continue
		}
		row, err := a.describe(ctx, name)
		if e, ok := err.(*provider.Error); ok && e.Status == http.StatusNotFound {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", name, err)
		}
		list = append(list, row)
	}
	return list, nil
}

// describe makes the row of one model (docs: api/show).
func (a *API) describe(ctx context.Context, name string) (provider.Model, error) {
	ask, err := json.Marshal(map[string]string{"model": name})
	if err != nil {
		return provider.Model{}, err
	}
	resp, err := a.caller.Post(ctx, a.caller.BaseURL+"/api/show", a.header(), ask)
	if err != nil {
		return provider.Model{}, err
	}
	show, err := a.caller.JSON(ctx, resp)
	if err != nil {
		return provider.Model{}, err
	}
	var can []string
	for _, c := range show.Get("capabilities").Array() {
		can = append(can, c.Str)
	}
	row := provider.Model{
		Provider: a.caller.Provider, ID: name, Name: name, Known: true, Source: provider.FromLive,
		Thinking: capability(name, show.Get("details.family").Str, slices.Contains(can, "thinking")),
		Tools:    slices.Contains(can, "tools"), Input: []string{"text"},
	}
	if slices.Contains(can, "vision") {
		row.Input = append(row.Input, "image")
	}
	info := show.Get("model_info")
	length := strings.ReplaceAll(info.Get(`general\.architecture`).Str, ".", `\.`) + `\.context_length`
	row.Window = provider.Tokens(info.Get(length).Int()) // what it was trained for
	return row, nil
}

// capability says how a model's thinking is controlled. The API tells whether there is any and no more: levels are
// those of the family (docs: capabilities/thinking).
func capability(name, family string, thinks bool) provider.Capability {
	switch {
	case !thinks:
		return provider.Capability{Control: provider.ControlNone, Levels: []provider.Level{provider.Off}, Default: provider.Off}
	case family == "gptoss" || strings.Contains(name, "gpt-oss"):
		return provider.Capability{Control: provider.ControlEffort, Default: provider.Medium,
			Levels: []provider.Level{provider.Low, provider.Medium, provider.High}}
	case strings.HasPrefix(name, "qwen3.8"):
		return provider.Capability{Control: provider.ControlEffort, Default: provider.High, Off: provider.OffFull,
			Levels: []provider.Level{provider.Off, provider.Low, provider.Medium, provider.High}}
	}
	return provider.Capability{Control: provider.ControlToggle, Default: provider.On, Off: provider.OffFull,
		Levels: []provider.Level{provider.Off, provider.On}}
}

// Unload frees the memory of a model: a chat without messages that keeps it for no time only unloads it (docs: faq).
func (a *API) Unload(ctx context.Context, m provider.Model) error {
	body, err := json.Marshal(map[string]any{"model": m.ID, "messages": []message{}, "keep_alive": 0, "stream": false})
	if err != nil {
		return err
	}
	resp, err := a.caller.Post(ctx, a.caller.BaseURL+"/api/chat", a.header(), body)
	if err != nil {
		return err
	}
	said, err := a.caller.JSON(ctx, resp)
	if err == nil && said.Get("done_reason").Str != "unload" {
		return a.caller.NoAnswer(resp, "the model "+m.ID+" is not unloaded: "+said.Raw)
	}
	return err
}
