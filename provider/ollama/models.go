package ollama

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// maxList bounds what a list or a description may take, in bytes: a template and a licence are among it.
const maxList = 16 << 20

// Models lists what is installed. Capabilities are asked for model by model, since older servers do not list them; a
// model that cannot be described any more was deleted meanwhile and is left out.
func (a *API) Models(ctx context.Context) ([]provider.Model, error) {
	if err := a.caller.NoKey(a.base, a.keyVar); err != nil {
		return nil, err
	}
	resp, err := a.caller.Get(ctx, a.base+"/api/tags", a.header())
	if err != nil {
		return nil, err
	}
	tags, err := a.readJSON(ctx, resp)
	if err != nil {
		return nil, err
	}
	if !tags.Get("models").IsArray() {
		return nil, a.caller.NoAnswer(resp, "the answer is JSON, but no list of models")
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
	resp, err := a.caller.Post(ctx, a.base+"/api/show", a.header(), ask)
	if err != nil {
		return provider.Model{}, err
	}
	show, err := a.readJSON(ctx, resp)
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
	row.Window = int(min(max(info.Get(length).Int(), 0), 1<<40)) // what it was trained for
	return row, nil
}

func (a *API) readJSON(ctx context.Context, resp *http.Response) (gjson.Result, error) {
	defer resp.Body.Close()
	_, body, err := a.caller.Form(ctx, resp, "application/json")
	if err != nil {
		return gjson.Result{}, err
	}
	data, err := io.ReadAll(io.LimitReader(body, maxList))
	switch {
	case err != nil:
		return gjson.Result{}, a.caller.Broken(ctx, resp, err)
	case !gjson.ValidBytes(data):
		return gjson.Result{}, a.caller.NoAnswer(resp, fmt.Sprintf("an answer of %d bytes is not JSON", len(data)))
	}
	return gjson.ParseBytes(data), nil
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
