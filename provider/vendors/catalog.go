package vendors

import (
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
)

// Catalog is what the registry knows with these providers. refine adds what their hosts have said; nil adds nothing.
// Errors are those of [registry.New].
func Catalog(list []Config, refine func(Config, *registry.Provider)) (*registry.Catalog, error) {
	var providers []registry.Provider
	for _, c := range list {
		vendor, _ := registry.VendorNamed(c.Vendor) // one that the catalog does not know has no rows there
		p := registry.Provider{ID: c.ID, Vendor: vendor.ID, API: c.API, Dialect: c.Dialect, Rows: c.Rows, NumCtx: c.NumCtx, Surcharge: c.Surcharge}
		if c.Lists() { // its server may have models that no row describes
			p.Live = func() []provider.Model { return nil }
		}
		if refine != nil {
			refine(c, &p)
		}
		providers = append(providers, p)
	}
	return registry.New(providers)
}
