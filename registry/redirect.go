package registry

import (
	"time"

	"github.com/thinkd/thinkd/provider"
)

// At is the same catalog by another clock: what a vendor answers under a name depends on the day.
func (c *Catalog) At(now func() time.Time) *Catalog {
	later := *c
	later.now = now
	return &later
}

// answering is the model that answers under a row's name today. From the day on which a vendor redirects a name, that is
// its successor: the name stays on the wire, and all rules, limits and prices are the successor's. What the configuration
// states of the model's thinking stays as stated.
func (c *Catalog) answering(s *stock, m provider.Model) provider.Model {
	l := m.Lifecycle
	if l == nil || !l.Redirects || l.ReplacedBy == "" || l.Retires == "" || c.now().UTC().Format(time.DateOnly) < l.Retires {
		return m
	}
	if row, ok := s.stated[m.ID]; ok && !row.silent() {
		return m
	}
	successor, ok := s.row(l.ReplacedBy)
	if !ok {
		return m
	}
	still := *l
	still.Gone = false // the name is served
	successor.ID, successor.Name, successor.As, successor.Lifecycle = m.ID, m.Name, l.ReplacedBy, &still
	return successor
}
