package scrape

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// ContentType is that of Text.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Text is the metrics of all scopes in their order. It sorts the series of each metric in place. Names and keys of attributes have to be valid in Prometheus. Metrics without
// series and exponential histograms are left out.
func Text(scopes []metricdata.ScopeMetrics) string {
	w := &writer{}
	for _, scope := range scopes {
		for _, m := range scope.Metrics {
			w.metric(m)
		}
	}
	return w.String()
}

type writer struct{ strings.Builder }

func (w *writer) metric(m metricdata.Metrics) {
	switch d := m.Data.(type) {
	case metricdata.Sum[int64]:
		numbers(w, m, sumKind(d.IsMonotonic), d.DataPoints)
	case metricdata.Sum[float64]:
		numbers(w, m, sumKind(d.IsMonotonic), d.DataPoints)
	case metricdata.Gauge[int64]:
		numbers(w, m, "gauge", d.DataPoints)
	case metricdata.Gauge[float64]:
		numbers(w, m, "gauge", d.DataPoints)
	case metricdata.Histogram[float64]:
		w.histogram(m, d.DataPoints)
	case metricdata.Summary:
		w.summary(m, d.DataPoints)
	}
}

// sumKind is the kind of a sum: one that can decrease is a gauge in Prometheus.
func sumKind(monotonic bool) string {
	if monotonic {
		return "counter"
	}
	return "gauge"
}

func numbers[N int64 | float64](w *writer, m metricdata.Metrics, kind string, points []metricdata.DataPoint[N]) {
	w.head(m, kind, len(points))
	sort(points, func(p metricdata.DataPoint[N]) attribute.Set { return p.Attributes })
	for _, p := range points {
		w.sample(m.Name, p.Attributes, "", float64(p.Value))
	}
}

// histogram writes buckets as Prometheus counts them: each one includes all below it.
func (w *writer) histogram(m metricdata.Metrics, points []metricdata.HistogramDataPoint[float64]) {
	w.head(m, "histogram", len(points))
	sort(points, func(p metricdata.HistogramDataPoint[float64]) attribute.Set { return p.Attributes })
	for _, p := range points {
		var below uint64
		for i, n := range p.BucketCounts {
			bound := math.Inf(1)
			if i < len(p.Bounds) {
				bound = p.Bounds[i]
			}
			below += n
			w.sample(m.Name+"_bucket", p.Attributes, number(bound), float64(below))
		}
		w.sample(m.Name+"_sum", p.Attributes, "", p.Sum)
		w.sample(m.Name+"_count", p.Attributes, "", float64(p.Count))
	}
}

func (w *writer) summary(m metricdata.Metrics, points []metricdata.SummaryDataPoint) {
	w.head(m, "summary", len(points))
	for _, p := range points {
		w.sample(m.Name+"_sum", p.Attributes, "", p.Sum)
		w.sample(m.Name+"_count", p.Attributes, "", float64(p.Count))
	}
}

// sort gives the series of a metric the same order in each scrape.
func sort[P any](points []P, of func(P) attribute.Set) {
	key := func(p P) string {
		set := of(p)
		return set.Encoded(attribute.DefaultEncoder())
	}
	slices.SortFunc(points, func(a, b P) int { return strings.Compare(key(a), key(b)) })
}

var (
	escapeHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	escapeValue = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
)

// head begins a metric, if it has points.
func (w *writer) head(m metricdata.Metrics, kind string, points int) {
	if points > 0 {
		w.WriteString("# HELP " + m.Name + " " + escapeHelp.Replace(m.Description) + "\n# TYPE " + m.Name + " " + kind + "\n")
	}
}

// sample writes one line. Attributes are labels; below is the label le of a bucket, empty for all other samples.
func (w *writer) sample(name string, labels attribute.Set, below string, n float64) {
	list := labels.ToSlice()
	if below != "" {
		list = append(list, attribute.String("le", below))
	}
	w.WriteString(name)
	for i, label := range list {
		before := ","
		if i == 0 {
			before = "{"
		}
		w.WriteString(before + string(label.Key) + `="` + escapeValue.Replace(strings.ToValidUTF8(label.Value.String(), "\uFFFD")) + `"`)
	}
	if len(list) > 0 {
		w.WriteByte('}')
	}
	w.WriteString(" " + number(n) + "\n")
}

// number is in the form of Go, which the format requires.
func number(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }
