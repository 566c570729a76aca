package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// Provider is a vendor as configured. Rows correct the vendor's rows member by member, or add to them.
type Provider struct {
	ID     string // what clients call it; no slash in it
	Vendor string // whose rows it has; empty: none but its own

	// How models are spoken to where their rows do not say. Empty: as the vendor's.
	API     string
	Dialect string

	Rows []Row

	// Live tells what the provider's server has, where that can be asked; nil: nothing. It is called at each look-up, so
	// it answers from what it knows, and what it returned never changes.
	Live func() []provider.Model
}

// Catalog is what is known about the models of all configured providers.
type Catalog struct {
	providers []string
	models    []provider.Model
	byID      map[string]map[string]provider.Model // provider, then id; aliases included
	spoken    map[string]spoken                    // by provider: to models without a row
	asks      map[string]func() []provider.Model   // by provider: what its server has
	resells   map[string]bool                      // by provider: its models are other vendors'
}

// spoken is how a model is spoken to.
type spoken struct{ api, dialect string }

// New makes a catalog. Its order is that of providers, then that of the vendor's rows, then that of the rows added. An
// inconsistent row is a *[RowError].
func New(providers []Provider) (*Catalog, error) {
	c := &Catalog{byID: map[string]map[string]provider.Model{}, spoken: map[string]spoken{}, asks: map[string]func() []provider.Model{}, resells: map[string]bool{}}
	for _, p := range providers {
		if err := c.add(p); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Default is the catalog of all vendors under their own names, without a configuration.
func Default() *Catalog {
	var list []Provider
	for _, v := range embedded() {
		list = append(list, Provider{ID: v.ID, Vendor: v.ID})
	}
	c, err := New(list)
	if err != nil {
		panic(fmt.Sprintf("registry: catalog.json: %v", err)) // a broken build: the package's tests refuse it
	}
	return c
}

func (c *Catalog) add(p Provider) error {
	if p.ID == "" || strings.Contains(p.ID, "/") {
		return fmt.Errorf("provider %q: the id must be a word without a slash", p.ID)
	}
	if _, ok := c.byID[p.ID]; ok {
		return fmt.Errorf("provider %s: named twice", p.ID)
	}
	var vendor vendorRows
	if p.Vendor != "" {
		var ok bool
		if vendor, ok = embeddedVendor(p.Vendor); !ok {
			return fmt.Errorf("provider %s: no vendor is named %q", p.ID, p.Vendor)
		}
	}
	rows := newRows(p, vendor)
	for _, r := range p.Rows {
		if err := rows.put(r); err != nil {
			return err
		}
	}
	for _, m := range rows.list {
		if err := check(m); err != nil {
			return err
		}
	}
	c.providers = append(c.providers, p.ID)
	c.models = append(c.models, rows.list...)
	c.byID[p.ID], c.spoken[p.ID], c.asks[p.ID] = rows.index(), rows.spoken, p.Live
	c.resells[p.ID] = vendor.Resells
	return nil
}

// rows are one provider's while they are put together.
type rows struct {
	provider string
	spoken   spoken
	display  []provider.Display
	list     []provider.Model
	aliases  map[string]string // alias to id
	stated   map[string]bool   // ids that the configuration has named
}

func newRows(p Provider, v vendorRows) *rows {
	r := &rows{provider: p.ID, display: v.Display, aliases: map[string]string{}, stated: map[string]bool{}}
	r.spoken = spoken{v.API, v.Dialect}.or(p.API, p.Dialect)
	for _, row := range v.Models {
		m := row.Model
		m.Provider, m.Known, m.Source = p.ID, true, provider.FromCatalog
		m.API, m.Dialect = r.spoken.or(m.API, m.Dialect).both()
		r.list = append(r.list, complete(m, m.Thinking.Budgets))
		for _, alias := range row.Aliases {
			r.aliases[alias] = m.ID
		}
	}
	return r
}

// or is what is stated, else s. A dialect is one of its API: another API does not inherit it.
func (s spoken) or(api, dialect string) spoken {
	if api != "" && api != s.api {
		s = spoken{api: api}
	}
	return spoken{s.api, cmp.Or(dialect, s.dialect)}
}

func (s spoken) both() (api, dialect string) { return s.api, s.dialect }

func (r *rows) put(row Row) error {
	switch {
	case row.ID == "":
		return &RowError{Provider: r.provider, Field: "id", Problem: "missing"}
	case r.stated[row.ID]:
		return &RowError{r.provider, row.ID, "id", "a second row for the same model"}
	}
	r.stated[row.ID] = true
	if i := r.find(row.ID); i >= 0 {
		r.list[i] = complete(row.over(r.list[i]), row.Budgets)
		return nil
	}
	base := provider.Model{API: r.spoken.api, Dialect: r.spoken.dialect, Tools: true, Thinking: provider.Capability{Display: r.display}}
	if i := r.find(r.aliases[row.ID]); i >= 0 {
		base = r.list[i]
		delete(r.aliases, row.ID) // from now on a row of its own
	}
	base.Provider, base.ID = r.provider, row.ID
	r.list = append(r.list, complete(row.over(base), row.Budgets))
	return nil
}

func (r *rows) find(id string) int {
	return slices.IndexFunc(r.list, func(m provider.Model) bool { return m.ID == id })
}

func (r *rows) index() map[string]provider.Model {
	byID := map[string]provider.Model{}
	for _, m := range r.list {
		byID[m.ID] = m
	}
	for alias, id := range r.aliases {
		m := byID[id]
		m.ID = alias // what was asked for is what goes on the wire
		byID[alias] = m
	}
	return byID
}

// Model is a provider's model by its id, compared exactly. One without a row has Known == false and no facts; it is
// spoken to as the provider's models usually are.
func (c *Catalog) Model(providerID, name string) provider.Model {
	if m, ok := c.row(providerID, name); ok {
		return m
	}
	usual := c.spoken[providerID]
	return provider.Model{Provider: providerID, ID: name, Name: name, API: usual.api, Dialect: usual.dialect, Source: provider.FromNobody}
}

// Models lists all rows in catalog order. Other ids of the same model are not listed. The list is the caller's, what
// its rows point at is shared and read-only.
func (c *Catalog) Models() []provider.Model {
	var list []provider.Model
	for _, id := range c.providers {
		list = append(list, c.listed(id)...)
	}
	return list
}

// Providers lists the providers' ids in catalog order.
func (c *Catalog) Providers() []string { return slices.Clone(c.providers) }

// Find is the model that a client names: provider/id, or a bare id if just one provider has it, those apart that resell
// it. The first path segment
// is the provider if one is so named; then the rest is its model's id, with a row or without. The error is a
// *[NotFoundError] or an *[AmbiguousError].
func (c *Catalog) Find(modelID string) (provider.Model, error) {
	if first, rest, ok := strings.Cut(modelID, "/"); ok && slices.Contains(c.providers, first) {
		if rest == "" {
			return provider.Model{}, c.notFound(modelID)
		}
		return c.Model(first, rest), nil
	}
	var found []provider.Model
	for _, id := range c.providers {
		if m, ok := c.row(id, modelID); ok {
			found = append(found, m)
		}
	}
	if first := c.firstHand(found); len(first) == 1 {
		return first[0], nil
	}
	switch len(found) {
	case 0:
		return provider.Model{}, c.notFound(modelID)
	case 1:
		return found[0], nil
	}
	err := &AmbiguousError{ID: modelID}
	for _, m := range found {
		err.Candidates = append(err.Candidates, m.Ref())
	}
	return provider.Model{}, err
}

// firstHand are the models of those that do not resell them.
func (c *Catalog) firstHand(list []provider.Model) []provider.Model {
	return slices.DeleteFunc(slices.Clone(list), func(m provider.Model) bool { return c.resells[m.Provider] })
}
