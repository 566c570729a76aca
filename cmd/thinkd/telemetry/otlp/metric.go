package otlp

import (
	"strconv"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/telemetry/meter"
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

// encodeMetrics is a request with all histograms that have counted anything, and how many data points it has.
func (e *Exporter) encodeMetrics(now time.Time) (body []byte, points int) {
	var list []wireMetric
	for _, h := range e.cfg.Histograms {
		d := h.Now()
		if len(d.Series) == 0 {
			continue
		}
		m := wireMetric{Name: d.Name, Words: d.Help, Unit: d.Unit, Histogram: wireHistogram{Temporality: cumulative}}
		for _, s := range d.Series {
			m.Histogram.Points = append(m.Histogram.Points, point(d, s, now))
		}
		points += len(d.Series)
		list = append(list, m)
	}
	return encode(wireMetrics{[]wireResourceMetrics{{Resource: wireResource{e.cfg.Resource}, SchemaURL: e.cfg.Scope.SchemaURL,
		ScopeMetrics: []wireScopeMetrics{{wireScope{e.cfg.Scope.Name, e.cfg.Scope.Version}, list, e.cfg.Scope.SchemaURL}}}}}), points
}

// point is one series. An empty label is one that is not there. Its time is never before that of a clock that nobody sets: a
// point that is older than its beginning is refused.
func point(d meter.Distribution, s meter.DistributionSeries, now time.Time) wirePoint {
	if passed := d.Begun.Add(now.Sub(d.Begun)); passed.UnixNano() > now.UnixNano() {
		now = passed
	}
	p := wirePoint{Begun: nanos(d.Begun), Now: nanos(now), Count: number(s.Count), Sum: s.Sum, Bounds: d.Bounds}
	for i, value := range s.Values {
		if value != "" {
			p.Attributes = append(p.Attributes, Attribute{d.Labels[i], Text(value)})
		}
	}
	for _, n := range s.Counts {
		p.Buckets = append(p.Buckets, number(n))
	}
	return p
}
