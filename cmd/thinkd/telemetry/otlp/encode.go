package otlp

import (
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The functions below write the messages of opentelemetry-proto: trace.proto, metrics.proto, common.proto and resource.proto.

const (
	flagHasRemote = 0x100 // whether the parent is of another process is known
	flagRemote    = 0x200 // it is
	statusError   = 2
	cumulative    = 2
)

// encodeSpans is a request with these spans, which are of one resource and one scope.
func encodeSpans(spans []sdktrace.ReadOnlySpan) message {
	list := make(messages, len(spans))
	for i, s := range spans {
		list[i] = encodeSpan(s)
	}
	scope, whose := spans[0].InstrumentationScope(), spans[0].Resource()
	return message{{1, "resourceSpans", messages{{
		{1, "resource", encodeResource(whose)},
		{2, "scopeSpans", messages{{
			{1, "scope", encodeScope(scope)},
			{2, "spans", list},
			{3, "schemaUrl", text(scope.SchemaURL)},
		}}},
		{3, "schemaUrl", text(whose.SchemaURL())},
	}}}}
}

func encodeSpan(s sdktrace.ReadOnlySpan) message {
	sc, parent := s.SpanContext(), s.Parent()
	traceID, spanID, parentID := sc.TraceID(), sc.SpanID(), parent.SpanID()
	flags := fixed32(sc.TraceFlags()) | flagHasRemote
	if parent.IsRemote() {
		flags |= flagRemote
	}
	var status message
	if s.Status().Code == codes.Error {
		status = message{{3, "code", enum(statusError)}}
	}
	m := message{
		{1, "traceId", id(traceID[:])},
		{2, "spanId", id(spanID[:])},
		{3, "traceState", text(sc.TraceState().String())},
		{5, "name", valid(s.Name())},
		{6, "kind", enum(s.SpanKind())}, // the SDK has the same numbers
		{7, "startTimeUnixNano", nanos(s.StartTime())},
		// The end is the start and the time that passed, so that a clock that was set in between changes nothing.
		{8, "endTimeUnixNano", nanos(s.StartTime().Add(s.EndTime().Sub(s.StartTime())))},
		{9, "attributes", encodeAttributes(s.Attributes())},
		{10, "droppedAttributesCount", enum(s.DroppedAttributes())},
		{15, "status", status},
		{16, "flags", flags},
	}
	if parentID.IsValid() {
		m = append(m, field{4, "parentSpanId", id(parentID[:])})
	}
	return m
}

// encodeMetrics is a request with all histograms that have counted anything, and how many data points it has. Other metrics are
// left out; err names the last one.
func encodeMetrics(rm *metricdata.ResourceMetrics) (request message, points int, err error) {
	var scopes messages
	for _, scope := range rm.ScopeMetrics {
		var metrics messages
		for _, m := range scope.Metrics {
			h, ok := m.Data.(metricdata.Histogram[float64])
			if !ok {
				err = fmt.Errorf("metric %s cannot be exported: its data is %T", m.Name, m.Data)
				continue
			}
			if len(h.DataPoints) > 0 {
				metrics = append(metrics, encodeHistogram(m, h))
				points += len(h.DataPoints)
			}
		}
		if len(metrics) > 0 {
			scopes = append(scopes, message{
				{1, "scope", encodeScope(scope.Scope)},
				{2, "metrics", metrics},
				{3, "schemaUrl", text(scope.Scope.SchemaURL)},
			})
		}
	}
	return message{{1, "resourceMetrics", messages{{
		{1, "resource", encodeResource(rm.Resource)},
		{2, "scopeMetrics", scopes},
		{3, "schemaUrl", text(rm.Resource.SchemaURL())},
	}}}}, points, err
}

func encodeHistogram(m metricdata.Metrics, h metricdata.Histogram[float64]) message {
	var points messages
	for _, p := range h.DataPoints {
		points = append(points, encodePoint(p))
	}
	return message{
		{1, "name", valid(m.Name)},
		{2, "description", valid(m.Description)},
		{3, "unit", valid(m.Unit)},
		{9, "histogram", message{
			{1, "dataPoints", points},
			{2, "aggregationTemporality", enum(cumulative)},
		}},
	}
}

// encodePoint is one series. Collectors refuse a point that is older than its start. After the clock was set back the time of the
// point is therefore its start and the time that passed.
func encodePoint(p metricdata.HistogramDataPoint[float64]) message {
	now := p.Time
	if passed := p.StartTime.Add(now.Sub(p.StartTime)); passed.UnixNano() > now.UnixNano() {
		now = passed
	}
	m := message{
		{2, "startTimeUnixNano", nanos(p.StartTime)},
		{3, "timeUnixNano", nanos(now)},
		{4, "count", fixed64(p.Count)},
		{5, "sum", double(p.Sum)},
		{6, "bucketCounts", fixed64s(p.BucketCounts)},
		{7, "explicitBounds", doubles(p.Bounds)},
		{9, "attributes", encodeAttributes(p.Attributes.ToSlice())},
	}
	if least, ok := p.Min.Value(); ok {
		m = append(m, field{11, "min", double(least)})
	}
	if most, ok := p.Max.Value(); ok {
		m = append(m, field{12, "max", double(most)})
	}
	return m
}

func encodeResource(r *resource.Resource) message {
	return message{{1, "attributes", encodeAttributes(r.Attributes())}}
}

func encodeScope(s instrumentation.Scope) message {
	return message{{1, "name", valid(s.Name)}, {2, "version", valid(s.Version)}}
}

func encodeAttributes(list []attribute.KeyValue) messages {
	encoded := make(messages, len(list))
	for i, a := range list {
		encoded[i] = message{{1, "key", valid(string(a.Key))}, {2, "value", encodeValue(a.Value)}}
	}
	return encoded
}

// encodeValue encodes the types that thinkd uses. Others become text.
func encodeValue(v attribute.Value) message {
	switch v.Type() {
	case attribute.BOOL:
		return message{{2, "boolValue", boolean(v.AsBool())}}
	case attribute.INT64:
		return message{{3, "intValue", whole(v.AsInt64())}}
	case attribute.FLOAT64:
		return message{{4, "doubleValue", double(v.AsFloat64())}}
	case attribute.STRINGSLICE:
		var list messages
		for _, s := range v.AsStringSlice() {
			list = append(list, textValue(s))
		}
		return message{{5, "arrayValue", message{{1, "values", list}}}}
	}
	return textValue(v.String())
}

func textValue(s string) message { return message{{1, "stringValue", valid(s)}} }

// valid is a string as Protocol Buffers accept it. Some strings are a vendor's or a model's.
func valid(s string) text { return text(strings.ToValidUTF8(s, "\uFFFD")) }

func nanos(t time.Time) fixed64 { return fixed64(t.UnixNano()) }
