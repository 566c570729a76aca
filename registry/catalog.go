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

// Provider is a vendor as configured. Rows correct the vendor's rows member by member, or add to them.
// What is known of a model comes from the configuration, else from its server as it is now, else from listings of some
// time ago, else from the catalog.
type Provider struct {
	ID     string // what clients call it; no slash in it
	Vendor string // whose rows it has; empty: none but its own

	// How models are spoken to where their rows do not say. Empty: as the vendor's.
	API     string
	Dialect string

	Rows []Row

	// NumCtx is the window that an Ollama is asked for, in tokens, where a row does not say; 0: as OllamaWindow.
	NumCtx int

	// What the provider's host told when it was last asked, and what a public table says: rows whose members are zero
	// where nobody told. They add rows and correct them fact by fact, see note; nothing takes a row away.
	Refreshed, Noted []provider.Model

	// Lessons are what refusals of the provider's host said in the last 30 days: the caller leaves out older ones.
	Lessons []Lesson

	// Live tells what the provider's server has, where that can be asked; nil: nothing. It is called at each look-up, so
	// it answers from what it knows, and what it returned never changes. Its rows are as those of Refreshed.
	Live func() []provider.Model
}

// Lesson is what refusals of a host said about one of its models.
type Lesson struct {
	Model string `json:"model"`
	AsOf  string `json:"as_of"` // YYYY-MM-DD
	provider.Learned
}

// Catalog is what is known about the models of all configured providers.
type Catalog struct {
	providers []string
	stocks    map[string]func() *stock // by provider; made when somebody wants it
	skipped   []error
	now       func() time.Time
}

// spoken is how a model is spoken to.
type spoken struct{ api, dialect string }

// New makes a catalog. Its order is that of providers, then that of the vendor's rows, then that of the rows added by
// listings and by the configuration. An inconsistent row of the configuration is a *[RowError]; of a listing it is left
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

// Skipped is why rows of listings were left out: each error is a *[RowError].
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
	if len(p.Rows)+len(p.Refreshed)+len(p.Noted)+len(p.Lessons) > 0 { // what may be wrong is looked at now
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

// stock is what one provider has. It is put together once and never changes.
type stock struct {
	provider string
	vendor   string
	resells  bool // its models are other vendors'
	spoken   spoken
	display  []provider.Display
	rows     []provider.Model
	aliases  map[string]string         // alias to id
	redirect map[string]string         // id to the id of the model that answers under it
	own      []string                  // ids of the vendor's rows, and their aliases
	stated   map[string]Row            // of the configuration
	base     map[string]provider.Model // without the configuration; aliases included
	byID     map[string]provider.Model // with it
	numCtx   int                       // of the configuration
	live     func() []provider.Model   // nil: the server cannot be asked
	lessons  []Lesson
	skipped  []error // why rows of listings were left out
	wrong    error   // a row of the configuration is; nil: none
}

func newStock(p Provider, v vendorRows) *stock {
	s := &stock{provider: p.ID, vendor: p.Vendor, resells: v.Resells, display: v.Display, aliases: map[string]string{}, stated: map[string]Row{}, numCtx: p.NumCtx, live: p.Live, lessons: p.Lessons, redirect: v.Redirected}
	s.spoken = spoken{v.API, v.Dialect}.or(p.API, p.Dialect)
	for _, row := range v.rows() {
		m := row.Model
		m.Provider, m.Known, m.Source = p.ID, true, provider.FromCatalog
		m.API, m.Dialect = s.spoken.or(m.API, m.Dialect).both()
		m.Facts = stated(m, row.Source)
		s.rows, s.own = append(s.rows, complete(m, m.Thinking.Budgets)), append(append(s.own, m.ID), row.Aliases...)
		for _, alias := range row.Aliases {
			s.aliases[alias] = m.ID
		}
	}
	s.skipped = append(s.list(p.Noted, s.note), s.list(p.Refreshed, s.tell)...)
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

// or is what is stated, else s. A dialect is one of its API: another API does not inherit it.
func (s spoken) or(api, dialect string) spoken {
	if api != "" && api != s.api {
		s = spoken{api: api}
	}
	return spoken{s.api, cmp.Or(dialect, s.dialect)}
}

func (s spoken) both() (api, dialect string) { return s.api, s.dialect }

// list puts rows of a listing over those that are there, or adds them. What contradicts itself is left out.
func (s *stock) list(told []provider.Model, over func(base provider.Model, known bool, told provider.Model) (provider.Model, error)) (skipped []error) {
	for _, row := range told {
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

// gone reports whether a model is no longer served. A list may name such models: they are not added.
func gone(m provider.Model) bool {
	return m.Lifecycle != nil && m.Lifecycle.State == provider.LifecycleRetired
}

// put puts a row of the configuration over those that are there, or adds it.
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
		delete(s.aliases, row.ID) // from now on a row of its own
	}
	m := row.over(base, s.vendor)
	if m.Thinking.Control == "" && s.live != nil && row.silent() {
		return nil // the server tells the rest, when it is there
	}
	m = complete(m, row.Budgets)
	if err := check(m); err != nil {
		return err
	}
	if i >= 0 {
		s.rows[i] = m
	} else {
		s.rows = append(s.rows, m)
	}
	return nil
}

func (s *stock) find(id string) int {
	return slices.IndexFunc(s.rows, func(m provider.Model) bool { return m.ID == id })
}

func (s *stock) index() map[string]provider.Model {
	byID := map[string]provider.Model{}
	for _, m := range s.rows {
		byID[m.ID] = m
	}
	for alias, id := range s.aliases {
		m := byID[id]
		m.ID = alias // what was asked for is what goes on the wire
		byID[alias] = m
	}
	return byID
}

// Model is a provider's model by its id, compared exactly. One without a row has Known == false and no facts but those
// that somebody told; it is spoken to as the provider's models usually are.
func (c *Catalog) Model(providerID, name string) provider.Model {
	stock := c.stocks[providerID]
	if stock == nil {
		return provider.Model{Provider: providerID, ID: name, Name: name, Source: provider.FromNobody}
	}
	s := stock()
	if m, ok := s.row(name); ok {
		return c.answering(s, m)
	}
	m := provider.Model{Provider: providerID, ID: name, Name: name, API: s.spoken.api, Dialect: s.spoken.dialect, Source: provider.FromNobody}
	if row, ok := s.stated[name]; ok { // it waits for a server that is not there
		m.NumCtx = row.NumCtx
	}
	return s.loaded(m)
}

// Spoken is a row in another API, if its provider speaks to all of its models in that one as well: rows that name an API
// have been moved to it, and what was said before may have been said in the provider's own.
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

// loaded is a row with the window that its server loads the model with, where that is asked for: what was trained for more
// is cut at it.
func (s *stock) loaded(m provider.Model) provider.Model {
	if m.API != "ollama" {
		return m
	}
	if window := provider.OllamaWindow(m, s.numCtx); window > 0 {
		m.Window, m.NumCtx = window, window
	}
	return m
}

// Models lists all rows in catalog order. Other ids of the same model are not listed. The list is the caller's, what
// its rows point at is shared and read-only.
func (c *Catalog) Models() []provider.Model {
	var list []provider.Model
	for _, id := range c.providers {
		list = append(list, c.ModelsOf(id)...)
	}
	return list
}

// ModelsOf lists those of one provider.
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

// Providers lists the providers' ids in catalog order.
func (c *Catalog) Providers() []string { return slices.Clone(c.providers) }

// Find is the model that a client names: provider/id, or a bare id if just one provider has it, those apart that resell
// it. The first path segment is the provider if one is so named; then the rest is its model's id, with a row or without.
// The error is a *[NotFoundError] or an *[AmbiguousError].
func (c *Catalog) Find(modelID string) (provider.Model, error) {
	if first, rest, ok := strings.Cut(modelID, "/"); ok && slices.Contains(c.providers, first) {
		if rest == "" {
			return provider.Model{}, c.notFound(modelID)
		}
		return c.Model(first, rest), nil
	}
	var found []provider.Model
	for _, id := range c.providers {
		if m, ok := c.stocks[id]().row(modelID); ok {
			found = append(found, c.answering(c.stocks[id](), m))
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
	return slices.DeleteFunc(slices.Clone(list), func(m provider.Model) bool { return c.stocks[m.Provider]().resells })
}
