package otlp

import (
	"math"
	"strconv"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// temporality: all counts are from the start on.
const cumulative = 2

type (
	wirePoint struct {
		Attributes []Attribute `json:"attributes,omitempty"`
		Begun      nanos       `json:"startTimeUnixNano"`
		Now        nanos       `json:"timeUnixNano"`
		Count      number      `json:"count"`
		Sum        float64     `json:"sum"`
		Buckets    []number    `json:"bucketCounts"`
		Bounds     []float64   `json:"explicitBounds"`
	}
	wireHistogram struct {
		Points      []wirePoint `json:"dataPoints"`
		Temporality int         `json:"aggregationTemporality"`
	}
	wireMetric struct {
		Name      string        `json:"name"`
		Words     string        `json:"description"`
		Unit      string        `json:"unit"`
		Histogram wireHistogram `json:"histogram"`
	}
	wireScopeMetrics struct {
		Scope     wireScope    `json:"scope"`
		Metrics   []wireMetric `json:"metrics"`
		SchemaURL string       `json:"schemaUrl"`
	}
	wireResourceMetrics struct {
		Resource     wireResource       `json:"resource"`
		ScopeMetrics []wireScopeMetrics `json:"scopeMetrics"`
		SchemaURL    string             `json:"schemaUrl"`
	}
	wireMetrics struct {
		ResourceMetrics []wireResourceMetrics `json:"resourceMetrics"`
	}
)

// number is a count in 64 bits.
type number uint64

// MarshalJSON writes it as a string.
func (n number) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatUint(uint64(n), 10)), nil
}

// encodeMetrics is a request with the histograms of families, and how many data points it has. Other kinds of metrics
// are not sent.
func (e *Exporter) encodeMetrics(families []*dto.MetricFamily, now time.Time) (body []byte, points int) {
	var list []wireMetric
	for _, f := range families {
		if f.GetType() != dto.MetricType_HISTOGRAM {
			continue
		}
		m := wireMetric{Name: f.GetName(), Words: f.GetHelp(), Unit: f.GetUnit(), Histogram: wireHistogram{Temporality: cumulative}}
		for _, metric := range f.Metric {
			m.Histogram.Points = append(m.Histogram.Points, point(metric, now))
		}
		points += len(m.Histogram.Points)
		list = append(list, m)
	}
	return encode(wireMetrics{[]wireResourceMetrics{{Resource: wireResource{e.cfg.Resource}, SchemaURL: e.cfg.Scope.SchemaURL,
		ScopeMetrics: []wireScopeMetrics{{wireScope{e.cfg.Scope.Name, e.cfg.Scope.Version}, list, e.cfg.Scope.SchemaURL}}}}}), points
}

// point is one histogram. Prometheus counts in each bucket what is in those below it too, and says nothing of the last
// one; an empty label is one that is not there.
func point(m *dto.Metric, now time.Time) wirePoint {
	h := m.GetHistogram()
	p := wirePoint{Begun: nanos(h.GetCreatedTimestamp().AsTime()), Now: nanos(now),
		Count: number(h.GetSampleCount()), Sum: h.GetSampleSum()}
	for _, l := range m.Label {
		if l.GetValue() != "" {
			p.Attributes = append(p.Attributes, Attribute{l.GetName(), Text(l.GetValue())})
		}
	}
	below := uint64(0)
	for _, b := range h.Bucket {
		if math.IsInf(b.GetUpperBound(), 1) {
			continue
		}
		p.Bounds = append(p.Bounds, b.GetUpperBound())
		p.Buckets = append(p.Buckets, number(b.GetCumulativeCount()-below))
		below = b.GetCumulativeCount()
	}
	p.Buckets = append(p.Buckets, number(h.GetSampleCount()-below))
	return p
}
