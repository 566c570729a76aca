package registry

import (
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// live is what a provider's server tells of its models now, as rows of that provider. Rows that contradict themselves
// are left out: nobody here can correct them.
func (c *Catalog) live(providerID string) []provider.Model {
	ask := c.asks[providerID]
	if ask == nil {
		return nil
	}
	var rows []provider.Model
	usual := c.spoken[providerID]
	for _, m := range ask() {
		m.Provider, m.Known, m.Source = providerID, true, provider.FromLive
		m.API, m.Dialect = usual.or(m.API, m.Dialect).both()
		if m = complete(m, m.Thinking.Budgets); check(m) == nil {
			rows = append(rows, m)
		}
	}
	return rows
}

// row is a model by its id. What the configuration states comes before what the server tells, and that before the
// catalog's row.
func (c *Catalog) row(providerID, name string) (provider.Model, bool) {
	m, ok := c.byID[providerID][name]
	if ok && m.Source == provider.FromConfig {
		return m, true
	}
	rows := c.live(providerID)
	if i := slices.IndexFunc(rows, func(m provider.Model) bool { return m.ID == name }); i >= 0 {
		return rows[i], true
	}
	return m, ok
}

// listed is a provider's rows: those that stand in the catalog, then those that only the server tells of.
func (c *Catalog) listed(providerID string) []provider.Model {
	var list []provider.Model
	for _, m := range c.models {
		if m.Provider == providerID {
			m, _ = c.row(providerID, m.ID)
			list = append(list, m)
		}
	}
	for _, m := range c.live(providerID) {
		if _, ok := c.byID[providerID][m.ID]; !ok {
			list = append(list, m)
		}
	}
	return list
}
