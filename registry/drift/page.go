package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
)

//go:generate go run . -page ../../docs/models.md testdata/pi-ai.json

// undecided is a fact on which two sources differ and that no table has a form for.
type undecided struct{ Vendor, Model, Field, Catalog, Other, Source string }

//go:embed undecided.json
var undecidedJSON []byte

// reasons say why a vendor's models are called in an API, where it has several.
var reasons = map[string]string{
	"anthropic":  "its compatible API returns no thinking",
	"openai":     "Chat Completions returns no reasoning",
	"gemini":     "levels, budgets and thought signatures as Google documents them",
	"deepseek":   "returns reasoning, cache counts and takes images",
	"xai":        "Chat Completions returns no encrypted reasoning",
	"openrouter": "returns `reasoning_details`, which later turns need",
	"groq":       "returns reasoning",
	"mistral":    "returns thinking in the content",
	"moonshot":   "returns `reasoning_content`, which later turns need",
	"zai":        "returns reasoning and takes effort",
	"minimax":    "returns reasoning apart from the text",
	"dashscope":  "takes effort and thinking budgets",
	"copilot":    "Messages for Claude, Responses for GPT, Grok and MAI",
	"chatgpt":    "the plan's backend has no other",
	"azure":      "Chat Completions returns no reasoning",
}

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
[protocol.md](../protocol.md#modelslist) says by which rule a fact is taken.

A fact without a mark is confirmed by a page of the vendor. **~** marks a fact from a public table that no page of the vendor
confirms, or one on which sources differ. **?** marks a guess. Prices are in USD per million tokens of input and output, for small
prompts outside of peak hours.

## Which API is used

| vendor | API | why |
|---|---|---|
`)
	catalog := registry.Default().At(func() time.Time { return at })
	for _, v := range registry.Vendors() {
		if why := reasons[v.ID]; why != "" {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", v.Name, apisOf(v, catalog.ModelsOf(v.ID)), why)
		}
	}
	b.WriteString("\nAn existing session keeps the API that its log is written for. A local server is called in its own API.\n" +
		"[model-apis.md](model-apis.md) has the reasons at length.\n")
	for _, v := range registry.Vendors() {
		if reasons[v.ID] == "" {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n| model | levels (default) | window / output | input | price | lifecycle |\n|---|---|---|---|---|---|\n", v.Name)
		for _, m := range catalog.ModelsOf(v.ID) {
			f := m.Facts
			fmt.Fprintf(&b, "| `%s` | %s%s (%s%s) | %s / %s%s | %s%s | %s%s | %s |\n", m.ID, levelWords(m.Thinking), sign(f.Levels), m.Thinking.Default, sign(f.Default),
				tokens(m.Window), tokens(m.MaxOutput), sign(f.Limits), orUnknown(strings.Join(m.Input, " ")), sign(f.Input), rate(m.Price), sign(f.Price), ends(m.Lifecycle))
		}
	}
	b.WriteString("\n## Not confirmed\n\nSources differ on these facts, and no page of the vendor settles them. The catalog's value is in use.\n\n" +
		"| model | fact | catalog | other source | which |\n|---|---|---|---|---|\n")
	right := []string{}
	for _, d := range compare(catalog.Models(), tables, at) {
		why, ok := reasoned[d.key]
		switch {
		case ok && why.Right == "unclear":
			fmt.Fprintf(&b, "| `%s/%s` | %s | %s | %s | pi-ai 1.5.2 |\n", d.Vendor, d.Model, d.Field, orUnknown(d.ours), d.theirs)
		case ok:
			right = append(right, fmt.Sprintf("- `%s/%s`, %s: %s instead of %s. %s\n", d.Vendor, d.Model, d.Field, orUnknown(d.ours), d.theirs, why.Reason))
		}
	}
	for _, u := range open {
		fmt.Fprintf(&b, "| `%s/%s` | %s | %s | %s | %s |\n", u.Vendor, u.Model, u.Field, u.Catalog, u.Other, u.Source)
	}
	b.WriteString("\n## Where the catalog differs from a public table and is right\n\n" + strings.Join(right, ""))
	return b.String(), nil
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

func levelWords(c provider.Capability) string {
	switch c.Control {
	case provider.ControlNone:
		return "does not think"
	case provider.ControlAlways:
		return "always"
	}
	var list []string
	for _, l := range c.Levels {
		list = append(list, string(l))
	}
	return strings.Join(list, " ")
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
