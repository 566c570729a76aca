package registry

import (
	"cmp"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// modelsDevNames are the catalog's vendors by their names at models.dev. Not here are those who want to be asked
// themselves: which models there are depends on the plan, or on who made deployments.
var modelsDevNames = map[string]string{
	"anthropic": "anthropic", "openai": "openai", "google": "gemini", "deepseek": "deepseek", "xai": "xai", "openrouter": "openrouter",
	"groq": "groq", "mistral": "mistral", "moonshotai": "moonshot", "zai": "zai", "minimax": "minimax", "alibaba": "dashscope",
}

// ModelsDev reads the public database of that name (models.dev/api.json): rows by the catalog's vendor, for
// [Provider.Noted]. Members and kinds of control that it does not know say nothing; ok is false where the document is
// another one.
func ModelsDev(doc gjson.Result, asOf string) (rows map[string][]provider.Model, ok bool) {
	rows = map[string][]provider.Model{}
	doc.ForEach(func(name, entry gjson.Result) bool {
		models := entry.Get("models")
		if !models.IsObject() {
			return true
		}
		ok = true
		vendor := modelsDevNames[name.Str]
		if vendor == "" {
			return true
		}
		models.ForEach(func(id, m gjson.Result) bool {
			if writes := m.Get("modalities.output"); writes.IsArray() && !slices.ContainsFunc(writes.Array(), func(v gjson.Result) bool { return v.Str == "text" }) {
				return true // it makes pictures or sound
			}
			rows[vendor] = append(rows[vendor], devModel(cmp.Or(m.Get("id").Str, id.Str), m, asOf))
			return true
		})
		slices.SortFunc(rows[vendor], func(a, b provider.Model) int { return cmp.Compare(a.ID, b.ID) })
		return true
	})
	return rows, ok
}

func devModel(id string, m gjson.Result, asOf string) provider.Model {
	row := provider.Model{
		ID: id, Name: m.Get("name").Str, Tools: !m.Get("tool_call").Exists() || m.Get("tool_call").Bool(),
		Window: provider.Tokens(m.Get("limit.context").Int()), MaxOutput: provider.Tokens(m.Get("limit.output").Int()),
		Source: provider.FromRefreshed, AsOf: asOf, Thinking: DevThinking(m),
	}
	for _, kind := range m.Get("modalities.input").Array() {
		if slices.Contains(inputs, kind.Str) && !slices.Contains(row.Input, kind.Str) {
			row.Input = append(row.Input, kind.Str)
		}
	}
	if p := DevPrice(m.Get("cost")); p != nil && p.Check() == nil {
		row.Price = p
	}
	return row
}

// DevPrice reads a member cost of models.dev; nil where it has no prices. Older copies of the table have no tiers but one
// member for prompts above 200,000 tokens.
func DevPrice(cost gjson.Result) *provider.Price {
	if !cost.Get("input").Exists() || !cost.Get("output").Exists() {
		return nil
	}
	p := &provider.Price{Rates: devRates(cost)}
	for _, tier := range cost.Get("tiers").Array() {
		if above := provider.Tokens(tier.Get("tier.size").Int()); above > 0 {
			p.Tiers = append(p.Tiers, provider.PriceTier{Above: above, Rates: devRates(tier)})
		}
	}
	slices.SortFunc(p.Tiers, func(a, b provider.PriceTier) int { return cmp.Compare(a.Above, b.Above) })
	if above := cost.Get("context_over_200k"); above.IsObject() && len(p.Tiers) == 0 {
		p.Tiers = []provider.PriceTier{{Above: 200_000, Rates: devRates(above)}}
	}
	return p
}

func devRates(cost gjson.Result) provider.Rates {
	return provider.Rates{Input: cost.Get("input").Num, Output: cost.Get("output").Num, CachedInput: cost.Get("cache_read").Num, CacheWrite: cost.Get("cache_write").Num}
}

// DevThinking reads how thinking is controlled. Effort comes before a budget where a model takes both.
func DevThinking(m gjson.Result) provider.Capability {
	var c provider.Capability
	thinks := m.Get("reasoning")
	if thinks.Exists() && !thinks.Bool() {
		c.Control = provider.ControlNone
		return c
	}
	for _, option := range m.Get("reasoning_options").Array() {
		switch option.Get("type").Str {
		case "toggle":
			c.Off = provider.OffFull
			c.Control = cmp.Or(c.Control, provider.ControlToggle)
		case "effort":
			for _, word := range option.Get("values").Array() {
				level, err := provider.ParseLevel(word.Str)
				switch {
				case err != nil, level == provider.Auto, level == provider.On, slices.Contains(c.Levels, level):
				case level == provider.Off:
					c.Off = provider.OffFull
				default:
					c.Levels = append(c.Levels, level)
				}
			}
			if len(c.Levels) > 0 {
				c.Control = provider.ControlEffort
			}
		case "budget_tokens":
			if c.Control != provider.ControlEffort {
				c.Control = provider.ControlBudget
				c.BudgetMin, c.BudgetMax = provider.Tokens(option.Get("min").Int()), provider.Tokens(option.Get("max").Int())
				if option.Get("min").Exists() && c.BudgetMin == 0 {
					c.Off = provider.OffFull
				}
			}
		}
	}
	if c.Control == provider.ControlEffort {
		c.BudgetMin, c.BudgetMax = 0, 0
	}
	slices.SortFunc(c.Levels, func(a, b provider.Level) int { return cmp.Compare(a.Rank(), b.Rank()) })
	return c
}
