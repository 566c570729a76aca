package registry

import (
	"cmp"
	"maps"
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// standardBudgets are the tokens of levels for which a row has no number. They are limited to the row's range.
var standardBudgets = map[provider.Level]int{provider.Low: 4096, provider.Medium: 10_000, provider.High: 32_000}

// leastBudget is the smallest budget that an API takes, in tokens. [docs: extended-thinking]
const leastBudget = 1024

// complete sets the members that follow from the rest of a row.
func complete(m provider.Model, stated map[provider.Level]int) provider.Model {
	m.Name = cmp.Or(m.Name, m.ID)
	c := &m.Thinking
	switch c.Control {
	case provider.ControlNone:
		c.Levels, c.Default = orList(c.Levels, provider.Off), cmp.Or(c.Default, provider.Off)
	case provider.ControlAlways:
		c.Levels, c.Default = orList(c.Levels, provider.On), cmp.Or(c.Default, provider.On)
	case provider.ControlToggle:
		c.Levels = orList(c.Levels, provider.Off, provider.On)
	case provider.ControlBudget:
		c.BudgetMin = cmp.Or(c.BudgetMin, leastBudget)
		if c.BudgetMax == 0 && m.MaxOutput > 0 {
			c.BudgetMax = m.MaxOutput - 1 // a budget has to stay below max_tokens (docs: extended-thinking)
		}
		c.Budgets = budgets(*c, stated)
	}
	return m
}

// budgets returns the tokens of each level. Stated numbers stay unchanged, for check to judge. Numbers of the catalog and
// standard ones are limited to the row's range.
func budgets(c provider.Capability, stated map[provider.Level]int) map[provider.Level]int {
	all := map[provider.Level]int{}
	for _, level := range thinking(c) {
		tokens, ok := c.Budgets[level]
		if !ok {
			tokens, ok = standardBudgets[level]
		}
		if !ok {
			continue
		}
		all[level] = max(tokens, c.BudgetMin)
		if c.BudgetMax > 0 {
			all[level] = min(all[level], c.BudgetMax)
		}
	}
	maps.Copy(all, stated)
	return all
}

func orList(stated []provider.Level, rest ...provider.Level) []provider.Level {
	if len(stated) > 0 {
		return stated
	}
	return rest
}

// budgeted returns c with control by budget and the given tokens for medium.
func budgeted(c provider.Capability, tokens int) provider.Capability {
	if c.Control != provider.ControlBudget {
		c = provider.Capability{Control: provider.ControlBudget, Display: c.Display, Off: c.Off}
	}
	c.Levels = []provider.Level{provider.Low, provider.Medium, provider.High}
	if c.CanDisable() {
		c.Levels = slices.Insert(c.Levels, 0, provider.Off)
	}
	c.Default = provider.Medium
	c.Budgets = map[provider.Level]int{
		provider.Low:    min(standardBudgets[provider.Low], tokens),
		provider.Medium: tokens,
		provider.High:   max(standardBudgets[provider.High], tokens),
	}
	c.BudgetMin = min(c.BudgetMin, tokens)
	if c.BudgetMax > 0 {
		c.BudgetMax = max(c.BudgetMax, tokens)
	}
	return c
}

// offUnlessAsked returns c with off as its default, and so as one of its levels.
func offUnlessAsked(c provider.Capability) provider.Capability {
	if c.Control == provider.ControlAlways {
		c.Control, c.Levels = provider.ControlToggle, []provider.Level{provider.On}
	}
	if !c.CanDisable() {
		c.Off = provider.OffFull
		c.Levels = slices.Insert(c.Levels, 0, provider.Off)
	}
	c.Default = provider.Off
	return c
}

// usualLevel returns the level of a model that thinks if no level is named.
func usualLevel(c provider.Capability) provider.Level {
	if !degrees(c.Control) {
		return provider.On
	}
	c.Default = provider.Off
	return on(c)
}

func degrees(c provider.ControlKind) bool {
	return c == provider.ControlEffort || c == provider.ControlBudget
}
