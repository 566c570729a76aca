package main

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
)

// row is what a table says of a model. Zero members say nothing.
type row struct {
	vendor, id     string // as the catalog names them
	window, output int    // tokens
	promptOnly     bool   // window may be what a prompt can have of it, without the output
	input          []string
	thinks         *bool
	levels         map[provider.Level]bool // whether the model has each level that the table lists; nil: nothing comparable
	price          *provider.Price
	table          string    // name of the file
	asOf           time.Time // day of the table; zero: unknown
}

// vendors are the catalog's names of the tables' providers.
var vendors = map[string]string{
	"anthropic": "anthropic", "openai": "openai", "google": "gemini", "gemini": "gemini", "deepseek": "deepseek", "xai": "xai",
	"openrouter": "openrouter", "groq": "groq", "mistral": "mistral", "moonshotai": "moonshot", "moonshot": "moonshot", "zai": "zai",
	"minimax": "minimax", "alibaba": "dashscope", "dashscope": "dashscope", "qwen-token-plan": "dashscope",
	"github-copilot": "copilot", "openai-codex": "chatgpt", "azure": "azure",
}

// readTable reads a table in any of the three forms. Rows of other vendors, and models that write no text, are left out.
func readTable(text []byte) ([]row, error) {
	if !gjson.ValidBytes(text) {
		return nil, errors.New("not JSON")
	}
	var rows []row
	known := false
	gjson.ParseBytes(text).ForEach(func(name, entry gjson.Result) bool {
		switch {
		case entry.Get("models").IsObject():
			known = true
			entry.Get("models").ForEach(func(id, m gjson.Result) bool {
				rows = add(rows, name.Str, cmp.Or(m.Get("id").Str, id.Str), modelsDev(m))
				return true
			})
		case entry.Get("litellm_provider").Exists():
			known = true
			if mode := entry.Get("mode").Str; mode == "" || mode == "chat" || mode == "responses" {
				vendor := entry.Get("litellm_provider").Str
				rows = add(rows, vendor, strings.TrimPrefix(name.Str, vendor+"/"), litellm(entry))
			}
		case entry.IsObject():
			entry.ForEach(func(key, m gjson.Result) bool {
				if m.Get("provider").Exists() && m.Get("contextWindow").Exists() {
					known = true
					if kind := m.Get("type").Str; kind == "" || kind == "chat" {
						rows = add(rows, m.Get("provider").Str, m.Get("id").Str, piAI(m))
					}
				}
				return true
			})
		}
		return true
	})
	if !known {
		return nil, errors.New("not a table of models.dev, litellm or pi-ai")
	}
	return rows, nil
}

func add(rows []row, vendor, id string, r row) []row {
	if r.vendor = vendors[vendor]; r.vendor == "" || id == "" {
		return rows
	}
	r.id = id
	return append(rows, r)
}

func modelsDev(m gjson.Result) row {
	r := row{window: provider.Tokens(m.Get("limit.context").Int()), output: provider.Tokens(m.Get("limit.output").Int()), input: kinds(m.Get("modalities.input")), thinks: truth(m.Get("reasoning"))}
	r.price = registry.DevPrice(m.Get("cost"))
	if c := registry.DevThinking(m); c.Control == provider.ControlEffort {
		r.levels = make(map[provider.Level]bool)
		for _, level := range efforts {
			r.levels[level] = slices.Contains(c.Levels, level)
		}
		if c.CanDisable() {
			r.levels[provider.Off] = true // a list without "none" leaves open whether a parameter of its own turns thinking off
		}
	}
	return r
}

// efforts are the levels of thinking that tables name.
var efforts = []provider.Level{provider.Minimal, provider.Low, provider.Medium, provider.High, provider.XHigh, provider.Max}

func piAI(m gjson.Result) row {
	r := row{window: provider.Tokens(m.Get("contextWindow").Int()), output: provider.Tokens(m.Get("maxTokens").Int()), input: kinds(m.Get("input")), thinks: truth(m.Get("reasoning"))}
	if cost := m.Get("cost"); cost.IsObject() {
		r.price = &provider.Price{Rates: piRates(cost)}
		for _, tier := range cost.Get("tiers").Array() {
			r.price.Tiers = append(r.price.Tiers, provider.PriceTier{Above: provider.Tokens(tier.Get("inputTokensAbove").Int()), Rates: piRates(tier)})
		}
	}
	// A word is what goes on the wire for a level: two levels can have the same one.
	m.Get("thinkingLevelMap").ForEach(func(name, word gjson.Result) bool {
		level, err := provider.ParseLevel(cmp.Or(word.Str, name.Str))
		if err != nil {
			return true
		}
		if r.levels == nil {
			r.levels = make(map[provider.Level]bool)
		}
		r.levels[level] = r.levels[level] || word.Type == gjson.String
		return true
	})
	return r
}

func piRates(cost gjson.Result) provider.Rates {
	return provider.Rates{Input: cost.Get("input").Num, Output: cost.Get("output").Num, CachedInput: cost.Get("cacheRead").Num, CacheWrite: cost.Get("cacheWrite").Num}
}

func litellm(m gjson.Result) row {
	r := row{window: provider.Tokens(m.Get("max_input_tokens").Int()), promptOnly: true, output: provider.Tokens(m.Get("max_output_tokens").Int()), thinks: truth(m.Get("supports_reasoning"))}
	if m.Get("supports_vision").Bool() {
		r.input = []string{"image", "text"}
	}
	for _, level := range efforts {
		if has := m.Get("supports_" + string(level) + "_reasoning_effort"); has.Exists() {
			if r.levels == nil {
				r.levels = make(map[provider.Level]bool)
			}
			r.levels[level] = has.Bool()
		}
	}
	if has := m.Get("supports_none_reasoning_effort"); has.Exists() && r.levels != nil {
		r.levels[provider.Off] = has.Bool()
	}
	rates := func(suffix string) provider.Rates {
		million := func(name string) float64 { return m.Get(name+suffix).Num * 1e6 }
		return provider.Rates{Input: million("input_cost_per_token"), Output: million("output_cost_per_token"),
			CachedInput: million("cache_read_input_token_cost"), CacheWrite: million("cache_creation_input_token_cost")}
	}
	if m.Get("input_cost_per_token").Exists() && m.Get("output_cost_per_token").Exists() {
		r.price = &provider.Price{Rates: rates("")}
		for _, above := range []struct {
			suffix string
			tokens int
		}{{"_above_128k_tokens", 128_000}, {"_above_200k_tokens", 200_000}, {"_above_272k_tokens", 272_000}} {
			if m.Get("input_cost_per_token" + above.suffix).Exists() {
				r.price.Tiers = append(r.price.Tiers, provider.PriceTier{Above: above.tokens, Rates: rates(above.suffix)})
			}
		}
	}
	return r
}

func kinds(list gjson.Result) (found []string) {
	for _, v := range list.Array() {
		found = append(found, v.Str)
	}
	slices.Sort(found)
	return found
}

func truth(v gjson.Result) *bool {
	if !v.Exists() {
		return nil
	}
	return new(v.Bool())
}
