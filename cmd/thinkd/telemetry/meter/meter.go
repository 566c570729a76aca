// Package meter counts, and writes what it counted as Prometheus reads it (prometheus.io: "Text-based format").
//
// A Counter and a Histogram are families of series: one for each set of values of their labels, which is there from its
// first count on, for good. So labels take words of a bounded set. A Gauge is looked up when it is written. All are safe
// for concurrent use.
//
// Prometheus' own client does all this and more, and does a part of it before main, in each process that links it: it makes
// its collectors and reads the definitions of its messages. docs/reliability.md has what that cost.
package meter

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// ContentType is that of Text.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// A Metric is a *Counter, a *Histogram, or a Gauge.
type Metric interface {
	write(*strings.Builder)
}

// Text is metrics in their order, for who scrapes them.
func Text(metrics ...Metric) string {
	var b strings.Builder
	for _, m := range metrics {
		m.write(&b)
	}
	return b.String()
}

// family is the series of a metric, each with a state of its own.
type family[S any] struct {
	name, help string
	labels     []string

	mu     sync.Mutex // guards the series and what is in them
	series map[string]*series[S]
}

type series[S any] struct {
	values []string // of the labels
	state  S
}

// atLocked is the series with these values, one for each label.
func (f *family[S]) atLocked(values []string) *series[S] {
	if len(values) != len(f.labels) {
		panic("meter: " + f.name + " has " + strconv.Itoa(len(f.labels)) + " labels")
	}
	key := strings.Join(values, "\xff")
	s := f.series[key]
	if s == nil {
		if f.series == nil {
			f.series = make(map[string]*series[S])
		}
		s = &series[S]{values: slices.Clone(values)}
		f.series[key] = s
	}
	return s
}

// allLocked has the same order each time.
func (f *family[S]) allLocked() []*series[S] {
	var list []*series[S]
	for _, key := range slices.Sorted(maps.Keys(f.series)) {
		list = append(list, f.series[key])
	}
	return list
}

// Counter counts upwards.
type Counter struct{ family[float64] }

// NewCounter is one without series.
func NewCounter(name, help string, labels ...string) *Counter {
	return &Counter{family[float64]{name: name, help: help, labels: labels}}
}

// Add counts n more, which is not negative.
func (c *Counter) Add(n float64, values ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.atLocked(values).state += n
}

func (c *Counter) write(b *strings.Builder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	head(b, c.name, c.help, "counter")
	for _, s := range c.allLocked() {
		sample(b, c.name, c.labels, s.values, s.state)
	}
}

// Gauge is a value of the moment.
type Gauge struct {
	Name, Help string
	Total      bool // it only grows: a counter that somebody else keeps
	Read       func() float64
}

func (g Gauge) write(b *strings.Builder) {
	kind := "gauge"
	if g.Total {
		kind = "counter"
	}
	head(b, g.Name, g.Help, kind)
	sample(b, g.Name, nil, nil, g.Read())
}

func head(b *strings.Builder, name, help, kind string) {
	b.WriteString("# HELP " + name + " " + strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(help) + "\n# TYPE " + name + " " + kind + "\n")
}

func sample(b *strings.Builder, name string, labels, values []string, n float64) {
	b.WriteString(name)
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	for i, label := range labels {
		before := ","
		if i == 0 {
			before = "{"
		}
		b.WriteString(before + label + `="` + quote.Replace(strings.ToValidUTF8(values[i], "\uFFFD")) + `"`)
	}
	if len(labels) > 0 {
		b.WriteByte('}')
	}
	b.WriteString(" " + number(n) + "\n")
}

// number is in Go's own form, as the format wants it.
func number(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }
