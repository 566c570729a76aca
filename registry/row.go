package registry

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// Row is what a configuration states about a model: a correction where the catalog has the model, else a new row.
// Zero members state nothing.
//
// Off is one of the levels exactly where the model can be off, so CanDisable adds it or takes it away; a list that
// names off while the model cannot be off contradicts itself.
type Row struct {
	ID   string
	Name string

	// The short form: that the model thinks, that it does so by default, with how much.
	Reasoning    *bool
	Enabled      *bool
	BudgetTokens int

	API        string // another one than the catalog's starts the dialect anew
	Dialect    string
	Control    provider.ControlKind // another one than the catalog's starts the thinking capability anew
	Levels     []provider.Level
	Default    provider.Level
	CanDisable *bool
	Display    []provider.Display
	BudgetMin  int                    // tokens
	BudgetMax  int                    // tokens
	Budgets    map[provider.Level]int // tokens, taken level by level
	Window     int                    // tokens
	NumCtx     int                    // tokens
	MaxOutput  int                    // tokens
	Input      []string
	Tools      *bool // a new row that does not say has tools: the vendor knows better than silence
	Sampling   *provider.SamplingRule
	Price      *provider.Price
	ServedAs   []string // names that answers may have for it, such as those of a gateway: see [Catalog.Served]
}

// RowError is a row that contradicts itself or lacks what is needed. Field is named as in the configuration.
type RowError struct {
	Provider string
	Model    string
	Field    string
	Problem  string
}

func (e *RowError) Error() string {
	return fmt.Sprintf("provider %s: model %q: %s: %s", e.Provider, e.Model, e.Field, e.Problem)
}

// standardBudgets are tokens for a level where a row has no numbers of its own; they are clamped to the row's range.
var standardBudgets = map[provider.Level]int{provider.Low: 4096, provider.Medium: 10_000, provider.High: 32_000}

// leastBudget is the smallest budget that an API takes (docs: extended-thinking).
const leastBudget = 1024

// silent reports whether the row says nothing of thinking.
func (r Row) silent() bool {
	return r.Reasoning == nil && r.Enabled == nil && r.BudgetTokens == 0 && r.Control == "" && r.Levels == nil && r.Default == "" &&
		r.CanDisable == nil && r.Display == nil && r.BudgetMin == 0 && r.BudgetMax == 0 && len(r.Budgets) == 0
}

// over puts the row's statements over a base, which is what is known otherwise, or a model with no more than ids.
func (r Row) over(m provider.Model, vendor string) provider.Model {
	m.Known = true
	m.Source = provider.FromConfig
	if r.API != "" && r.API != m.API {
		m.Prefill = provider.PrefillNever // the base's is of its API
	}
	m.AsOf = "" // the date was that of the catalog's statement
	m.API, m.Dialect = spoken{m.API, m.Dialect}.or(r.API, r.Dialect).both()
	was := m.Thinking
	m.Thinking = r.capability(r.plain(m, vendor))
	m.Facts = r.facts(m, was, vendor)
	m.Name = cmp.Or(r.Name, m.Name)
	m.Window = cmp.Or(r.Window, m.Window)
	m.NumCtx = cmp.Or(r.NumCtx, m.NumCtx)
	m.MaxOutput = cmp.Or(r.MaxOutput, m.MaxOutput)
	if r.MaxOutput > 0 && r.BudgetMax == 0 && m.Thinking.BudgetMax >= r.MaxOutput {
		m.Thinking.BudgetMax = r.MaxOutput - 1 // the base's greatest budget was for the base's output
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
	return m
}

// facts are a row's when the configuration has corrected it: m has the new thinking, was is the one before.
func (r Row) facts(m provider.Model, was provider.Capability, vendor string) provider.Facts {
	config := provider.Fact{State: provider.FactConfirmed, Source: "config"}
	f := m.Facts
	if !r.silent() {
		f.Levels = config
		if !was.Thinks() && m.Thinking.Thinks() && r.Control == "" && r.Levels == nil && r.BudgetTokens == 0 {
			f.Levels = usual(vendor, m.ID) // the configuration says that it thinks, and no more
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

// usual is the fact that a model was taken for one of its family, or of its API.
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
		c.Budgets = maps.Clone(r.Budgets) // none, or check says that they have no place here
	}
	return c
}

// complete fills in what follows from the rest of a row.
func complete(m provider.Model, stated map[provider.Level]int) provider.Model {
	m.Name = cmp.Or(m.Name, m.ID)
	c := &m.Thinking
	switch c.Control {
	case provider.ControlNone:
		c.Levels, c.Default = orList(c.Levels, provider.Off), cmp.Or(c.Default, provider.Off)
	case provider.ControlAlways:
		c.Levels, c.Default = orList(c.Levels, provider.On), cmp.Or(c.Default, provider.On)
	case provider.ControlToggle:
		c.Levels = orList(c.Levels, provider.Off, provider.On)
	case provider.ControlBudget:
		c.BudgetMin = cmp.Or(c.BudgetMin, leastBudget)
		if c.BudgetMax == 0 && m.MaxOutput > 0 {
			c.BudgetMax = m.MaxOutput - 1 // a budget has to stay below max_tokens (docs: extended-thinking)
		}
		c.Budgets = budgets(*c, stated)
	}
	return m
}

// budgets gives each level of a budget row its tokens. What the row at hand states stays as it is, to be checked; what
// comes from the catalog or the standard follows the row's range.
func budgets(c provider.Capability, stated map[provider.Level]int) map[provider.Level]int {
	all := map[provider.Level]int{}
	for _, level := range thinking(c) {
		tokens, ok := c.Budgets[level]
		if !ok {
			tokens, ok = standardBudgets[level]
		}
		if !ok {
			continue
		}
		all[level] = max(tokens, c.BudgetMin)
		if c.BudgetMax > 0 {
			all[level] = min(all[level], c.BudgetMax)
		}
	}
	maps.Copy(all, stated)
	return all
}

func orList(stated []provider.Level, rest ...provider.Level) []provider.Level {
	if len(stated) > 0 {
		return stated
	}
	return rest
}

func words[T ~string](list []T) string {
	s := make([]string, len(list))
	for i, w := range list {
		s[i] = string(w)
	}
	return strings.Join(s, ", ")
}
