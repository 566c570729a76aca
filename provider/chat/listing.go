package chat

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

func (a *API) list(ctx context.Context, address, member string) ([]gjson.Result, error) {
	answer, err := a.caller.List(ctx, address, a.header(&history{}), member)
	return answer.Get(member).Array(), err
}

// listed is the beginning of a row.
func (a *API) listed(id, name string) provider.Model {
	return provider.Model{Provider: a.caller.Provider, ID: id, Name: name, Tools: true, Source: provider.FromRefreshed, AsOf: provider.Today()}
}

// root is the server's address without the path of this API: some have more to tell there.
func (a *API) root() string { return strings.TrimSuffix(a.caller.BaseURL, "/v1") }

// words are the levels among some words, upwards and without off.
func words(list []gjson.Result) (levels []provider.Level, off bool) {
	for _, word := range list {
		level, err := provider.ParseLevel(word.Str)
		switch {
		case err != nil, level == provider.Auto, level == provider.On, slices.Contains(levels, level):
		case level == provider.Off:
			off = true
		default:
			levels = append(levels, level)
		}
	}
	slices.SortFunc(levels, func(a, b provider.Level) int { return a.Rank() - b.Rank() })
	return levels, off
}

func has(list gjson.Result, word string) bool {
	return slices.ContainsFunc(list.Array(), func(v gjson.Result) bool { return v.Str == word })
}

// inputs translates what a host calls the kinds of content.
func inputs(list gjson.Result) []string {
	var kinds []string
	for _, kind := range list.Array() {
		word := kind.Str
		if word == "file" {
			word = "pdf"
		}
		if slices.Contains([]string{"text", "image", "pdf", "audio", "video"}, word) && !slices.Contains(kinds, word) {
			kinds = append(kinds, word)
		}
	}
	return kinds
}

// listIDs reads a list that has little more than names.
func (a *API) listIDs(ctx context.Context) ([]provider.Model, error) {
	return a.caller.PlainList(ctx, a.caller.BaseURL+a.dialect.Listing.Path, a.header(&history{}))
}

// listOpenRouter reads the list with the fullest account of thinking (OpenRouter docs: models, reasoning-tokens).
func (a *API) listOpenRouter(ctx context.Context) ([]provider.Model, error) {
	list, err := a.list(ctx, a.caller.BaseURL+"/models", "data")
	if err != nil {
		return nil, err
	}
	var rows []provider.Model
	for _, m := range list {
		id := m.Get("id").Str
		if id == "" {
			continue
		}
		row := a.listed(id, m.Get("name").Str)
		if row.Window = provider.Tokens(m.Get("top_provider.context_length").Int()); row.Window == 0 {
			row.Window = provider.Tokens(m.Get("context_length").Int())
		}
		row.MaxOutput = provider.Tokens(m.Get("top_provider.max_completion_tokens").Int())
		row.Input = inputs(m.Get("architecture.input_modalities"))
		params := m.Get("supported_parameters")
		row.Tools = !params.IsArray() || has(params, "tools")
		row.Price = priced(m.Get("pricing"))
		switch {
		case m.Get("reasoning").IsObject():
			row.Thinking = routed(m.Get("reasoning"))
		case params.IsArray() && !has(params, "reasoning"):
			row.Thinking.Control = provider.ControlNone
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// routed reads ModelReasoning: no list of efforts means all of them, an empty one that words are not taken.
func routed(r gjson.Result) provider.Capability {
	var c provider.Capability
	efforts := r.Get("supported_efforts")
	levels, none := words(efforts.Array())
	switch {
	case !efforts.IsArray():
		c.Control = provider.ControlEffort
		c.Levels = []provider.Level{provider.Minimal, provider.Low, provider.Medium, provider.High, provider.XHigh, provider.Max}
	case len(levels) > 0:
		c.Control, c.Levels = provider.ControlEffort, levels
	case r.Get("supports_max_tokens").Bool():
		c.Control = provider.ControlBudget
	case r.Get("mandatory").Bool():
		c.Control = provider.ControlAlways
	default:
		c.Control = provider.ControlToggle
	}
	if c.Control != provider.ControlAlways && (none || !r.Get("mandatory").Bool()) {
		c.Off = provider.OffFull
	}
	level, err := provider.ParseLevel(r.Get("default_effort").Str)
	switch enabled := r.Get("default_enabled"); {
	case c.CanDisable() && enabled.Exists() && !enabled.Bool():
		c.Default = provider.Off
	case c.Control == provider.ControlToggle:
		c.Default = provider.On
	case err == nil && slices.Contains(c.Levels, level):
		c.Default = level
	}
	return c
}

// priced reads prices, which are texts in USD per token.
func priced(p gjson.Result) *provider.Price {
	dollars := func(name string) (float64, bool) {
		v, err := strconv.ParseFloat(p.Get(name).String(), 64)
		return v * 1e6, err == nil && v >= 0 && v < 1000 // nobody takes that for a token
	}
	input, ok := dollars("prompt")
	output, too := dollars("completion")
	if !ok || !too { // -1 where it depends on the host behind
		return nil
	}
	price := &provider.Price{Rates: provider.Rates{Input: input, Output: output}}
	if cached, ok := dollars("input_cache_read"); ok {
		price.CachedInput = cached
	}
	if write, ok := dollars("input_cache_write"); ok {
		price.CacheWrite = write
	}
	return price
}

// listKimi tells whether a model thinks, and what it sees (Kimi docs: list models).
func (a *API) listKimi(ctx context.Context) ([]provider.Model, error) {
	list, err := a.list(ctx, a.caller.BaseURL+"/models", "data")
	if err != nil {
		return nil, err
	}
	var rows []provider.Model
	for _, m := range list {
		id := m.Get("id").Str
		if id == "" {
			continue
		}
		row := a.listed(id, m.Get("display_name").Str)
		row.Window = provider.Tokens(m.Get("context_length").Int())
		if thinks := m.Get("supports_reasoning"); thinks.Exists() && !thinks.Bool() {
			row.Thinking.Control = provider.ControlNone
		}
		if sees := m.Get("supports_image_in"); sees.Exists() {
			row.Input = []string{"text"}
			if sees.Bool() {
				row.Input = append(row.Input, "image")
			}
			if m.Get("supports_video_in").Bool() {
				row.Input = append(row.Input, "video")
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// visionLimits are the limits of images in Copilot's list; nil: it names none.
func visionLimits(v gjson.Result) *provider.MediaLimits {
	k := provider.KindLimits{Count: provider.Tokens(v.Get("max_prompt_images").Int()), Bytes: provider.Tokens(v.Get("max_prompt_image_size").Int())}
	for _, t := range v.Get("supported_media_types").Array() {
		if (provider.Media{Type: t.Str}).Kind() == provider.MediaImage {
			k.Types = append(k.Types, t.Str)
		}
	}
	if k.Count == 0 && k.Bytes == 0 && k.Types == nil {
		return nil
	}
	return &provider.MediaLimits{Image: k}
}

// listCopilot reads what a plan may use. Which API a model is to be called in follows from the endpoints that it has
// (source: microsoft/vscode-copilot-chat, src/platform/endpoint).
func (a *API) listCopilot(ctx context.Context) ([]provider.Model, error) {
	list, err := a.list(ctx, a.caller.BaseURL+"/models", "data")
	if err != nil {
		return nil, err
	}
	var rows []provider.Model
	for _, m := range list {
		id, can := m.Get("id").Str, m.Get("capabilities")
		picked := m.Get("model_picker_enabled")
		if id == "" || can.Get("type").Str != "chat" || picked.Exists() && !picked.Bool() || m.Get("policy.state").Str == "disabled" {
			continue
		}
		row := a.listed(id, m.Get("name").Str)
		if row.Window = provider.Tokens(can.Get("limits.max_prompt_tokens").Int()); row.Window == 0 {
			row.Window = provider.Tokens(can.Get("limits.max_context_window_tokens").Int())
		}
		row.MaxOutput = provider.Tokens(can.Get("limits.max_output_tokens").Int())
		supports := can.Get("supports")
		row.Tools = supports.Get("tool_calls").Bool()
		row.Input = []string{"text"}
		if supports.Get("vision").Bool() {
			row.Input = append(row.Input, "image")
			row.Media = visionLimits(can.Get("limits.vision"))
		}
		if row.API = copilotAPI(id, m.Get("supported_endpoints")); row.API == "" {
			continue // nothing here speaks to it
		}
		row.Dialect = "copilot"
		if factor := m.Get("billing.multiplier"); factor.Type == gjson.Number && factor.Num >= 0 && factor.Num <= mostMultiplier {
			row.Premium = &factor.Num
		}
		if row.Thinking = supported(supports); row.Thinking.Control != "" && row.API != "chat" {
			row.Thinking.Display = []provider.Display{provider.Summarized, provider.Omitted}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// mostMultiplier bounds what a list may say: the largest that was seen is 50.
const mostMultiplier = 10_000

// copilotAPI is the API for a model; empty: none that is spoken here. Claude thinks by Messages only (pydantic/pydantic-ai
// #8232), and the newer ones are served by nothing else; others that have Responses are best there. A list without
// endpoints leaves the choice to the model's family.
func copilotAPI(id string, ends gjson.Result) string {
	begins := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(id, w) })
	}
	switch listed := ends.IsArray(); {
	case listed && has(ends, "/v1/messages"), !listed && begins("claude-"):
		return "messages"
	case listed && has(ends, "/responses"), !listed && begins("gpt-5", "gpt-6", "grok-", "mai-"):
		return "responses"
	case !listed || has(ends, "/chat/completions"):
		return "chat"
	}
	return ""
}

func supported(s gjson.Result) provider.Capability {
	var c provider.Capability
	levels, none := words(s.Get("reasoning_effort").Array())
	switch most := provider.Tokens(s.Get("max_thinking_budget").Int()); {
	case len(levels) > 0: // with adaptive_thinking or without: the words are the control
		c.Control, c.Levels, c.Off = provider.ControlEffort, levels, provider.OffUnknown
		if none {
			c.Off = provider.OffFull
		}
	case most > 0:
		c.Control, c.Off, c.BudgetMin = provider.ControlBudget, provider.OffUnknown, provider.Tokens(s.Get("min_thinking_budget").Int())
		c.BudgetMax = most
	}
	return c // where nothing is published, nothing is said
}
