package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// key names a fact of the catalog.
type key struct{ Vendor, Model, Field string }

// difference is a fact in which a table differs from the catalog.
type difference struct {
	key
	severity     int
	ours, theirs string // ours is empty where the catalog says nothing
	table        string // name of the table's file
	older        bool   // the catalog's fact is newer than the table
}

func (d difference) String() string {
	text := fmt.Sprintf("%-7s %s/%s: %s: catalog %s, table %s", severities[d.severity], d.Vendor, d.Model, d.Field, cmp.Or(d.ours, "-"), d.theirs)
	if d.older {
		text += " (an older table)"
	}
	return text
}

// severities order the differences by what they cost people: a wrong price or limit breaks budgets and compaction, a
// missing one switches them off.
var severities = []string{"wrong", "missing", "kinds", "absent"}

const (
	wrong   = iota // the catalog says something else
	missing        // the catalog says nothing
	kindly         // the catalog lacks a kind of input
	absent         // the catalog lacks the model
)

// accept is why a difference is as it should be. Model is * for all models of a vendor.
type accept struct {
	key
	Right  string // catalog, or unclear: nobody has confirmed either, or absent: the catalog does not carry the model
	Reason string
}

//go:embed accepted.json
var acceptedJSON []byte

// accepted reads the file of explained differences.
func accepted() (map[key]accept, error) {
	var list []accept
	if err := json.Unmarshal(acceptedJSON, &list); err != nil {
		return nil, fmt.Errorf("accepted.json: %w", err)
	}
	found := make(map[key]accept)
	for _, a := range list {
		if _, twice := found[a.key]; twice || a.Reason == "" || a.Right != "catalog" && a.Right != "unclear" && a.Right != "absent" || (a.Right == "absent") != (a.Field == "model") {
			return nil, fmt.Errorf("accepted.json: %v is listed twice, or lacks a reason or who is right", a.key)
		}
		found[a.key] = a
	}
	return found, nil
}

// reason finds why a difference is accepted.
func reason(reasons map[key]accept, d difference) (a accept, ok bool) {
	if a, ok = reasons[d.key]; !ok {
		a, ok = reasons[key{d.Vendor, "*", d.Field}]
	}
	return a, ok
}

// newer is by how much a fact of the catalog has to be newer than a table that differs for the table to lose: vendors
// change prices and limits that often, and the catalog's facts were read in the weeks before their date.
const newer = 30 * 24 * time.Hour

// outdated reports whether a fact of the catalog is newer than the table. A fact from a table has the date of that table,
// which its source ends with.
func outdated(fact provider.Fact, table time.Time) bool {
	day := fact.AsOf
	if fact.State == provider.FactTable {
		if words := strings.Fields(fact.Source); len(words) > 0 {
			if _, err := time.Parse(time.DateOnly, strings.TrimSuffix(words[len(words)-1], ")")); err == nil {
				day = words[len(words)-1]
			}
		}
	}
	at, err := time.Parse(time.DateOnly, day)
	return err == nil && !table.IsZero() && at.Sub(table) > newer
}

// factOf is the fact that a field belongs to.
func factOf(f provider.Facts, field string) provider.Fact {
	switch field {
	case "context_window", "max_output_tokens":
		return f.Limits
	case "input":
		return f.Input
	case "price":
		return f.Price
	}
	return f.Levels
}

// compare lists all differences, the severe ones first. Models that a table lacks are none: no table has all. Where tables
// differ from the catalog in the same fact, the newer one counts. A table is older if the catalog's fact is, or if a newer
// table agrees with the catalog.
func compare(find func(vendor, id string) provider.Model, rows []row, now time.Time) []difference {
	found := make(map[key]difference)
	day := make(map[key]time.Time)    // of the table that differs
	agreed := make(map[key]time.Time) // of the newest table that agrees
	for _, r := range rows {
		m := find(r.vendor, r.id)
		if !m.Known {
			k := key{r.vendor, r.id, "model"}
			found[k] = difference{key: k, severity: absent, theirs: "has it", table: r.table}
			continue
		}
		differs := make(map[string]bool)
		note := func(d difference) {
			differs[d.Field] = true
			d.table = r.table
			d.older = outdated(factOf(m.Facts, d.Field), r.asOf)
			old, ok := found[d.key]
			if !ok || old.older && !d.older || old.older == d.older && (r.asOf.After(day[d.key]) || r.asOf.Equal(day[d.key]) && d.severity < old.severity) {
				found[d.key], day[d.key] = d, r.asOf
			}
		}
		at := func(field string) key { return key{r.vendor, m.ID, field} }
		window := r.window
		if r.promptOnly && window > 0 && window+m.MaxOutput == m.Window {
			window = m.Window
		}
		compareCount(at("context_window"), m.Window, window, note)
		compareCount(at("max_output_tokens"), m.MaxOutput, r.output, note)
		if r.thinks != nil && *r.thinks != m.Thinking.Thinks() {
			note(difference{key: at("thinking"), severity: wrong, ours: fmt.Sprint(m.Thinking.Thinks()), theirs: fmt.Sprint(*r.thinks)})
		}
		compareLevels(at("levels"), m.Thinking, r.levels, note)
		for _, kind := range r.input {
			if slices.Contains(sent, kind) && !slices.Contains(m.Input, kind) {
				note(difference{key: at("input"), severity: kindly, ours: strings.Join(m.Input, " "), theirs: strings.Join(r.input, " ")})
			}
		}
		if r.price != nil {
			comparePrice(at("price"), m.Price, r.price, now, note)
		}
		for field, stated := range map[string]bool{"context_window": r.window > 0, "max_output_tokens": r.output > 0, "thinking": r.thinks != nil,
			"levels": r.levels != nil, "input": r.input != nil, "price": r.price != nil} {
			if k := at(field); stated && !differs[field] && r.asOf.After(agreed[k]) {
				agreed[k] = r.asOf
			}
		}
	}
	for k, d := range found {
		d.older = d.older || agreed[k].After(day[k])
		found[k] = d
	}
	return slices.SortedFunc(maps.Values(found), func(a, b difference) int {
		return cmp.Or(cmp.Compare(a.severity, b.severity), cmp.Compare(a.Vendor, b.Vendor), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Field, b.Field))
	})
}

// sent are the kinds of input that the catalog can state.
var sent = []string{"text", "image", "pdf"}

// compareLevels compares the levels that the table lists for the model, as present or absent. A model without efforts in the
// catalog is left out: tables write toggles and budgets as efforts of their own.
func compareLevels(k key, ours provider.Capability, theirs map[provider.Level]bool, note func(difference)) {
	if ours.Control != provider.ControlEffort {
		return
	}
	differ := false
	var has, lacks []string
	for _, level := range slices.SortedFunc(maps.Keys(theirs), func(a, b provider.Level) int { return cmp.Compare(a.Rank(), b.Rank()) }) {
		differ = differ || theirs[level] != slices.Contains(ours.Levels, level)
		if theirs[level] {
			has = append(has, string(level))
		} else {
			lacks = append(lacks, string(level))
		}
	}
	if !differ {
		return
	}
	text := strings.Join(has, " ")
	if len(lacks) > 0 {
		text = strings.TrimSpace(text + " (not " + strings.Join(lacks, " ") + ")")
	}
	note(difference{key: k, severity: wrong, ours: levelWords(ours), theirs: text})
}

func compareCount(k key, ours, theirs int, note func(difference)) {
	switch {
	case theirs == 0 || ours == theirs:
	case ours == 0:
		note(difference{key: k, severity: missing, ours: "", theirs: fmt.Sprint(theirs)})
	default:
		note(difference{key: k, severity: wrong, ours: fmt.Sprint(ours), theirs: fmt.Sprint(theirs)})
	}
}

// comparePrice compares what small prompts and those above each tier cost now. A table may have a vendor's peak price or
// the other one: it has no form for both.
func comparePrice(k key, ours, theirs *provider.Price, now time.Time, note func(difference)) {
	if ours == nil {
		note(difference{key: k, severity: missing, ours: "", theirs: price(*theirs, 1, now)})
		return
	}
	sizes := []int{1}
	for _, tiers := range [][]provider.PriceTier{ours.Tiers, theirs.Tiers} {
		for _, tier := range tiers {
			sizes = append(sizes, tier.Above+1)
		}
	}
	for _, size := range sizes {
		want, plain := theirs.At(size, now), *ours
		plain.Peak = nil
		same := plain.At(size, now).Agree(want)
		if ours.Peak != nil {
			peak := plain.At(size, now)
			for _, rate := range []*float64{&peak.Input, &peak.Output, &peak.CachedInput, &peak.CacheWrite} {
				*rate *= ours.Peak.Factor
			}
			same = same || peak.Agree(want)
		}
		if !same {
			note(difference{key: k, severity: wrong, ours: price(plain, size, now), theirs: price(*theirs, size, now)})
			return
		}
	}
}

func price(p provider.Price, size int, now time.Time) string {
	r := p.At(size, now)
	text := fmt.Sprintf("%v/%v cached %v write %v", round(r.Input), round(r.Output), round(r.CachedInput), round(r.CacheWrite))
	if size > 1 {
		text += fmt.Sprintf(" above %d", size-1)
	}
	return text
}

func round(v float64) float64 { return math.Round(v*1e6) / 1e6 }

func levelWords(c provider.Capability) string {
	switch c.Control {
	case provider.ControlNone:
		return "does not think"
	case provider.ControlAlways:
		return "always"
	}
	var list []string
	for _, l := range c.Levels {
		list = append(list, string(l))
	}
	return strings.Join(list, " ")
}
