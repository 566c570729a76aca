package registry

import (
	"cmp"
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// tell puts what a host tells of a model over what is known of it; known is false where that is nothing. Members that
// the host does not tell stay as they were, and of thinking that it does not describe its family speaks, if nobody has
// before.
func (s *stock) tell(base provider.Model, known bool, told provider.Model) (provider.Model, error) {
	if !known {
		base = s.blank(told.ID)
	}
	m := base
	m.API, m.Dialect = spoken{m.API, m.Dialect}.or(told.API, told.Dialect).both()
	if told.Name != "" && told.Name != told.ID {
		m.Name = told.Name
	}
	m.Window = cmp.Or(told.Window, m.Window)
	m.MaxOutput = cmp.Or(told.MaxOutput, m.MaxOutput)
	if told.Input != nil {
		m.Input = told.Input
	}
	m.Tools = m.Tools && told.Tools
	if told.Price != nil {
		m.Price = told.Price
	}
	if told.Premium != nil {
		m.Premium = told.Premium
	}
	if told.Lifecycle != nil {
		m.Lifecycle = told.Lifecycle
	}
	m.Sampling = cmp.Or(m.Sampling, told.Sampling)
	m.Source, m.AsOf = told.Source, told.AsOf
	if m.Thinking = corrected(base.Thinking, told.Thinking); m.Thinking.Control == "" {
		c, _ := familyOf(s.vendor, m.ID)
		m.Thinking = corrected(m.Thinking, c)
	}
	return s.seal(m)
}

// note fills in what nobody else tells: it is for what a database of others says of a model.
func (s *stock) note(base provider.Model, known bool, noted provider.Model) (provider.Model, error) {
	if !known {
		return s.tell(base, known, noted)
	}
	m := base
	m.Window = cmp.Or(m.Window, noted.Window)
	m.MaxOutput = cmp.Or(m.MaxOutput, noted.MaxOutput)
	if m.Input == nil {
		m.Input = noted.Input
	}
	if m.Price == nil {
		m.Price = noted.Price
	}
	if m.Thinking.Control == "" {
		m.Thinking = corrected(m.Thinking, noted.Thinking)
		m.Source, m.AsOf = noted.Source, noted.AsOf
	}
	return s.seal(m)
}

// blank is a model of which nothing is known but how it is spoken to. The vendor knows better than silence whether it
// takes tools, so it does.
func (s *stock) blank(id string) provider.Model {
	return provider.Model{Provider: s.provider, ID: id, API: s.spoken.api, Dialect: s.spoken.dialect, Tools: true,
		Source: provider.FromNobody, Thinking: provider.Capability{Display: s.display}}
}

// seal completes and checks a row that was put together. One of whose thinking nobody knows stays without a row's word:
// it can be listed, and nothing is assumed about it.
func (s *stock) seal(m provider.Model) (provider.Model, error) {
	if m.Known = m.Thinking.Control != ""; !m.Known {
		m.Source, m.AsOf, m.Thinking = provider.FromNobody, "", provider.Capability{}
		m.Name = cmp.Or(m.Name, m.ID)
		return m, nil
	}
	m = complete(m, m.Thinking.Budgets)
	return m, check(m)
}

// corrected puts what is told of thinking over what was known. Another control starts anew; a default that is no level
// any more gives way to medium or the nearest, which goes on the wire by its name.
func corrected(c, told provider.Capability) provider.Capability {
	if told.Control == "" {
		return c
	}
	if told.Control != c.Control {
		c.Control, c.Levels, c.Default, c.InPlace = told.Control, nil, "", false
		c.BudgetMin, c.BudgetMax, c.Budgets, c.EffortToo = 0, 0, nil, false
		if c.Off == provider.OffUpFront {
			c.Off = provider.OffFull
		}
	}
	if told.Levels != nil {
		c.Levels = told.Levels
	}
	if told.Off != provider.OffUntold {
		c.Off = told.Off
	}
	c.Levels = slices.DeleteFunc(slices.Clone(c.Levels), func(l provider.Level) bool { return l == provider.Off })
	if degrees(c.Control) && len(c.Levels) == 0 {
		c.Levels = []provider.Level{provider.Low, provider.Medium, provider.High}
	}
	switch {
	case c.Control == provider.ControlNone:
		c.Levels, c.Default, c.Off = nil, provider.Off, provider.OffNever
	case c.Control == provider.ControlToggle:
		c.Levels, c.Off = []provider.Level{provider.On}, cmp.Or(c.Off, provider.OffFull)
	}
	if c.CanDisable() {
		c.Levels = slices.Insert(c.Levels, 0, provider.Off)
	}
	if told.Display != nil {
		c.Display = told.Display
	}
	c.BudgetMin, c.BudgetMax = cmp.Or(told.BudgetMin, c.BudgetMin), cmp.Or(told.BudgetMax, c.BudgetMax)
	if told.Budgets != nil {
		c.Budgets = told.Budgets
	}
	c.EffortToo = c.EffortToo || told.EffortToo
	if c.Default = cmp.Or(told.Default, c.Default); c.Thinks() && !slices.Contains(c.Levels, c.Default) {
		c.Default = usualLevel(c)
	}
	return c
}
