package registry

import (
	"cmp"
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// The sources of a row, in order of precedence. Each fact comes from the first source that states it:
//
//	the configuration
//	refusals of this host in the last 30 days
//	the vendor's own list
//	confirmed rows of the catalog
//	the newer of two tables: that of a refresh, or the source of the catalog's row
//	the rest of the catalog
//	the family: a guess from the name
//
// newStock applies them from the last to the first: rows of the catalog, then note, confirm and learn, then put.

// note applies a row of a public table. It fills in missing facts, and replaces facts that are neither confirmed nor newer.
func (s *stock) note(base provider.Model, known bool, noted provider.Model) (provider.Model, error) {
	if !known {
		return s.lay(base, known, noted, provider.FactTable, tableName)
	}
	f := base.Facts
	open := func(fact provider.Fact) bool {
		return fact.State == "" || fact.State == provider.FactFamily || fact.State == provider.FactTable && fact.AsOf <= noted.AsOf
	}
	if !open(f.Levels) {
		noted.Thinking = provider.Capability{}
	}
	if !open(f.Limits) {
		if base.Window > 0 {
			noted.Window = 0
		}
		if base.MaxOutput > 0 {
			noted.MaxOutput = 0
		}
	}
	if !open(f.Input) {
		noted.Input = nil
	}
	if !open(f.Price) {
		noted.Price = nil
	}
	noted.Media = nil // no table has them
	noted.Name, noted.Tools, noted.Sampling, noted.Lifecycle = "", true, "", nil
	m, err := s.lay(base, known, noted, provider.FactTable, tableName)
	if noted.Thinking.Control == "" {
		m.Source, m.AsOf = base.Source, base.AsOf
	}
	return m, err
}

// tableName is the public table that a refresh loads.
const tableName = "models.dev"

// confirm applies a row of the vendor's own list. known is false if nothing was known of the model.
func (s *stock) confirm(base provider.Model, known bool, listed provider.Model) (provider.Model, error) {
	return s.lay(base, known, listed, provider.FactConfirmed, "list of "+s.provider)
}

// lay applies a row of a list or a table to base. Members that it does not state stay. If nothing describes the thinking, the
// model's family does.
func (s *stock) lay(base provider.Model, known bool, listed provider.Model, state provider.FactState, source string) (provider.Model, error) {
	if !known {
		base = s.blank(listed.ID)
	}
	fact := provider.Fact{State: state, Source: source, AsOf: listed.AsOf}
	m := base
	m.API, m.Dialect = spoken{m.API, m.Dialect}.or(listed.API, listed.Dialect).both()
	if listed.Name != "" && listed.Name != listed.ID {
		m.Name = listed.Name
	}
	if listed.Window > 0 || listed.MaxOutput > 0 {
		partial := listed.Window == 0 && m.Window > 0 || listed.MaxOutput == 0 && m.MaxOutput > 0
		m.Window, m.MaxOutput = cmp.Or(listed.Window, m.Window), cmp.Or(listed.MaxOutput, m.MaxOutput)
		if m.Facts.Limits = fact; partial {
			m.Facts.Limits = weaker(base.Facts.Limits, fact)
		}
	}
	if len(listed.Input) > 0 {
		m.Input, m.Facts.Input = listed.Input, fact
	}
	if listed.Media != nil {
		m.Media, m.Facts.Media = listed.Media, fact
	}
	m.Tools = m.Tools && listed.Tools
	if listed.Price != nil {
		if m.Facts.Price = fact; m.Price == nil || !m.Price.Rates.Agree(listed.Price.Rates) {
			m.Price = listed.Price
		}
	}
	if listed.Premium != nil {
		m.Premium = listed.Premium
	}
	if listed.Lifecycle != nil {
		m.Lifecycle, m.Facts.Lifecycle = successor(listed.Lifecycle, m.Lifecycle), fact
	}
	m.Sampling = cmp.Or(m.Sampling, listed.Sampling)
	m.Source, m.AsOf = listed.Source, listed.AsOf
	if listed.Thinking.Control != "" {
		m.Thinking, m.Facts.Levels = corrected(base.Thinking, listed.Thinking), fact
		switch only := m.Thinking.Control == provider.ControlAlways || m.Thinking.Control == provider.ControlNone; {
		case listed.Thinking.Default != "" || only:
			m.Facts.Default = fact
		case m.Thinking.Default != base.Thinking.Default: // not stated: the nearest level
			m.Facts.Default = provider.Fact{State: provider.FactFamily, Source: "the nearest of its levels", AsOf: listed.AsOf}
		}
	}
	if m.Thinking.Control == "" {
		s.guess(&m)
	}
	if m.Facts.Levels.State == provider.FactFamily {
		m.Source = provider.FromFamily
	}
	return s.seal(m)
}

// guess sets the usual thinking of the model's family.
func (s *stock) guess(m *provider.Model) {
	c, pattern, ok := familyOf(s.vendor, m.ID)
	if !ok {
		return
	}
	m.Thinking = corrected(m.Thinking, c)
	fact := provider.Fact{State: provider.FactFamily, Source: "models named " + pattern, AsOf: families().AsOf}
	m.Facts.Levels, m.Facts.Default = fact, fact
}

// successor returns a new lifecycle from the vendor's list or a refusal, with the known members that it lacks.
func successor(listed, was *provider.Lifecycle) *provider.Lifecycle {
	l := *listed
	l.Gone = l.State == provider.LifecycleRetired
	if was == nil {
		return &l
	}
	if l.State == provider.LifecycleRetired {
		l.Retires = cmp.Or(l.Retires, was.Retires)
	}
	if l.Retires != "" {
		l.Redirects = l.Redirects || was.Redirects && l.State != provider.LifecycleRetired
	}
	if l.State == provider.LifecycleCurrent && was.State == provider.LifecyclePreview {
		l.State = was.State // a list with dates only does not say that a preview has ended
	}
	l.ReplacedBy = cmp.Or(l.ReplacedBy, was.ReplacedBy)
	return &l
}

// learn applies the facts of the host's refusals. It returns an error if the result is inconsistent.
func (s *stock) learn(base provider.Model, known bool, l Lesson) (provider.Model, error) {
	if !known {
		base = s.blank(l.Model)
	}
	fact := provider.Fact{State: provider.FactLearned, Source: "refusal of " + s.provider, AsOf: l.AsOf}
	m := base
	if l.Window > 0 || l.MaxOutput > 0 {
		m.Window, m.MaxOutput = least(m.Window, l.Window), least(m.MaxOutput, l.MaxOutput)
		m.Facts.Limits = fact
	}
	if len(l.Levels) > 0 && (m.Thinking.Control == provider.ControlEffort || m.Thinking.Control == "") {
		listed := provider.Capability{Control: provider.ControlEffort, Levels: l.Levels, Off: provider.OffNever}
		if slices.Contains(l.Levels, provider.Off) {
			listed.Off = cmp.Or(base.Thinking.Off, provider.OffFull)
		}
		m.Thinking, m.Facts.Levels = corrected(m.Thinking, listed), fact
		if m.Thinking.Default != base.Thinking.Default {
			m.Facts.Default = fact
		}
		m.Known = true
	}
	if l.Retired {
		m.Lifecycle, m.Facts.Lifecycle = successor(&provider.Lifecycle{State: provider.LifecycleRetired}, m.Lifecycle), fact
	}
	m.Source, m.AsOf = cmp.Or(m.Source, provider.FromRefreshed), cmp.Or(m.AsOf, l.AsOf)
	return s.seal(m)
}

// least returns the smaller of two numbers. 0 stands for no number.
func least(a, b int) int {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// seal completes and checks a row. If nothing is known of a model's thinking, the row has Known == false: the model can be
// listed, and nothing is assumed about it.
func (s *stock) seal(m provider.Model) (provider.Model, error) {
	if m.Known = m.Thinking.Control != ""; !m.Known {
		m.Source, m.AsOf, m.Thinking = provider.FromNobody, "", provider.Capability{}
		m.Facts.Levels, m.Facts.Default = provider.Fact{}, provider.Fact{}
		m.Name = cmp.Or(m.Name, m.ID)
		return m, nil
	}
	m = complete(m, m.Thinking.Budgets)
	return m, check(m)
}

// corrected applies new facts to a capability. A different control replaces the levels and budgets. If the default is no
// longer a level, medium or the nearest level takes its place.
func corrected(c, listed provider.Capability) provider.Capability {
	if listed.Control == "" {
		return c
	}
	if listed.Control != c.Control {
		c.Control, c.Levels, c.Default, c.InPlace = listed.Control, nil, "", false
		c.BudgetMin, c.BudgetMax, c.Budgets, c.EffortToo = 0, 0, nil, false
		if c.Off == provider.OffUpFront {
			c.Off = provider.OffFull
		}
	}
	if listed.Levels != nil {
		c.Levels = listed.Levels
	}
	if listed.Off != provider.OffUnknown {
		c.Off = listed.Off
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
	if listed.Display != nil {
		c.Display = listed.Display
	}
	c.BudgetMin, c.BudgetMax = cmp.Or(listed.BudgetMin, c.BudgetMin), cmp.Or(listed.BudgetMax, c.BudgetMax)
	if listed.Budgets != nil {
		c.Budgets = listed.Budgets
	}
	c.EffortToo = c.EffortToo || listed.EffortToo
	if c.Default = cmp.Or(listed.Default, c.Default); c.Thinks() && !slices.Contains(c.Levels, c.Default) {
		c.Default = usualLevel(c)
	}
	return c
}
