package registry

import (
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// plain is the short form in which model files state thinking: that a model thinks, and maybe that it does not do so
// unless asked, or with how many tokens. What the row states otherwise comes over it.
func (r Row) plain(m provider.Model, vendor string) provider.Capability {
	c := own(m.Thinking)
	if r.Reasoning == nil && r.Enabled == nil && r.BudgetTokens == 0 {
		return c
	}
	if r.Reasoning != nil && !*r.Reasoning {
		return provider.Capability{Control: provider.ControlNone}
	}
	if !c.Thinks() {
		display := c.Display
		c = thinkingOf(vendor, m.ID, m.API)
		c.Display = display
	}
	if r.BudgetTokens > 0 {
		c = budgeted(c, r.BudgetTokens)
	}
	if r.Enabled != nil && !*r.Enabled {
		return offUnlessAsked(c)
	}
	if c.Default == provider.Off { // on by default is what the short form says
		c.Default = usualLevel(c)
	}
	return c
}

// budgeted controls thinking by tokens, of which medium is so many.
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

// offUnlessAsked makes off the default, and so one of the levels.
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

// usualLevel is where a model thinks that is on without a word.
func usualLevel(c provider.Capability) provider.Level {
	if !degrees(c.Control) {
		return provider.On
	}
	c.Default = provider.Off
	return on(c)
}
