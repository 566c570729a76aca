// Package otlptest is a collector of OpenTelemetry for tests. It accepts OTLP in Protocol Buffers and in JSON. It is strict: it refuses
// each request that breaks the specification or the definition of the messages, and keeps the reason.
package otlptest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Collector is an http.Handler. Its methods are safe for concurrent use.
type Collector struct {
	// Answer may answer in the collector's place, before anything is kept; it reports whether it did. Nil: it never does.
	Answer func(http.ResponseWriter, *http.Request) bool

	mu       sync.Mutex
	requests []Request
	faults   []string
}

// Request is one that was taken.
type Request struct {
	Path    string
	Header  http.Header
	Body    string              // as it was sent, not compressed
	JSON    bool                // otherwise Protocol Buffers
	Traces  *tracepb.TracesData // nil: metrics
	Metrics *metricspb.MetricsData
}

// Requests are those that came so far, and what was wrong with them.
func (c *Collector) Requests() (taken []Request, faults []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests), slices.Clone(c.faults)
}

// Spans are those that came so far.
func (c *Collector) Spans() (list []*tracepb.Span) {
	taken, _ := c.Requests()
	for _, r := range taken {
		for _, resource := range r.Traces.GetResourceSpans() {
			for _, scope := range resource.ScopeSpans {
				list = append(list, scope.Spans...)
			}
		}
	}
	return list
}

// Metrics are the last that came, by name.
func (c *Collector) Metrics() map[string]*metricspb.Metric {
	last := make(map[string]*metricspb.Metric)
	taken, _ := c.Requests()
	for _, r := range taken {
		for _, resource := range r.Metrics.GetResourceMetrics() {
			for _, scope := range resource.ScopeMetrics {
				for _, m := range scope.Metrics {
					last[m.Name] = m
				}
			}
		}
	}
	return last
}

func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.Answer != nil && c.Answer(w, r) {
		return
	}
	taken, err := read(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.faults = append(c.faults, fmt.Sprintf("%s: %v", r.URL.Path, err))
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.requests = append(c.requests, taken)
	w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
	if taken.JSON {
		io.WriteString(w, `{"partialSuccess":{}}`)
	} else {
		w.Write([]byte{1<<3 | 2, 0}) // field 1, a message without fields
	}
}

func read(r *http.Request) (Request, error) {
	taken := Request{Path: r.URL.Path, Header: r.Header.Clone()}
	kind := r.Header.Values("Content-Type")
	if r.Method != http.MethodPost || len(kind) != 1 {
		return taken, fmt.Errorf("%s with the content types %q", r.Method, kind)
	}
	switch kind[0] {
	case "application/json":
		taken.JSON = true
	case "application/x-protobuf":
	default:
		return taken, fmt.Errorf("content type %q", kind[0])
	}
	body, err := readBody(r)
	if err != nil {
		return taken, err
	}
	taken.Body = string(body)
	parse := parseProto
	if taken.JSON {
		parse = parseJSON
	}
	switch {
	case strings.HasSuffix(taken.Path, "/v1/traces"):
		taken.Traces = &tracepb.TracesData{}
		if err := parse(body, taken.Traces); err != nil {
			return taken, err
		}
		return taken, checkTraces(taken.Traces)
	case strings.HasSuffix(taken.Path, "/v1/metrics"):
		taken.Metrics = &metricspb.MetricsData{}
		if err := parse(body, taken.Metrics); err != nil {
			return taken, err
		}
		return taken, checkMetrics(taken.Metrics)
	}
	return taken, fmt.Errorf("no such path")
}

func readBody(r *http.Request) ([]byte, error) {
	switch how := r.Header.Get("Content-Encoding"); how {
	case "":
		return io.ReadAll(r.Body)
	case "gzip":
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		return io.ReadAll(z)
	default:
		return nil, fmt.Errorf("encoding %q", how)
	}
}

// A request has the same fields as the data that it exports, so both forms are parsed as that.

// parseProto parses Protocol Buffers. A field that the definition does not have, or has with another type, is a fault.
func parseProto(body []byte, m proto.Message) error {
	if err := proto.Unmarshal(body, m); err != nil {
		return err
	}
	return unknown(m.ProtoReflect())
}

// unknown is an error for the first field of a message, or of one in it, that has no definition.
func unknown(m protoreflect.Message) (err error) {
	if fields := m.GetUnknown(); len(fields) > 0 {
		n, kind, _ := protowire.ConsumeTag(fields)
		return fmt.Errorf("%s has no field %d of the wire type %d", m.Descriptor().FullName(), n, kind)
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				if err = unknown(v.List().Get(i).Message()); err != nil {
					break
				}
			}
		default:
			err = unknown(v.Message())
		}
		return err == nil
	})
	return err
}

func parseJSON(body []byte, m proto.Message) error {
	whole, err := proper(body)
	if err != nil {
		return err
	}
	return protojson.Unmarshal(whole, m)
}

// proper checks the rules that only OTLP's JSON has, and returns the body in the form that all JSON of Protocol Buffers has. Its ids
// are base64 (OTLP Specification, "JSON Protobuf Encoding").
func proper(body []byte) ([]byte, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if err := walk("", v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// What has a form of its own, by its key.
var (
	idSizes = map[string]int{"traceId": 16, "spanId": 8, "parentSpanId": 8}
	enums   = []string{"kind", "code", "aggregationTemporality", "severityNumber"}
	long    = []string{"startTimeUnixNano", "endTimeUnixNano", "timeUnixNano", "intValue", "count", "bucketCounts"}
)

func walk(key string, v any) error {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			if strings.Contains(k, "_") {
				return fmt.Errorf("%s: keys are in lowerCamelCase", k)
			}
			if size := idSizes[k]; size > 0 {
				text, _ := inner.(string)
				id, err := hex.DecodeString(text)
				if err != nil || len(id) != size || len(bytes.Trim(id, "\x00")) == 0 {
					return fmt.Errorf("%s: %v", k, inner)
				}
				v[k] = base64.StdEncoding.EncodeToString(id)
				continue
			}
			if err := walk(k, inner); err != nil {
				return err
			}
		}
	case []any:
		for _, inner := range v {
			if err := walk(key, inner); err != nil {
				return err
			}
		}
	case string:
		if slices.Contains(enums, key) {
			return fmt.Errorf("%s: %q: enums are numbers", key, v)
		}
	case json.Number:
		if slices.Contains(long, key) {
			return fmt.Errorf("%s: %s: 64 bits are a string", key, v)
		}
	case nil:
		return fmt.Errorf("%s is null", key)
	}
	return nil
}

func checkTraces(d *tracepb.TracesData) error {
	if len(d.ResourceSpans) == 0 {
		return fmt.Errorf("a request without anything")
	}
	for _, resource := range d.ResourceSpans {
		if err := checkResource(resource.GetResource().GetAttributes()); err != nil {
			return err
		}
		for _, scope := range resource.ScopeSpans {
			if scope.GetScope().GetName() == "" || len(scope.Spans) == 0 {
				return fmt.Errorf("a scope without a name or without spans")
			}
			for _, s := range scope.Spans {
				switch {
				case !isID(s.TraceId, 16), !isID(s.SpanId, 8), len(s.ParentSpanId) > 0 && !isID(s.ParentSpanId, 8):
					return fmt.Errorf("span %q has the ids %x, %x and %x", s.Name, s.TraceId, s.SpanId, s.ParentSpanId)
				case s.Name == "", tracepb.Span_SpanKind_name[int32(s.Kind)] == "", s.Kind == tracepb.Span_SPAN_KIND_UNSPECIFIED:
					return fmt.Errorf("span %q has the kind %d", s.Name, s.Kind)
				case tracepb.Status_StatusCode_name[int32(s.GetStatus().GetCode())] == "":
					return fmt.Errorf("span %q has the status %d", s.Name, s.Status.Code)
				case s.StartTimeUnixNano == 0, s.EndTimeUnixNano < s.StartTimeUnixNano:
					return fmt.Errorf("span %q has the times %d and %d", s.Name, s.StartTimeUnixNano, s.EndTimeUnixNano)
				case bytes.Equal(s.SpanId, s.ParentSpanId):
					return fmt.Errorf("span %q is its own parent", s.Name)
				}
				if err := checkAttributes(s.Attributes); err != nil {
					return fmt.Errorf("span %q: %w", s.Name, err)
				}
			}
		}
	}
	return nil
}

// isID reports whether an id has its length and is not zero, which means that there is none.
func isID(id []byte, size int) bool { return len(id) == size && len(bytes.Trim(id, "\x00")) > 0 }

func checkMetrics(d *metricspb.MetricsData) error {
	if len(d.ResourceMetrics) == 0 {
		return fmt.Errorf("a request without anything")
	}
	for _, resource := range d.ResourceMetrics {
		if err := checkResource(resource.GetResource().GetAttributes()); err != nil {
			return err
		}
		for _, scope := range resource.ScopeMetrics {
			for _, m := range scope.Metrics {
				h := m.GetHistogram()
				if m.Name == "" || m.Unit == "" || len(h.GetDataPoints()) == 0 ||
					h.AggregationTemporality != metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
					return fmt.Errorf("metric %q is no histogram, or lacks something", m.Name)
				}
				for _, p := range h.DataPoints {
					if err := checkPoint(p); err != nil {
						return fmt.Errorf("metric %q: %w", m.Name, err)
					}
				}
			}
		}
	}
	return nil
}

func checkPoint(p *metricspb.HistogramDataPoint) error {
	sum := uint64(0)
	for _, n := range p.BucketCounts {
		sum += n
	}
	switch {
	case p.StartTimeUnixNano == 0, p.TimeUnixNano < p.StartTimeUnixNano:
		return fmt.Errorf("the times are %d and %d", p.StartTimeUnixNano, p.TimeUnixNano)
	case len(p.BucketCounts) != len(p.ExplicitBounds)+1:
		return fmt.Errorf("%d buckets for %d bounds", len(p.BucketCounts), len(p.ExplicitBounds))
	case p.Min != nil && p.Max != nil && *p.Min > *p.Max:
		return fmt.Errorf("the least is %v, the most %v", *p.Min, *p.Max)
	case !slices.IsSorted(p.ExplicitBounds), sum != p.Count:
		return fmt.Errorf("the buckets have %d of %d, with bounds %v", sum, p.Count, p.ExplicitBounds)
	}
	return checkAttributes(p.Attributes)
}

func checkResource(list []*commonpb.KeyValue) error {
	if Attribute(list, "service.name").GetStringValue() == "" {
		return fmt.Errorf("nobody says who sends this")
	}
	return checkAttributes(list)
}

func checkAttributes(list []*commonpb.KeyValue) error {
	seen := make(map[string]bool)
	for _, a := range list {
		if a.Key == "" || seen[a.Key] || a.GetValue().GetValue() == nil {
			return fmt.Errorf("attribute %q is there twice, or has no value", a.Key)
		}
		seen[a.Key] = true
	}
	return nil
}

// Attribute is the value of a key, nil if there is none.
func Attribute(list []*commonpb.KeyValue, key string) *commonpb.AnyValue {
	i := slices.IndexFunc(list, func(a *commonpb.KeyValue) bool { return a.Key == key })
	if i < 0 {
		return nil
	}
	return list[i].Value
}
