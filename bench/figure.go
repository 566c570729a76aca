package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// table is what was measured: rows of figures, of each column one or more.
type table struct {
	columns []column
	rows    []*row
}

// column is a subject, or whatever else is compared. Goals are for those that are judged.
type column struct {
	name   string
	judged bool
}

// row is one figure of all subjects.
type row struct {
	name string
	unit string
	goal goal
	got  map[string][]float64 // by column, in the order of measuring
}

// goal is what a figure has to be for thinkd. The zero value is none.
type goal struct {
	ratio  float64 // at most so many times the first column's
	than   string  // or, of the same column, that of another row
	share  float64 // at least such a share of the first column's
	most   float64 // at most, in the row's unit
	least  float64 // at least
	ofBest float64 // within such a ratio of the best of all columns
	higher bool    // of which the higher is the better
}

// add notes a figure.
func (t *table) add(name, unit string, g goal, subject string, value float64) {
	i := slices.IndexFunc(t.rows, func(r *row) bool { return r.name == name })
	if i < 0 {
		t.rows = append(t.rows, &row{name: name, unit: unit, goal: g, got: make(map[string][]float64)})
		i = len(t.rows) - 1
	}
	t.rows[i].got[subject] = append(t.rows[i].got[subject], value)
}

// median of a subject's figures, and whether there is one.
func (r *row) median(subject string) (float64, bool) {
	got := r.got[subject]
	if len(got) == 0 {
		return 0, false
	}
	return quantile(got, 0.5), true
}

// quantile is the smallest value that so many of the values do not exceed; between the two in the middle, the median of an
// even number is their mean.
func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if q == 0.5 && n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[min(int(math.Ceil(q*float64(n)))-1, n-1)]
}

// verdict compares a column's figure with the goal: what it is as a ratio, where the goal is one, and whether it is met.
func (t *table) verdict(r *row, column string) (text string, met bool) {
	value, _ := r.median(column)
	base, _ := r.median(t.columns[0].name)
	g := r.goal
	if i := slices.IndexFunc(t.rows, func(r *row) bool { return r.name == g.than }); i >= 0 {
		base, _ = t.rows[i].median(column)
	}
	ratio := value / base
	switch {
	case g.ratio > 0:
		return fmt.Sprintf("%.2fx", ratio), ratio <= g.ratio
	case g.share > 0:
		return fmt.Sprintf("%.2fx", ratio), ratio >= g.share
	case g.most > 0:
		return "", value <= g.most
	case g.least > 0:
		return "", value >= g.least
	case g.ofBest > 0:
		ratio = value / t.best(r)
		if g.higher {
			ratio = 1 / ratio
		}
		return fmt.Sprintf("%.2fx", ratio), ratio <= g.ofBest
	}
	return "", true
}

// best is the best median of a row.
func (t *table) best(r *row) float64 {
	best := math.NaN()
	for _, c := range t.columns {
		if v, ok := r.median(c.name); ok && (math.IsNaN(best) || v > best == r.goal.higher) {
			best = v
		}
	}
	return best
}

func (g goal) String() string {
	switch {
	case g.than != "":
		return fmt.Sprintf("≤ %gx %s", g.ratio, g.than)
	case g.ratio > 0:
		return fmt.Sprintf("≤ %gx floor", g.ratio)
	case g.share > 0:
		return fmt.Sprintf("≥ %gx floor", g.share)
	case g.most > 0:
		return "≤ " + short(g.most)
	case g.least > 0:
		return "≥ " + short(g.least)
	case g.ofBest > 0:
		return fmt.Sprintf("≤ %gx the best", g.ofBest)
	}
	return ""
}

// markdown writes the table: a column for each, the goal, and who meets it, in the order of the columns.
func (t *table) markdown() string {
	var b strings.Builder
	b.WriteString("| |")
	for _, c := range t.columns {
		fmt.Fprintf(&b, " %s |", c.name)
	}
	b.WriteString(" goal | |\n|---|" + strings.Repeat("---:|", len(t.columns)) + "---|---|\n")
	for _, r := range t.rows {
		fmt.Fprintf(&b, "| %s, %s |", r.name, r.unit)
		var verdicts []string
		for _, c := range t.columns {
			value, ok := r.median(c.name)
			if !ok {
				b.WriteString(" |")
				continue
			}
			fmt.Fprintf(&b, " %s |", short(value))
			if !c.judged || r.goal == (goal{}) {
				continue
			}
			text, met := t.verdict(r, c.name)
			verdicts = append(verdicts, strings.TrimSpace(text+" "+map[bool]string{true: "met", false: "**missed**"}[met]))
		}
		fmt.Fprintf(&b, " %s | %s |\n", r.goal, strings.Join(slices.Compact(verdicts), ", "))
	}
	return b.String()
}

// short writes a number with three digits that count.
func short(v float64) string {
	switch size := math.Abs(v); {
	case size >= 1000:
		return grouped(int(math.Round(v)))
	case size >= 100 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	case size >= 10:
		return fmt.Sprintf("%.1f", v)
	case size >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// grouped writes thousands apart.
func grouped(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
