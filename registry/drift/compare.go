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
}

func (d difference) String() string {
	return fmt.Sprintf("%-7s %s/%s: %s: catalog %s, table %s", severities[d.severity], d.Vendor, d.Model, d.Field, cmp.Or(d.ours, "-"), d.theirs)
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

// accept is why a difference is as it should be.
type accept struct {
	key
	Right  string // catalog, or unclear: nobody has confirmed either
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
		if _, twice := found[a.key]; twice || a.Reason == "" || a.Right != "catalog" && a.Right != "unclear" {
			return nil, fmt.Errorf("accepted.json: %v stands twice, or lacks a reason or who is right", a.key)
		}
		found[a.key] = a
	}
	return found, nil
}

// compare lists all differences, the severe ones first. Models that a table lacks are none: no table has all.
func compare(models []provider.Model, rows []row, now time.Time) []difference {
	ours := make(map[[2]string]provider.Model)
	for _, m := range models {
		ours[[2]string{m.Provider, m.ID}] = m
	}
	found := make(map[key]difference)
	note := func(d difference) {
		if old, ok := found[d.key]; !ok || d.severity < old.severity {
			found[d.key] = d
		}
	}
	for _, r := range rows {
		at := func(field string) key { return key{r.vendor, r.id, field} }
		m, ok := ours[[2]string{r.vendor, r.id}]
		if !ok {
			note(difference{at("model"), absent, "", "has it"})
			continue
		}
		compareCount(at("context_window"), m.Window, r.window, note)
		compareCount(at("max_output_tokens"), m.MaxOutput, r.output, note)
		if r.thinks != nil && *r.thinks != m.Thinking.Thinks() {
			note(difference{at("thinking"), wrong, fmt.Sprint(m.Thinking.Thinks()), fmt.Sprint(*r.thinks)})
		}
		for _, kind := range r.input {
			if !slices.Contains(m.Input, kind) {
				note(difference{at("input"), kindly, strings.Join(m.Input, " "), strings.Join(r.input, " ")})
			}
		}
		if r.price != nil {
			comparePrice(at("price"), m.Price, r.price, now, note)
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b difference) int {
		return cmp.Or(cmp.Compare(a.severity, b.severity), cmp.Compare(a.Vendor, b.Vendor), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Field, b.Field))
	})
}

func compareCount(k key, ours, theirs int, note func(difference)) {
	switch {
	case theirs == 0 || ours == theirs:
	case ours == 0:
		note(difference{k, missing, "", fmt.Sprint(theirs)})
	default:
		note(difference{k, wrong, fmt.Sprint(ours), fmt.Sprint(theirs)})
	}
}

// comparePrice compares what small prompts and those above each tier cost now. A table may have a vendor's peak price or
// the other one: it has no form for both.
func comparePrice(k key, ours, theirs *provider.Price, now time.Time, note func(difference)) {
	if ours == nil {
		note(difference{k, missing, "", price(*theirs, 1, now)})
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
		same := near(plain.At(size, now), want)
		if ours.Peak != nil {
			peak := plain.At(size, now)
			for _, rate := range []*float64{&peak.Input, &peak.Output, &peak.CachedInput, &peak.CacheWrite} {
				*rate *= ours.Peak.Factor
			}
			same = same || near(peak, want)
		}
		if !same {
			note(difference{k, wrong, price(plain, size, now), price(*theirs, size, now)})
			return
		}
	}
}

// near compares what both sides know: 0 for the cache says nothing.
func near(ours, theirs provider.Rates) bool {
	like := func(a, b float64) bool { return math.Abs(a-b) <= 1e-6+math.Abs(b)*1e-3 }
	return like(ours.Input, theirs.Input) && like(ours.Output, theirs.Output) &&
		(theirs.CachedInput == 0 || like(ours.CachedInput, theirs.CachedInput)) && (theirs.CacheWrite == 0 || like(ours.CacheWrite, theirs.CacheWrite))
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
