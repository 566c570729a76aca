package registry

import (
	"cmp"
	"math"
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// The rule by which a row is put together, fact by fact. The first that states a fact wins:
//
//	the configuration
//	what a refusal of this host said in the last 30 days
//	the vendor's own list
//	confirmed rows of the catalog
//	the newer table: the one of a refresh, or the one that a row of the catalog was taken from
//	the rest of the catalog
//	the family: a guess from the name
//
// newStock applies them from the last to the first: rows of the catalog, then note, tell and learn, then put.

// note puts what a public table says under the confirmed facts of a row, and over those that are not confirmed and not
// newer. It fills in what nobody else states.
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
	noted.Name, noted.Tools, noted.Sampling, noted.Lifecycle = "", true, "", nil
	m, err := s.lay(base, known, noted, provider.FactTable, tableName)
	if noted.Thinking.Control == "" {
		m.Source, m.AsOf = base.Source, base.AsOf
	}
	return m, err
}

// tableName is the table that a refresh asks for.
const tableName = "models.dev"

// tell puts what the vendor's own list says over what is known of a model; known is false where that is nothing.
func (s *stock) tell(base provider.Model, known bool, told provider.Model) (provider.Model, error) {
	return s.lay(base, known, told, provider.FactConfirmed, "list of "+s.provider)
}

// lay puts what a list or a table says over a row. Members that it does not state stay as they were, and of thinking that
// nobody describes the family speaks.
func (s *stock) lay(base provider.Model, known bool, told provider.Model, state provider.FactState, source string) (provider.Model, error) {
	if !known {
		base = s.blank(told.ID)
	}
	fact := provider.Fact{State: state, Source: source, AsOf: told.AsOf}
	m := base
	m.API, m.Dialect = spoken{m.API, m.Dialect}.or(told.API, told.Dialect).both()
	if told.Name != "" && told.Name != told.ID {
		m.Name = told.Name
	}
	if told.Window > 0 || told.MaxOutput > 0 {
		partial := told.Window == 0 && m.Window > 0 || told.MaxOutput == 0 && m.MaxOutput > 0
		m.Window, m.MaxOutput = cmp.Or(told.Window, m.Window), cmp.Or(told.MaxOutput, m.MaxOutput)
		if m.Facts.Limits = fact; partial {
			m.Facts.Limits = weaker(base.Facts.Limits, fact)
		}
	}
	if len(told.Input) > 0 {
		m.Input, m.Facts.Input = told.Input, fact
	}
	m.Tools = m.Tools && told.Tools
	if told.Price != nil {
		if m.Facts.Price = fact; m.Price == nil || !sameRates(m.Price.Rates, told.Price.Rates) {
			m.Price = told.Price
		}
	}
	if told.Premium != nil {
		m.Premium = told.Premium
	}
	if told.Lifecycle != nil {
		m.Lifecycle, m.Facts.Lifecycle = successor(told.Lifecycle, m.Lifecycle), fact
	}
	m.Sampling = cmp.Or(m.Sampling, told.Sampling)
	m.Source, m.AsOf = told.Source, told.AsOf
	if told.Thinking.Control != "" {
		m.Thinking, m.Facts.Levels = corrected(base.Thinking, told.Thinking), fact
		switch only := m.Thinking.Control == provider.ControlAlways || m.Thinking.Control == provider.ControlNone; {
		case told.Thinking.Default != "" || only:
			m.Facts.Default = fact
		case m.Thinking.Default != base.Thinking.Default: // nobody stated it: it is the nearest level that there is
			m.Facts.Default = provider.Fact{State: provider.FactFamily, Source: "the nearest of its levels", AsOf: told.AsOf}
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

// guess takes what a model's family usually takes.
func (s *stock) guess(m *provider.Model) {
	c, pattern, ok := familyOf(s.vendor, m.ID)
	if !ok {
		return
	}
	m.Thinking = corrected(m.Thinking, c)
	fact := provider.Fact{State: provider.FactFamily, Source: "models named " + pattern, AsOf: families().AsOf}
	m.Facts.Levels, m.Facts.Default = fact, fact
}

// weaker is the one of two facts that is less sure: a group of members is as sure as the least of them.
func weaker(a, b provider.Fact) provider.Fact {
	order := []provider.FactState{"", provider.FactFamily, provider.FactTable, provider.FactConfirmed, provider.FactLearned}
	if slices.Index(order, a.State) < slices.Index(order, b.State) {
		return a
	}
	return b
}

// sameRates reports whether a price says nothing else than another one, which may say more: tiers, changes, and the
// cache's prices, of which 0 says nothing.
func sameRates(full, brief provider.Rates) bool {
	like := func(a, b float64) bool { return math.Abs(a-b) <= 1e-6+math.Abs(b)*1e-3 }
	return like(full.Input, brief.Input) && like(full.Output, brief.Output) &&
		(brief.CachedInput == 0 || like(full.CachedInput, brief.CachedInput)) && (brief.CacheWrite == 0 || like(full.CacheWrite, brief.CacheWrite))
}

// successor is what the vendor's list or a refusal says of a model's end, with what is known otherwise of the model that takes its place.
func successor(told, was *provider.Lifecycle) *provider.Lifecycle {
	l := *told
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
		l.State = was.State // a list that has only dates does not say that a preview has ended
	}
	l.ReplacedBy = cmp.Or(l.ReplacedBy, was.ReplacedBy)
	return &l
}

// learn puts what refusals of the host said over a row. What contradicts the row is left out.
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
		told := provider.Capability{Control: provider.ControlEffort, Levels: l.Levels, Off: provider.OffNever}
		if slices.Contains(l.Levels, provider.Off) {
			told.Off = cmp.Or(base.Thinking.Off, provider.OffFull)
		}
		m.Thinking, m.Facts.Levels = corrected(m.Thinking, told), fact
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

// least is the smaller of two numbers, of which 0 is none.
func least(a, b int) int {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
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
		m.Facts.Levels, m.Facts.Default = provider.Fact{}, provider.Fact{}
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
	if told.Off != provider.OffUnknown {
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
