package registry

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// Row has the facts that a configuration states about a model. It corrects the catalog's row, or is a new row if the catalog
// has none. Zero members state nothing.
//
// Off is one of the levels exactly if the model can be switched off, so CanDisable adds or removes it. A row that lists off
// for a model that cannot be switched off is inconsistent.
type Row struct {
	ID   string
	Name string

	// The short form: whether the model thinks, whether it does by default, and its budget for medium.
	Reasoning    *bool
	Enabled      *bool
	BudgetTokens int

	API        string // if it differs from the catalog's, the catalog's dialect does not apply
	Dialect    string
	Control    provider.ControlKind // if it differs from the catalog's, the catalog's capability does not apply
	Levels     []provider.Level
	Default    provider.Level
	CanDisable *bool
	Display    []provider.Display
	BudgetMin  int                    // tokens
	BudgetMax  int                    // tokens
	Budgets    map[provider.Level]int // tokens by level
	Window     int                    // tokens
	NumCtx     int                    // tokens
	MaxOutput  int                    // tokens
	Input      []string
	Tools      *bool // nil in a new row: it has tools, and the vendor refuses them if not
	Sampling   *provider.SamplingRule
	Options    provider.Options // defaults; each comes before that of the catalog
	Price      *provider.Price
	ExtraBody  json.RawMessage // a JSON object that is merged into each request
	ServedAs   []string        // names that answers may have for it, such as those of a gateway: see [Catalog.Served]
}

// silent reports whether the row states nothing about thinking.
func (r Row) silent() bool {
	return r.Reasoning == nil && r.Enabled == nil && r.BudgetTokens == 0 && r.Control == "" && r.Levels == nil && r.Default == "" &&
		r.CanDisable == nil && r.Display == nil && r.BudgetMin == 0 && r.BudgetMax == 0 && len(r.Budgets) == 0
}

// over applies the row to m, which has the known facts, or only ids.
func (r Row) over(m provider.Model, vendor string) provider.Model {
	m.Known = true
	m.Source = provider.FromConfig
	if r.API != "" && r.API != m.API {
		m.Prefill = provider.PrefillNever // m's rule is that of its own API
	}
	m.AsOf = "" // the date was the catalog's
	m.API, m.Dialect = spoken{m.API, m.Dialect}.or(r.API, r.Dialect).both()
	was := m.Thinking
	m.Thinking = r.capability(r.plain(m, vendor))
	m.Facts = r.facts(m, was, vendor)
	m.Name = cmp.Or(r.Name, m.Name)
	m.Window = cmp.Or(r.Window, m.Window)
	m.NumCtx = cmp.Or(r.NumCtx, m.NumCtx)
	m.MaxOutput = cmp.Or(r.MaxOutput, m.MaxOutput)
	if r.MaxOutput > 0 && r.BudgetMax == 0 && m.Thinking.BudgetMax >= r.MaxOutput {
		m.Thinking.BudgetMax = r.MaxOutput - 1 // the largest budget was computed from the previous output limit
	}
	if r.Input != nil {
		m.Input = slices.Clone(r.Input)
	}
	if r.Tools != nil {
		m.Tools = *r.Tools
	}
	if r.Sampling != nil {
		m.Sampling = *r.Sampling
	}
	if r.Price != nil {
		m.Price = r.Price
	}
	m.Options = r.defaults(m)
	m.ExtraBody = r.ExtraBody
	return m
}

// defaults returns the default options of m after a correction, nil if there are none.
func (r Row) defaults(m provider.Model) *provider.Options {
	o, _ := r.Options.Under(m.Options.Or())
	if o.IsZero() {
		return nil
	}
	return &o
}

// facts returns the sources of the facts after a correction. m has the new thinking, was is the previous one.
func (r Row) facts(m provider.Model, was provider.Capability, vendor string) provider.Facts {
	config := provider.Fact{State: provider.FactConfirmed, Source: "config"}
	f := m.Facts
	if !r.silent() {
		f.Levels = config
		if !was.Thinks() && m.Thinking.Thinks() && r.Control == "" && r.Levels == nil && r.BudgetTokens == 0 {
			f.Levels = usual(vendor, m.ID) // the configuration states only that it thinks
		}
		switch {
		case r.Default != "" || r.Enabled != nil:
			f.Default = config
		case m.Thinking.Default != was.Default || f.Default.State == "":
			f.Default = f.Levels
		}
	}
	if r.Window > 0 || r.MaxOutput > 0 {
		if f.Limits = config; r.Window == 0 && m.Window > 0 || r.MaxOutput == 0 && m.MaxOutput > 0 {
			f.Limits = weaker(m.Facts.Limits, config)
		}
	}
	if r.Input != nil {
		f.Input = config
	}
	if r.Price != nil {
		f.Price = config
	}
	return f
}

// usual is the source of facts that were guessed from the model's family or its API.
func usual(vendor, name string) provider.Fact {
	source := "the usual levels of its API"
	if c, pattern, ok := familyOf(vendor, name); ok && c.Thinks() {
		source = "models named " + pattern
	}
	return provider.Fact{State: provider.FactFamily, Source: source, AsOf: families().AsOf}
}

func (r Row) capability(c provider.Capability) provider.Capability {
	if r.Control != "" && r.Control != c.Control {
		c = provider.Capability{Control: r.Control, Display: c.Display}
	}
	if r.Levels != nil {
		c.Levels = r.Levels
	}
	c.Levels = slices.Clone(c.Levels)
	if r.CanDisable == nil && c.Control == provider.ControlToggle && c.Off == provider.OffNever {
		c.Off = provider.OffFull // that is what a toggle is
	}
	if r.CanDisable != nil && *r.CanDisable && c.Off == provider.OffNever {
		c.Off = provider.OffFull
	}
	if r.CanDisable != nil && !*r.CanDisable {
		c.Off = provider.OffNever
		if r.Levels == nil {
			c.Levels = slices.DeleteFunc(c.Levels, func(l provider.Level) bool { return l == provider.Off })
		}
	}
	if c.CanDisable() && len(c.Levels) > 0 && !slices.Contains(c.Levels, provider.Off) {
		c.Levels = slices.Insert(c.Levels, 0, provider.Off)
	}
	c.Default = cmp.Or(r.Default, c.Default)
	if r.Display != nil {
		c.Display = slices.Clone(r.Display)
	}
	c.BudgetMin = cmp.Or(r.BudgetMin, c.BudgetMin)
	c.BudgetMax = cmp.Or(r.BudgetMax, c.BudgetMax)
	if c.Control != provider.ControlBudget {
		c.Budgets = maps.Clone(r.Budgets) // check refuses them for this control
	}
	return c
}

// spoken is the wire API of a model and its dialect.
type spoken struct{ api, dialect string }

// or returns the given words, and those of s for empty ones. A dialect belongs to an API, so another API does not inherit it.
func (s spoken) or(api, dialect string) spoken {
	if api != "" && api != s.api {
		s = spoken{api: api}
	}
	return spoken{s.api, cmp.Or(dialect, s.dialect)}
}

func (s spoken) both() (api, dialect string) { return s.api, s.dialect }

// plain returns the capability that the short form of the row describes: that the model thinks, and optionally its default or
// its budget. The other members of the row are applied after it.
func (r Row) plain(m provider.Model, vendor string) provider.Capability {
	c := own(m.Thinking)
	if r.Reasoning == nil && r.Enabled == nil && r.BudgetTokens == 0 {
		return c
	}
	if r.Reasoning != nil && !*r.Reasoning {
		return provider.Capability{Control: provider.ControlNone}
	}
	if !c.Thinks() {
		display := c.Display
		c = thinkingOf(vendor, m.ID, m.API)
		c.Display = display
	}
	if r.BudgetTokens > 0 {
		c = budgeted(c, r.BudgetTokens)
	}
	if r.Enabled != nil && !*r.Enabled {
		return offUnlessAsked(c)
	}
	if c.Default == provider.Off { // the short form means on by default
		c.Default = usualLevel(c)
	}
	return c
}
