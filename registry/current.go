package registry

import (
	"sync/atomic"

	"github.com/thinkd/thinkd/provider"
)

// Current is the catalog in effect. A reload replaces it as a whole, and each method uses the catalog of that moment. A caller
// that needs several consistent results calls [Current.Catalog] first. All methods may be called from any goroutine.
type Current struct{ catalog atomic.Pointer[Catalog] }

// NewCurrent returns a Current with its first catalog.
func NewCurrent(c *Catalog) *Current {
	cur := &Current{}
	cur.catalog.Store(c)
	return cur
}

// Replace puts another catalog into effect.
func (c *Current) Replace(next *Catalog) { c.catalog.Store(next) }

// Catalog returns the catalog in effect now.
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

// Spoken is [Catalog.Spoken].
func (c *Current) Spoken(m provider.Model, api string) provider.Model {
	return c.Catalog().Spoken(m, api)
}
