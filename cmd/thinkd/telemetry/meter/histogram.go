package meter

import (
	"math"
	"slices"
	"strings"
	"time"
)

// Histogram counts values by their size.
type Histogram struct {
	family[points]
	unit   string
	bounds []float64
	begun  time.Time
}

// points are what has been counted in one series.
type points struct {
	counts []uint64 // by bucket; the last one has what is above all bounds
	sum    float64
}

// NewHistogram is one without series. Bounds ascend; a value that is equal to one is below it. The unit is told to collectors
// alone: Prometheus has it in the name.
func NewHistogram(name, unit, help string, bounds []float64, labels ...string) *Histogram {
	return &Histogram{family: family[points]{name: name, help: help, labels: labels}, unit: unit, bounds: bounds, begun: time.Now()}
}

// Observe counts a value.
func (h *Histogram) Observe(value float64, values ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := &h.atLocked(values).state
	if p.counts == nil {
		p.counts = make([]uint64, len(h.bounds)+1)
	}
	bucket, _ := slices.BinarySearch(h.bounds, value)
	p.counts[bucket]++
	p.sum += value
}

// Distribution is a Histogram at one moment.
type Distribution struct {
	Name, Unit, Help string
	Labels           []string
	Bounds           []float64
	Begun            time.Time // of the counting
	Series           []DistributionSeries
}

// DistributionSeries is one of its series.
type DistributionSeries struct {
	Values []string // of the labels
	Counts []uint64 // one more than there are bounds
	Count  uint64   // their sum
	Sum    float64  // of all that was observed
}

// Now is what has been counted so far; nothing of it changes later.
func (h *Histogram) Now() Distribution {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := Distribution{Name: h.name, Unit: h.unit, Help: h.help, Labels: h.labels, Bounds: h.bounds, Begun: h.begun}
	for _, s := range h.allLocked() {
		counted := DistributionSeries{Values: s.values, Counts: slices.Clone(s.state.counts), Sum: s.state.sum}
		for _, n := range counted.Counts {
			counted.Count += n
		}
		d.Series = append(d.Series, counted)
	}
	return d
}

// write has in each bucket what is in those below it too, as Prometheus has it.
func (h *Histogram) write(b *strings.Builder) {
	d := h.Now()
	head(b, d.Name, d.Help, "histogram")
	labels := append(slices.Clone(d.Labels), "le")
	for _, s := range d.Series {
		var below uint64
		for i, n := range s.Counts {
			bound := math.Inf(1)
			if i < len(d.Bounds) {
				bound = d.Bounds[i]
			}
			below += n
			sample(b, d.Name+"_bucket", labels, append(slices.Clone(s.Values), number(bound)), float64(below))
		}
		sample(b, d.Name+"_sum", d.Labels, s.Values, s.Sum)
		sample(b, d.Name+"_count", d.Labels, s.Values, float64(s.Count))
	}
}

// Exponential is so many bounds, each so many times the one before.
func Exponential(first, factor float64, bounds int) []float64 {
	list := make([]float64, bounds)
	for i := range list {
		list[i] = first
		first *= factor
	}
	return list
}
