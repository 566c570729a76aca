package registry

import (
	"sync/atomic"

	"github.com/thinkd/thinkd/provider"
)

// Current is the catalog in force. It is replaced as a whole, and each call is answered by one of them: who needs
// several answers that agree takes [Current.Catalog] first. It is safe for concurrent use.
type Current struct{ catalog atomic.Pointer[Catalog] }

// NewCurrent begins with a catalog.
func NewCurrent(c *Catalog) *Current {
	cur := &Current{}
	cur.catalog.Store(c)
	return cur
}

// Replace puts another catalog in force.
func (c *Current) Replace(next *Catalog) { c.catalog.Store(next) }

// Catalog is the one in force now.
func (c *Current) Catalog() *Catalog { return c.catalog.Load() }

// Model is [Catalog.Model].
func (c *Current) Model(providerID, name string) provider.Model {
	return c.Catalog().Model(providerID, name)
}

// Models is [Catalog.Models].
func (c *Current) Models() []provider.Model { return c.Catalog().Models() }

// Providers is [Catalog.Providers].
func (c *Current) Providers() []string { return c.Catalog().Providers() }

// Find is [Catalog.Find].
func (c *Current) Find(modelID string) (provider.Model, error) { return c.Catalog().Find(modelID) }

// Served is [Catalog.Served].
func (c *Current) Served(asked provider.Model, answer string) Service {
	return c.Catalog().Served(asked, answer)
}

// Spoken is that of the catalog as it is now.
func (c *Current) Spoken(m provider.Model, api string) provider.Model {
	return c.Catalog().Spoken(m, api)
}
