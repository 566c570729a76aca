package registry

import (
	"cmp"
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// newStock combines the sources of a provider's models by the rule in listed.go.
func newStock(p Provider, v vendorRows) *stock {
	s := &stock{provider: p.ID, vendor: p.Vendor, resells: v.Resells, simulates: v.Simulates, display: v.Display, aliases: map[string]string{}, stated: map[string]Row{}, numCtx: p.NumCtx, live: p.Live, lessons: p.Lessons, redirect: v.Redirected}
	s.spoken = spoken{v.API, v.Dialect}.or(p.API, p.Dialect)
	if s.spoken == (spoken{v.API, v.Dialect}) {
		s.families = v.Families
	}
	for _, row := range v.rows() {
		m := row.Model
		m.Provider, m.Known, m.Source = p.ID, true, provider.FromCatalog
		m.API, m.Dialect = s.spoken.or(m.API, m.Dialect).both()
		m.Facts = stated(m, row.Source)
		if factor := p.Surcharge[m.API]; factor > 0 && m.Price != nil {
			m.Price = m.Price.Times(factor)
		}
		setMedia(&m, v.Media)
		s.rows, s.own = append(s.rows, complete(m, m.Thinking.Budgets)), append(append(s.own, m.ID), row.Aliases...)
		for _, alias := range row.Aliases {
			s.aliases[alias] = m.ID
		}
	}
	s.skipped = append(s.list(p.Noted, s.note), s.list(p.Refreshed, s.confirm)...)
	for _, l := range p.Lessons {
		s.skipped = append(s.skipped, s.list([]provider.Model{{ID: l.Model}}, func(base provider.Model, known bool, _ provider.Model) (provider.Model, error) {
			return s.learn(base, known, l)
		})...)
	}
	s.base = s.index()
	for _, r := range p.Rows {
		if s.wrong = s.put(r); s.wrong != nil {
			return s
		}
	}
	s.byID = s.index()
	return s
}

// list applies the rows of a list with the function over: it corrects existing rows and adds new ones. It leaves out
// inconsistent rows and returns the reasons.
func (s *stock) list(listed []provider.Model, over func(base provider.Model, known bool, listed provider.Model) (provider.Model, error)) (skipped []error) {
	for _, row := range listed {
		row.ID = cmp.Or(s.aliases[row.ID], row.ID)
		i := s.find(row.ID)
		var base provider.Model
		if i >= 0 {
			base = s.rows[i]
		}
		m, err := over(base, i >= 0, row)
		switch {
		case err != nil:
			skipped = append(skipped, err)
		case i >= 0:
			s.rows[i] = m
		case row.ID != "" && !gone(m):
			s.rows = append(s.rows, m)
		}
	}
	return skipped
}

// gone reports whether a model is no longer served. Lists may name such models. They are not added.
func gone(m provider.Model) bool {
	return m.Lifecycle != nil && m.Lifecycle.State == provider.LifecycleRetired
}

// put applies a row of the configuration: it corrects an existing row or adds a new one.
func (s *stock) put(row Row) error {
	if row.ID == "" {
		return &RowError{Provider: s.provider, Field: "id", Problem: "missing"}
	}
	if _, ok := s.stated[row.ID]; ok {
		return &RowError{s.provider, row.ID, "id", "a second row for the same model"}
	}
	s.stated[row.ID] = row
	i := s.find(row.ID)
	base := s.blank(row.ID)
	switch alias := s.find(s.aliases[row.ID]); {
	case i >= 0:
		base = s.rows[i]
	case alias >= 0:
		base = s.rows[alias]
		base.ID = row.ID
		delete(s.aliases, row.ID) // the alias gets a row of its own
	}
	m := row.over(base, s.vendor)
	if m.Thinking.Control == "" && s.live != nil && row.silent() {
		return nil // the server's list has the rest
	}
	m, err := s.settle(m, row)
	if err != nil {
		return err
	}
	if i >= 0 {
		s.rows[i] = m
	} else {
		s.rows = append(s.rows, m)
	}
	return nil
}

// settle completes and checks a row of the configuration. If nothing states how the model thinks, its family does, as for a model that a
// list names. Without a family, nothing is assumed of the model's thinking, as for a model that no row names.
func (s *stock) settle(m provider.Model, row Row) (provider.Model, error) {
	if m.Thinking.Control == "" && row.silent() {
		s.guess(&m)
		m.Source = provider.FromFamily
		if m.Known = m.Thinking.Control != ""; !m.Known {
			m.Source, m.Name = provider.FromNobody, cmp.Or(m.Name, m.ID)
			return m, check(m)
		}
	}
	m = complete(m, row.Budgets)
	return m, check(m)
}

// now returns a model by the server's current list, with the corrections of the configuration. It returns false for an
// inconsistent row, because nobody here can correct it.
func (s *stock) now(listed provider.Model) (provider.Model, bool) {
	base, known := s.base[listed.ID]
	listed.Source, listed.AsOf = provider.FromLive, "" // current facts have no date
	m, err := s.confirm(base, known, listed)
	if err != nil {
		return m, false
	}
	for _, l := range s.lessons {
		if taught, err := s.learn(m, true, l); l.Model == m.ID && err == nil {
			m = taught
		}
	}
	row, ok := s.stated[listed.ID]
	if !ok {
		return m, true
	}
	stated := complete(row.over(m, s.vendor), row.Budgets)
	if stated.Thinking.Control == "" {
		m.NumCtx, m.Options = row.NumCtx, row.defaults(m)
		return m, true
	}
	if check(stated) != nil {
		m, ok = s.byID[listed.ID]
		return m, ok
	}
	return stated, true
}

// row returns a model by its id.
func (s *stock) row(name string) (provider.Model, bool) {
	if s.live != nil {
		rows := s.live()
		if i := slices.IndexFunc(rows, func(m provider.Model) bool { return m.ID == name }); i >= 0 {
			if m, ok := s.now(rows[i]); ok {
				return s.loaded(m), true
			}
		}
	}
	m, ok := s.byID[name]
	return s.loaded(m), ok
}

// models returns all rows: first those known without the server, then those that only its current list has.
func (s *stock) models() []provider.Model {
	list := slices.Clone(s.rows)
	for i, m := range list {
		list[i] = s.loaded(m)
	}
	if s.live == nil {
		return list
	}
	for _, listed := range s.live() {
		m, ok := s.now(listed)
		if !ok {
			continue
		}
		m = s.loaded(m)
		if i := s.find(m.ID); i >= 0 {
			list[i] = m
		} else if _, alias := s.byID[m.ID]; !alias {
			list = append(list, m)
		}
	}
	return list
}
