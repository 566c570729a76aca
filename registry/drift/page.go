package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
)

//go:generate go run . -page ../../docs/models.md testdata/litellm-2026-07-24.json testdata/models.dev-2026-07-01.json testdata/models.dev-2026-10-07.json testdata/pi-ai-2026-11-10.json

// undecided is a fact on which two sources differ and that no table has a form for.
type undecided struct{ Vendor, Model, Field, Catalog, Other, Source string }

//go:embed undecided.json
var undecidedJSON []byte

// choice is why a vendor's models are called in an API. Where source is empty, nobody has confirmed the reason.
type choice struct{ others, why, source string }

var choices = map[string]choice{
	"anthropic":  {"Chat Completions, for tests", "only Messages has thinking, the prompt cache and PDFs", "platform.claude.com: api/openai-sdk"},
	"openai":     {"Chat Completions", "Chat Completions returns no reasoning items", "developers.openai.com: guides/reasoning"},
	"gemini":     {"Chat Completions", "thought signatures are documented for it", "ai.google.dev: thinking, thought-signatures"},
	"deepseek":   {"Messages", "returns `reasoning_content`, has all efforts, takes images", "api-docs.deepseek.com: guides/thinking_mode"},
	"xai":        {"Chat Completions", "returns encrypted reasoning", "docs.x.ai: reasoning"},
	"openrouter": {"not confirmed", "returns `reasoning_details`, which later turns need", "openrouter.ai/docs: reasoning-tokens"},
	"groq":       {"not confirmed", "returns `reasoning`", "console.groq.com: reasoning"},
	"mistral":    {"not confirmed", "returns thinking in the content", "docs.mistral.ai: capabilities/reasoning"},
	"moonshot":   {"Messages", "returns `reasoning_content`, which later turns need", "platform.kimi.ai"},
	"zai":        {"Messages", "returns `reasoning_content`, takes effort", "docs.z.ai: guides/capabilities/thinking-mode"},
	"minimax":    {"Messages", "returns `reasoning_details` with `reasoning_split`", "platform.minimax.io: text-openai-api"},
	"dashscope":  {"not confirmed", "takes efforts and thinking budgets", "alibabacloud.com: model-studio/deep-thinking"},
	"cohere":     {"Chat Completions", "has thinking budgets, tool plans and citations", "docs.cohere.com: reasoning, compatibility-api"},
	"copilot":    {"Chat Completions for some", "Messages for Claude, Responses for GPT, Grok and MAI", "pydantic/pydantic-ai #8232, BerriAI/litellm #28053"},
	"chatgpt":    {"none", "the plan's backend has no other", "openai/codex"},
	"azure":      {"Chat Completions", "as OpenAI's", ""},
	"vertex":     {"Chat Completions for all", "each maker's own API has its signatures", "platform.claude.com: claude-on-vertex-ai"},
	"bedrock":    {"Converse for Claude", "Messages for Claude: all that its maker's own address has; else Converse", "platform.claude.com: claude-on-amazon-bedrock"},
}

//go:embed apis.md
var apisText string

// page is docs/models.md: the catalog, and what is not confirmed in it.
func page(tables []row, at time.Time) (string, error) {
	reasoned, err := accepted()
	if err != nil {
		return "", err
	}
	var open []undecided
	if err := json.Unmarshal(undecidedJSON, &open); err != nil {
		return "", fmt.Errorf("undecided.json: %w", err)
	}
	var b strings.Builder
	b.WriteString(`# Models

The built-in catalog. This page is generated: run ` + "`go generate ./registry/drift`" + ` after a change of the catalog.
` + "`thinkd models`" + ` shows the models as they are on your machine, with what your vendors' lists add.
[protocol.md](../protocol.md#modelslist) says which source of a fact applies.

A fact without a mark is confirmed by a page of the vendor. **~** marks a fact from a public table that no page of the vendor
confirms, or one on which sources differ. **?** marks a guess. Prices are in USD per million tokens of input and output, for small
prompts outside of peak hours.

## Which API is used

Three questions decide: Does the API return thinking, and accept it back? Is the prompt cached? Are images accepted?

| vendor | API | other APIs | why | source |
|---|---|---|---|---|
`)
	catalog := registry.Default().At(func() time.Time { return at })
	for _, v := range registry.Vendors() {
		if c, ok := choices[v.ID]; ok {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", v.Name, apisOf(v, catalog.ModelsOf(v.ID)), c.others, c.why, cmp.Or(c.source, "not confirmed"))
		}
	}
	b.WriteString(apisText)
	for _, v := range registry.Vendors() {
		if _, ok := choices[v.ID]; !ok {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n| model | levels (default) | window / output | input | price | lifecycle |\n|---|---|---|---|---|---|\n", v.Name)
		for _, m := range catalog.ModelsOf(v.ID) {
			f := m.Facts
			fmt.Fprintf(&b, "| `%s` | %s%s (%s%s) | %s / %s%s | %s%s | %s%s | %s |\n", m.ID, levelWords(m.Thinking), sign(f.Levels), m.Thinking.Default, sign(f.Default),
				tokens(m.Window), tokens(m.MaxOutput), sign(f.Limits), orUnknown(strings.Join(m.Input, " ")), sign(f.Input), rate(m.Price), sign(f.Price), ends(m.Lifecycle))
		}
		writeMedia(&b, catalog.ModelsOf(v.ID))
	}
	b.WriteString("\n## Not confirmed\n\nSources differ on these facts, and no page of the vendor settles them. The catalog's value is in use.\n\n" +
		"| model | fact | catalog | other source | which |\n|---|---|---|---|---|\n")
	var right, plans []string
	counts := make(map[string]int)
	lacking := make(map[string][]string)
	for _, d := range compare(catalog.Model, tables, at) {
		why, ok := reason(reasoned, d)
		switch {
		case !ok:
		case d.severity == absent:
			lacking[why.Reason] = append(lacking[why.Reason], fmt.Sprintf("`%s/%s`", d.Vendor, d.Model))
		case why.Right == "unclear":
			fmt.Fprintf(&b, "| `%s/%s` | %s | %s | %s | %s |\n", d.Vendor, d.Model, d.Field, orUnknown(d.ours), d.theirs, d.table)
		case why.Model == "*":
			if counts[d.Vendor]++; counts[d.Vendor] == 1 {
				plans = append(plans, d.Vendor)
			}
		default:
			right = append(right, fmt.Sprintf("- `%s/%s`, %s: %s instead of %s (%s). %s\n", d.Vendor, d.Model, d.Field, orUnknown(d.ours), d.theirs, d.table, why.Reason))
		}
	}
	for _, vendor := range plans {
		right = append(right, fmt.Sprintf("- `%s`, price of %d models. %s\n", vendor, counts[vendor], reasoned[key{vendor, "*", "price"}].Reason))
	}
	for _, u := range open {
		fmt.Fprintf(&b, "| `%s/%s` | %s | %s | %s | %s |\n", u.Vendor, u.Model, u.Field, u.Catalog, u.Other, u.Source)
	}
	b.WriteString("\n## Where the catalog differs from a public table and is right\n\n" + strings.Join(right, ""))
	b.WriteString("\n## Not carried\n\nA public table has these models and the catalog does not. thinkd can still use them: a name that no row has\n" +
		"is taken for one of its family.\n\n")
	for _, why := range slices.Sorted(maps.Keys(lacking)) {
		fmt.Fprintf(&b, "- %s %s\n", why, strings.Join(lacking[why], ", "))
	}
	return b.String(), nil
}

// writeMedia writes the limits of media of a vendor's models: those of most models first.
func writeMedia(b *strings.Builder, models []provider.Model) {
	of := make(map[string][]string)
	var texts []string
	for _, m := range models {
		if text := registry.MediaText(m); text != "" {
			text += fmt.Sprintf(" (%s)%s", m.Facts.Media.Source, sign(m.Facts.Media))
			if of[text] == nil {
				texts = append(texts, text)
			}
			of[text] = append(of[text], "`"+m.ID+"`")
		}
	}
	if len(texts) == 0 {
		b.WriteString("\nThe limits of media are not known.\n")
		return
	}
	slices.SortStableFunc(texts, func(x, y string) int { return len(of[y]) - len(of[x]) })
	b.WriteString("\nLimits of media in a request:\n\n")
	for i, text := range texts {
		if i == 0 && len(of[text]) > 3 {
			fmt.Fprintf(b, "- Most models: %s.\n", text)
		} else {
			fmt.Fprintf(b, "- %s: %s.\n", strings.Join(of[text], ", "), text)
		}
	}
}

// apisOf names the APIs of a vendor's models, the most used one first.
func apisOf(v registry.Vendor, models []provider.Model) string {
	list := []string{v.API}
	for _, m := range models {
		if !slices.Contains(list, m.API) {
			list = append(list, m.API)
		}
	}
	return strings.Join(list, ", ")
}

func sign(f provider.Fact) string {
	switch f.State {
	case provider.FactTable:
		return " **~**"
	case provider.FactFamily:
		return " **?**"
	}
	return ""
}

func tokens(n int) string {
	switch {
	case n == 0:
		return "unknown"
	case n >= 1_000_000:
		return fmt.Sprintf("%.4gM", float64(n)/1e6)
	}
	return fmt.Sprintf("%dk", n/1000)
}

func rate(p *provider.Price) string {
	if p == nil {
		return "unknown"
	}
	text := fmt.Sprintf("%g / %g", p.Input, p.Output)
	if len(p.Tiers) > 0 {
		text += fmt.Sprintf(", above %s %g / %g", tokens(p.Tiers[0].Above), p.Tiers[0].Input, p.Tiers[0].Output)
	}
	for _, c := range p.Changes {
		text += fmt.Sprintf(", from %s %g / %g", c.From, c.Input, c.Output)
	}
	if p.Peak != nil {
		text += fmt.Sprintf(", peak x%g", p.Peak.Factor)
	}
	return text
}

func ends(l *provider.Lifecycle) string {
	if l == nil {
		return ""
	}
	text := strings.TrimSpace(string(l.State) + " " + l.Retires)
	if l.ReplacedBy != "" {
		text += ", then `" + l.ReplacedBy + "`"
	}
	return text
}

func orUnknown(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}
