package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// Catalog has the facts of the models of all configured providers. It never changes, and its methods may be called from any
// goroutine.
type Catalog struct {
	providers []string
	stocks    map[string]func() *stock // by provider; built at the first use
	skipped   []error
	now       func() time.Time
}

// New returns a catalog. Its order is that of providers, then that of the vendor's rows, then that of the rows added by lists
// and by the configuration. An inconsistent row of the configuration is a *[RowError]. An inconsistent row of a list is left
// out, see [Catalog.Skipped].
func New(providers []Provider) (*Catalog, error) {
	c := &Catalog{stocks: map[string]func() *stock{}, now: time.Now}
	for _, p := range providers {
		if err := c.add(p); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Default returns the catalog of all vendors under their own names, without a configuration.
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

// Skipped returns the reasons why rows of lists were left out. Each error is a *[RowError].
func (c *Catalog) Skipped() []error { return slices.Clone(c.skipped) }

func (c *Catalog) add(p Provider) error {
	if p.ID == "" || strings.Contains(p.ID, "/") {
		return fmt.Errorf("provider %q: the id must be a word without a slash", p.ID)
	}
	if _, ok := c.stocks[p.ID]; ok {
		return fmt.Errorf("provider %s: named twice", p.ID)
	}
	var vendor vendorRows
	if p.Vendor != "" {
		var ok bool
		if vendor, ok = embeddedVendor(p.Vendor); !ok {
			return fmt.Errorf("provider %s: no vendor is named %q", p.ID, p.Vendor)
		}
	}
	stock := sync.OnceValue(func() *stock { return newStock(p, vendor) })
	if len(p.Rows)+len(p.Refreshed)+len(p.Noted)+len(p.Lessons) > 0 { // report inconsistent rows now
		s := stock()
		if s.wrong != nil {
			return s.wrong
		}
		c.skipped = append(c.skipped, s.skipped...)
	}
	c.providers = append(c.providers, p.ID)
	c.stocks[p.ID] = stock
	return nil
}

// Model returns a provider's model by its exact id. A model without a row has Known == false, and the API and dialect of its
// provider.
func (c *Catalog) Model(providerID, name string) provider.Model {
	stock := c.stocks[providerID]
	if stock == nil {
		return provider.Model{Provider: providerID, ID: name, Name: name, Source: provider.FromNobody}
	}
	s := stock()
	if m, ok := s.row(name); ok {
		return c.answering(s, m)
	}
	m := provider.Model{Provider: providerID, ID: name, Name: name, Source: provider.FromNobody}
	m.API, m.Dialect = s.spokenBy(name).both()
	if row, ok := s.stated[name]; ok { // its server is not reachable now
		m.NumCtx = row.NumCtx
	}
	return s.loaded(m)
}

// Spoken returns m with another API if its provider offers all of its models over that API too. A session may have been
// recorded over the provider's own API before the catalog's row named a different one.
func (c *Catalog) Spoken(m provider.Model, api string) provider.Model {
	stock := c.stocks[m.Provider]
	if stock == nil || api == m.API {
		return m
	}
	if s := stock(); s.spoken.api == api && s.resells {
		m.API, m.Dialect = s.spoken.both()
	}
	return m
}

// Models returns all rows in catalog order, without aliases. The caller may change the list, but not the data that its rows
// point to.
func (c *Catalog) Models() []provider.Model {
	var list []provider.Model
	for _, id := range c.providers {
		list = append(list, c.ModelsOf(id)...)
	}
	return list
}

// ModelsOf returns the rows of one provider, by the rules of Models.
func (c *Catalog) ModelsOf(providerID string) []provider.Model {
	stock := c.stocks[providerID]
	if stock == nil {
		return nil
	}
	s := stock()
	list := s.models()
	for i, m := range list {
		list[i] = c.answering(s, m)
	}
	return list
}

// Providers returns the providers' ids in catalog order.
func (c *Catalog) Providers() []string { return slices.Clone(c.providers) }

// Find returns the model that a client names: provider/id, or a bare id. A bare id needs exactly one provider that has it;
// resellers count only if no other provider has it. It never means a model of the simulator: "claude" must not be answered by
// a stand-in. If the first path segment is a provider, the rest is the id of its model, with or without a row. The error is a
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
		s := c.stocks[id]()
		if m, ok := s.row(modelID); ok && !s.simulates {
			found = append(found, c.answering(s, m))
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

// firstHand returns the models of providers that are no resellers.
func (c *Catalog) firstHand(list []provider.Model) []provider.Model {
	return slices.DeleteFunc(slices.Clone(list), func(m provider.Model) bool { return c.stocks[m.Provider]().resells })
}

// At returns the same catalog with another clock. The clock decides whether a vendor redirects a name already.
func (c *Catalog) At(now func() time.Time) *Catalog {
	later := *c
	later.now = now
	return &later
}

// answering returns the model that answers under a row's name today. From the day on which a vendor redirects the name, that
// is the successor: requests still name the old model, and all rules, limits and prices are the successor's. A row whose
// thinking is configured is not replaced.
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

// mostCandidates limits the similar names in a NotFoundError.
const mostCandidates = 3

// notFound returns the error for an id that no provider has, with the most similar ids.
func (c *Catalog) notFound(id string) error {
	type near struct {
		ref   string
		steps int
	}
	var list []near
	asked := plain(id[strings.LastIndex(id, "/")+1:])
	isProvider := slices.Contains(c.providers, strings.TrimSuffix(id, "/"))
	for _, m := range c.Models() {
		has := plain(m.ID)
		steps := distance(asked, has)
		switch {
		case isProvider && m.Provider == strings.TrimSuffix(id, "/"):
			steps = 0
		case len(asked) >= 4 && strings.Contains(has, asked):
			steps = min(steps, 1)
		}
		if steps <= len(asked)/4 {
			if c.stocks[m.Provider]().simulates {
				steps += len(asked) // behind all others
			}
			list = append(list, near{m.Ref(), steps})
		}
	}
	slices.SortStableFunc(list, func(a, b near) int { return cmp.Compare(a.steps, b.steps) })
	e := &NotFoundError{ID: strings.ToValidUTF8(id[:min(len(id), longestName)], ""), Providers: c.Providers()}
	for _, n := range list[:min(len(list), mostCandidates)] {
		e.Candidates = append(e.Candidates, n.ref)
	}
	return e
}
