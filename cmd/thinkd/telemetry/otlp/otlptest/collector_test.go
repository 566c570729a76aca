package otlptest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

func attributes(pairs ...string) (list []*commonpb.KeyValue) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, &commonpb.KeyValue{Key: pairs[i], Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: pairs[i+1]}}})
	}
	return list
}

var thinkd = &resourcepb.Resource{Attributes: attributes("service.name", "thinkd")}

// traces is a request with one good span that was changed.
func traces(change func(*tracepb.Span)) []byte {
	s := &tracepb.Span{TraceId: []byte("0123456789abcdef"), SpanId: []byte("01234567"), Name: "chat", Kind: tracepb.Span_SPAN_KIND_CLIENT,
		StartTimeUnixNano: 1, EndTimeUnixNano: 2, Attributes: attributes("a", "b")}
	change(s)
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{Resource: thinkd, ScopeSpans: []*tracepb.ScopeSpans{
		{Scope: &commonpb.InstrumentationScope{Name: "scope"}, Spans: []*tracepb.Span{s}}}}}})
	if err != nil {
		panic(err)
	}
	return body
}

// metrics is a request with one good histogram that was changed.
func metrics(change func(*metricspb.Metric, *metricspb.HistogramDataPoint)) []byte {
	p := &metricspb.HistogramDataPoint{StartTimeUnixNano: 1, TimeUnixNano: 2, Count: 3, BucketCounts: []uint64{1, 2}, ExplicitBounds: []float64{5}}
	m := &metricspb.Metric{Name: "took", Unit: "s", Data: &metricspb.Metric_Histogram{Histogram: &metricspb.Histogram{
		DataPoints: []*metricspb.HistogramDataPoint{p}, AggregationTemporality: metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE}}}
	change(m, p)
	body, err := proto.Marshal(&metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{{Resource: thinkd,
		ScopeMetrics: []*metricspb.ScopeMetrics{{Metrics: []*metricspb.Metric{m}}}}}})
	if err != nil {
		panic(err)
	}
	return body
}

const goodJSON = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"thinkd"}}]},"scopeSpans":[{"scope":{"name":"scope"},` +
	`"spans":[{"traceId":"30313233343536373839616263646566","spanId":"3031323334353637","name":"chat","kind":3,"startTimeUnixNano":"1","endTimeUnixNano":"2",` +
	`"attributes":[{"key":"a","value":{"intValue":"7"}}],"status":{"code":2}}]}]}]}`

// The collector refuses what real collectors refuse. Without this, tests against it would prove little.
func TestCollectorIsStrict(t *testing.T) {
	const protobuf, inJSON = "application/x-protobuf", "application/json"
	change := func(old, new string) []byte {
		if !strings.Contains(goodJSON, old) {
			t.Fatalf("%s is not in the request", old)
		}
		return []byte(strings.Replace(goodJSON, old, new, 1))
	}
	good := traces(func(*tracepb.Span) {})
	type points = *metricspb.HistogramDataPoint
	for _, c := range []struct {
		name, path, kind string
		body             []byte
		fault            string // empty: accepted
	}{
		{"spans", "/v1/traces", protobuf, good, ""},
		{"metrics", "/v1/metrics", protobuf, metrics(func(*metricspb.Metric, points) {}), ""},
		{"spans in JSON", "/v1/traces", inJSON, []byte(goodJSON), ""},
		{"no content type", "/v1/traces", "", good, "content types []"},
		{"another content type", "/v1/traces", "application/octet-stream", good, "octet-stream"},
		{"JSON as Protocol Buffers", "/v1/traces", protobuf, []byte(goodJSON), "invalid wire-format"},
		{"Protocol Buffers as JSON", "/v1/traces", inJSON, good, "invalid character"},
		{"another path", "/v1/logs", protobuf, good, "no such path"},
		{"metrics at the path of spans", "/v1/traces", protobuf, metrics(func(*metricspb.Metric, points) {}), "wire type"},
		{"an unknown field", "/v1/traces", protobuf, protowire.AppendBytes(protowire.AppendTag(slices.Clip(good), 99, protowire.BytesType), nil), "no field 99"},
		{"a field of another type", "/v1/traces", protobuf, protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 7), "no field 1 of the wire type 0"},
		{"a field of another type deep inside", "/v1/traces", protobuf, traces(func(s *tracepb.Span) {
			s.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 5, protowire.VarintType), 7))
		}), "Span has no field 5 of the wire type 0"},
		{"a short trace id", "/v1/traces", protobuf, traces(func(s *tracepb.Span) { s.TraceId = s.TraceId[1:] }), "has the ids"},
		{"a zero span id", "/v1/traces", protobuf, traces(func(s *tracepb.Span) { s.SpanId = make([]byte, 8) }), "has the ids"},
		{"a short parent", "/v1/traces", protobuf, traces(func(s *tracepb.Span) { s.ParentSpanId = []byte("1") }), "has the ids"},
		{"an id in hex", "/v1/traces", protobuf, traces(func(s *tracepb.Span) { s.SpanId = []byte("0123456789abcdef") }), "has the ids"},
		{"its own parent", "/v1/traces", protobuf, traces(func(s *tracepb.Span) { s.ParentSpanId = s.SpanId }), "own parent"},
		{"no name", "/v1/traces", protobuf, traces(func(s *tracepb.Span) { s.Name = "" }), "has the kind"},
		{"no kind", "/v1/traces", protobuf, traces(func(s *tracepb.Span) { s.Kind = 0 }), "has the kind"},
		{"an unknown kind", "/v1/traces", protobuf, traces(func(s *tracepb.Span) { s.Kind = 77 }), "has the kind"},
		{"an end before the start", "/v1/traces", protobuf, traces(func(s *tracepb.Span) { s.EndTimeUnixNano = 0 }), "has the times"},
		{"an attribute twice", "/v1/traces", protobuf, traces(func(s *tracepb.Span) { s.Attributes = attributes("a", "b", "a", "c") }), "twice"},
		{"an attribute without a value", "/v1/traces", protobuf, traces(func(s *tracepb.Span) { s.Attributes[0].Value = nil }), "no value"},
		{"no unit", "/v1/metrics", protobuf, metrics(func(m *metricspb.Metric, _ points) { m.Unit = "" }), "lacks something"},
		{"a sum", "/v1/metrics", protobuf, metrics(func(m *metricspb.Metric, _ points) { m.Data = &metricspb.Metric_Sum{} }), "no histogram"},
		{"buckets that do not add up", "/v1/metrics", protobuf, metrics(func(_ *metricspb.Metric, p points) { p.Count++ }), "3 of 4"},
		{"a bucket too few", "/v1/metrics", protobuf, metrics(func(_ *metricspb.Metric, p points) { p.BucketCounts = []uint64{3} }), "1 buckets for 1 bounds"},
		{"a point before its start", "/v1/metrics", protobuf, metrics(func(_ *metricspb.Metric, p points) { p.TimeUnixNano = 0 }), "the times"},
		{"a number of 64 bits in JSON", "/v1/traces", inJSON, change(`"startTimeUnixNano":"1"`, `"startTimeUnixNano":1`), "64 bits are a string"},
		{"an enum by name in JSON", "/v1/traces", inJSON, change(`"kind":3`, `"kind":"SPAN_KIND_CLIENT"`), "enums are numbers"},
		{"an id in base64 in JSON", "/v1/traces", inJSON, change(`"3031323334353637"`, `"MDEyMzQ1Njc="`), "spanId"},
		{"snake case in JSON", "/v1/traces", inJSON, change(`"traceId"`, `"trace_id"`), "lowerCamelCase"},
		{"an unknown field in JSON", "/v1/traces", inJSON, change(`"name":"chat"`, `"name":"chat","thought":"x"`), "unknown field"},
		{"a field of another type in JSON", "/v1/traces", inJSON, change(`"name":"chat"`, `"name":7`), "invalid value"},
		{"null in JSON", "/v1/traces", inJSON, change(`"name":"chat"`, `"name":null`), "null"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(string(c.body)))
			if c.kind != "" {
				r.Header.Set("Content-Type", c.kind)
			}
			var collector Collector
			w := httptest.NewRecorder()
			collector.ServeHTTP(w, r)
			taken, faults := collector.Requests()
			if got := strings.Join(faults, " "); !strings.Contains(got, c.fault) || (got == "") != (c.fault == "") {
				t.Errorf("fault %q, want %q", got, c.fault)
			}
			if accepted := w.Code == http.StatusOK; accepted != (c.fault == "") || accepted != (len(taken) == 1) {
				t.Errorf("answer %d with %d requests kept", w.Code, len(taken))
			}
		})
	}
}
