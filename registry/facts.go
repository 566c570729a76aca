package registry

import (
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// publicTables are the prefixes of sources that are public tables.
var publicTables = []string{"pi-ai", "@earendil-works/pi-ai", "models.dev", "charmbracelet/catwalk", "litellm"}

// stated returns the sources of the facts of a catalog's row. A row may state them. Otherwise they follow from its source,
// which has parts between semicolons: the first part is for all facts, "window and price: TABLE" for the facts that it names,
// and "default not confirmed" marks a fact as unconfirmed.
func stated(m provider.Model, source string) provider.Facts {
	parts := strings.Split(source, "; ")
	all := provider.Fact{State: provider.FactConfirmed, Source: parts[0], AsOf: m.AsOf}
	if fromTable(parts[0]) {
		all.State, all.Source = provider.FactTable, source
	}
	of := make(map[string]provider.Fact)
	for _, part := range parts[1:] {
		names, table, ok := strings.Cut(part, ": ")
		switch {
		case ok && fromTable(table):
			for _, name := range factsNamed(names) {
				of[name] = provider.Fact{State: provider.FactTable, Source: table, AsOf: m.AsOf}
			}
		case strings.HasSuffix(part, "not confirmed"):
			for _, name := range factsNamed(strings.TrimSuffix(part, " not confirmed")) {
				of[name] = provider.Fact{State: provider.FactTable, Source: source, AsOf: m.AsOf}
			}
		}
	}
	said := map[string]bool{"levels": true, "default": true, "limits": m.Window > 0 || m.MaxOutput > 0, "input": len(m.Input) > 0, "media": m.Media != nil,
		"price": m.Price != nil, "lifecycle": m.Lifecycle != nil}
	facts := m.Facts
	facts.Each(func(name string, f *provider.Fact) {
		fact, ok := of[name]
		switch {
		case !said[name] || f.State != "":
		case ok:
			*f = fact
		default:
			*f = all
		}
	})
	return facts
}

func fromTable(source string) bool {
	return slices.ContainsFunc(publicTables, func(name string) bool { return strings.HasPrefix(source, name) })
}

// factsNamed returns the groups of facts in a part of a source, such as "window, output, input and price".
func factsNamed(names string) (facts []string) {
	for _, word := range strings.FieldsFunc(strings.ReplaceAll(names, " and ", ","), func(r rune) bool { return r == ',' || r == ' ' }) {
		switch word {
		case "window", "output", "limits":
			facts = append(facts, "limits")
		case "levels", "off", "thinking":
			facts = append(facts, "levels")
		case "default", "input", "price":
			facts = append(facts, word)
		}
	}
	return facts
}

// weaker returns the less certain of two facts: a group of members is as certain as the least certain one.
func weaker(a, b provider.Fact) provider.Fact {
	order := []provider.FactState{"", provider.FactFamily, provider.FactTable, provider.FactConfirmed, provider.FactLearned}
	if slices.Index(order, a.State) < slices.Index(order, b.State) {
		return a
	}
	return b
}
