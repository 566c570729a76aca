package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// table has the measurements: rows with one or more figures in each column.
type table struct {
	columns []column
	rows    []*row
}

// column is a subject, or something else that is compared. Goals apply to judged columns.
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

// goal is a limit for a figure of thinkd. The zero value is no limit.
type goal struct {
	ratio  float64 // the largest multiple of the first column's figure
	than   string  // a row: ratio is then a multiple of its figure in the same column
	of     string  // a column: ratio is then a multiple of its figure, if it was measured
	share  float64 // the smallest share of the first column's figure
	most   float64 // the largest figure, in the unit of the row
	least  float64 // the smallest figure
	ofBest float64 // the largest multiple of the best figure of all columns
	higher bool    // a higher figure is better
}

// add records a figure.
func (t *table) add(name, unit string, g goal, subject string, value float64) {
	i := slices.IndexFunc(t.rows, func(r *row) bool { return r.name == name })
	if i < 0 {
		t.rows = append(t.rows, &row{name: name, unit: unit, goal: g, got: make(map[string][]float64)})
		i = len(t.rows) - 1
	}
	t.rows[i].got[subject] = append(t.rows[i].got[subject], value)
}

// median returns the median of a subject's figures; false: there are none.
func (r *row) median(subject string) (float64, bool) {
	got := r.got[subject]
	if len(got) == 0 {
		return 0, false
	}
	return quantile(got, 0.5), true
}

// quantile returns the smallest value that this share of the values does not exceed. The median of an even number of values is the
// mean of the two in the middle.
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
	g := r.goal
	base, _ := r.median(cmp.Or(g.of, t.columns[0].name))
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

// best returns the best median of a row.
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
	case g.of != "":
		return fmt.Sprintf("≤ %gx %s", g.ratio, g.of)
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

// markdown writes the table, with the goals and the columns that meet them.
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
			if _, measured := r.median(cmp.Or(r.goal.of, c.name)); !c.judged || r.goal == (goal{}) || !measured {
				continue
			}
			text, met := t.verdict(r, c.name)
			verdicts = append(verdicts, strings.TrimSpace(text+" "+map[bool]string{true: "met", false: "**missed**"}[met]))
		}
		fmt.Fprintf(&b, " %s | %s |\n", r.goal, strings.Join(slices.Compact(verdicts), ", "))
	}
	return b.String()
}

// short writes a number with three significant digits.
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

// grouped writes a number with commas between thousands.
func grouped(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
