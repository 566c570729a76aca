package registry

import (
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// now is a model as the server tells it now. What the configuration states of it comes over that. A row that contradicts
// itself is left out: nobody here can correct it.
func (s *stock) now(told provider.Model) (provider.Model, bool) {
	base, known := s.base[told.ID]
	told.Source, told.AsOf = provider.FromLive, "" // it is of now
	m, err := s.tell(base, known, told)
	if err != nil {
		return m, false
	}
	for _, l := range s.lessons {
		if taught, err := s.learn(m, true, l); l.Model == m.ID && err == nil {
			m = taught
		}
	}
	row, ok := s.stated[told.ID]
	if !ok {
		return m, true
	}
	stated := complete(row.over(m, s.vendor), row.Budgets)
	if stated.Thinking.Control == "" {
		m.NumCtx = row.NumCtx
		return m, true
	}
	if check(stated) != nil {
		m, ok = s.byID[told.ID]
		return m, ok
	}
	return stated, true
}

// row is a model by its id.
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

// models is all rows: those that are known without the server, then those that only it tells of.
func (s *stock) models() []provider.Model {
	list := slices.Clone(s.rows)
	for i, m := range list {
		list[i] = s.loaded(m)
	}
	if s.live == nil {
		return list
	}
	for _, told := range s.live() {
		m, ok := s.now(told)
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
