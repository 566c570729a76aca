package otlp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/thinkd/thinkd/cmd/thinkd/telemetry/otlp/otlptest"
	"github.com/thinkd/thinkd/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is what an exporter needs, and its collector, without a network.
type bench struct {
	*testing.T
	*otlptest.Line

	mu     sync.Mutex
	became []string
}

func (b *bench) count(outcome string, items int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.became = append(b.became, fmt.Sprint(outcome, " ", items))
}

// end releases an exporter. The collector found no fault in its requests, and the log has no key.
func (b *bench) end(s *sender) {
	s.Shutdown(b.Context())
	if log := b.Log(); strings.Contains(log, "sesame") {
		b.Errorf("the log has the key: %s", log)
	}
	if _, faults := b.Requests(); faults != nil {
		b.Errorf("the collector says %q", faults)
	}
}

const secret = "Bearer sesame-of-the-collector"

func newBench(t *testing.T, json bool) (*bench, Config) {
	b := &bench{T: t, Line: otlptest.NewLine()}
	return b, Config{Endpoint: Endpoint{URL: "http://collector.test/v1/traces", JSON: json, Headers: map[string]provider.Secret{"Authorization": provider.NewSecret(secret)}},
		Signal: "traces", Version: "1.2", Count: b.count, RoundTripper: b.Line, Log: slog.New(slog.NewTextHandler(b.Line, nil))}
}

func check(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// inBoth runs a test for Protocol Buffers and for JSON.
func inBoth(t *testing.T, test func(t *testing.T, json bool)) {
	for name, json := range map[string]bool{"protobuf": false, "json": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, json) })
		})
	}
}

var (
	whose = resource.NewWithAttributes("https://example.com/resource", attribute.String("service.name", "thinkd"))
	scope = instrumentation.Scope{Name: "scope", Version: "1.2", SchemaURL: "https://example.com/schema"}
)

// contextOf is that of a sampled span.
func contextOf(traceID, id byte) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{traceID}, SpanID: trace.SpanID{id}, TraceFlags: trace.FlagsSampled})
}

// one is a batch with one span.
func one(name string) []sdktrace.ReadOnlySpan {
	now := time.Now()
	return tracetest.SpanStubs{{Name: name, SpanContext: contextOf(1, 1), SpanKind: trace.SpanKindInternal, StartTime: now, EndTime: now,
		Resource: whose, InstrumentationScope: scope}}.Snapshots()
}

func TestSpans(t *testing.T) {
	inBoth(t, func(t *testing.T, json bool) {
		b, c := newBench(t, json)
		c.Gzip = true
		e := NewSpanExporter(c)
		now := time.Now()
		remote := contextOf(1, 9).WithRemote(true)
		e.ExportSpans(t.Context(), tracetest.SpanStubs{
			{Name: "part\xff", SpanContext: contextOf(1, 3), Parent: contextOf(1, 2), SpanKind: trace.SpanKindClient, StartTime: now.Add(1), EndTime: now.Add(2),
				Resource: whose, InstrumentationScope: scope, DroppedAttributes: 3, Attributes: []attribute.KeyValue{
					attribute.String("text", "a\"\xffz é\u2028"), attribute.Int64("whole", math.MinInt64), attribute.Float64("real", 0.5), attribute.Bool("truth", false),
					attribute.Float64("infinite", math.Inf(-1)), attribute.Float64("none", math.NaN()), attribute.Float64("small", 5e-324),
					attribute.StringSlice("texts", []string{"a", "b\xff"}), attribute.StringSlice("no texts", nil), attribute.Int64Slice("wholes", []int64{1, 2})}},
			{Name: "whole", SpanContext: contextOf(1, 2), SpanKind: trace.SpanKindInternal, StartTime: now, EndTime: now.Add(3 * time.Second),
				Resource: whose, InstrumentationScope: scope, Status: sdktrace.Status{Code: codes.Error, Description: "never sent"}},
			{Name: "away", SpanContext: contextOf(1, 4), Parent: remote, SpanKind: trace.SpanKindServer, StartTime: now, EndTime: now, Resource: whose, InstrumentationScope: scope},
		}.Snapshots())
		b.end(e.sender)
		taken, _ := b.Requests()
		check(t, "form and key", fmt.Sprint(taken[0].JSON, taken[0].Header.Get("Authorization"), taken[0].Header.Get("Content-Encoding"), taken[0].Header.Get("User-Agent")),
			fmt.Sprint(json, secret, "gzip", "OTel-OTLP-Exporter-thinkd/1.2"))
		sent := taken[0].Traces.ResourceSpans[0]
		check(t, "schemas and scope", []string{sent.SchemaUrl, sent.ScopeSpans[0].SchemaUrl, sent.ScopeSpans[0].Scope.Name, sent.ScopeSpans[0].Scope.Version},
			[]string{"https://example.com/resource", "https://example.com/schema", "scope", "1.2"})
		spans := b.Spans()
		check(t, "ids", fmt.Sprintf("%x %x %x %x %x", spans[0].TraceId, spans[0].ParentSpanId, spans[1].SpanId, spans[1].ParentSpanId, spans[2].ParentSpanId),
			"01000000000000000000000000000000 0200000000000000 0200000000000000  0900000000000000")
		check(t, "names, status, kind, flags", fmt.Sprintf("%s %s %s %q %s %s %d %d %d", spans[0].Name, spans[0].Status.GetCode(), spans[1].Status.GetCode(), spans[1].Status.GetMessage(), spans[0].Kind, spans[1].Kind,
			spans[0].Flags, spans[2].Flags, spans[0].DroppedAttributesCount), "part\uFFFD STATUS_CODE_UNSET STATUS_CODE_ERROR \"\" SPAN_KIND_CLIENT SPAN_KIND_INTERNAL 257 769 3")
		check(t, "times", []uint64{spans[1].StartTimeUnixNano, spans[1].EndTimeUnixNano}, []uint64{uint64(now.UnixNano()), uint64(now.Add(3 * time.Second).UnixNano())})
		for key, want := range map[string]string{"whole": `{"intValue":"-9223372036854775808"}`, "real": `{"doubleValue":0.5}`, "truth": `{"boolValue":false}`,
			"infinite": `{"doubleValue":"-Infinity"}`, "none": `{"doubleValue":"NaN"}`, "small": `{"doubleValue":5e-324}`,
			"texts": `{"arrayValue":{"values":[{"stringValue":"a"},{"stringValue":"b` + "\uFFFD" + `"}]}}`, "no texts": `{"arrayValue":{}}`, "wholes": `{"stringValue":"[1,2]"}`} {
			got, err := protojson.Marshal(otlptest.Attribute(spans[0].Attributes, key))
			check(t, key, strings.ReplaceAll(string(got), " ", ""), want)
			check(t, key, err, nil)
		}
		check(t, "text", otlptest.Attribute(spans[0].Attributes, "text").GetStringValue(), "a\"\uFFFDz é\u2028")
		check(t, "became", b.became, []string{"sent 3"})
	})
}

func TestMetrics(t *testing.T) {
	inBoth(t, func(t *testing.T, json bool) {
		b, c := newBench(t, json)
		c.URL = "http://collector.test/v1/metrics"
		e := NewMetricExporter(c)
		now := time.Now()
		point := func(buckets []uint64, sum float64, labels ...attribute.KeyValue) metricdata.HistogramDataPoint[float64] {
			p := metricdata.HistogramDataPoint[float64]{Attributes: attribute.NewSet(labels...), StartTime: now, Time: now.Add(time.Second), Bounds: []float64{1, 2, 4},
				BucketCounts: buckets, Sum: sum, Min: metricdata.NewExtrema(0.5), Max: metricdata.NewExtrema(100.0)}
			for _, n := range buckets {
				p.Count += n
			}
			return p
		}
		histogram := func(points ...metricdata.HistogramDataPoint[float64]) metricdata.Metrics {
			return metricdata.Metrics{Name: "a.time", Unit: "s", Description: "How long.", Data: metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality, DataPoints: points}}
		}
		export := func(list ...metricdata.Metrics) error {
			return e.Export(t.Context(), &metricdata.ResourceMetrics{Resource: whose, ScopeMetrics: []metricdata.ScopeMetrics{{Scope: scope, Metrics: list}}})
		}
		check(t, "error of nothing", export(histogram()), nil)
		check(t, "requests while there is nothing", len(b.Tries()), 0)
		err := export(histogram(point([]uint64{2, 0, 1, 2}, 204.5, attribute.String("who.is", "me")), point([]uint64{0, 2, 0, 0}, 4)),
			metricdata.Metrics{Name: "a.sum", Data: metricdata.Sum[int64]{}})
		if err == nil || !strings.Contains(err.Error(), "a.sum") {
			t.Errorf("a sum: %v", err)
		}
		b.end(e.sender)
		all := b.Metrics()
		check(t, "metrics", len(all), 1)
		m := all["a.time"]
		check(t, "words", []string{m.Unit, m.Description}, []string{"s", "How long."})
		me, you := m.GetHistogram().DataPoints[0], m.GetHistogram().DataPoints[1]
		check(t, "bounds", me.ExplicitBounds, []float64{1, 2, 4})
		check(t, "buckets", [][]uint64{me.BucketCounts, you.BucketCounts}, [][]uint64{{2, 0, 1, 2}, {0, 2, 0, 0}})
		check(t, "sum, least and most", []float64{*me.Sum, *me.Min, *me.Max}, []float64{204.5, 0.5, 100})
		check(t, "times", me.TimeUnixNano-me.StartTimeUnixNano, uint64(time.Second))
		check(t, "labels", fmt.Sprint(otlptest.Attribute(me.Attributes, "who.is").GetStringValue(), len(you.Attributes)), "me0")
		check(t, "became", b.became, []string{"sent 2"})
	})
}

// answers is a collector that answers so, each once, and then takes what comes.
func answers(b *bench, list ...any) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		b.Helper()
		if len(list) == 0 {
			w := httptest.NewRecorder()
			b.ServeHTTP(w, r)
			return w.Result(), nil
		}
		next := list[0]
		list = list[1:]
		w := httptest.NewRecorder()
		switch next := next.(type) {
		case error:
			return nil, next
		case int:
			w.Header().Set("Location", "http://elsewhere.test/v1/traces")
			if next == http.StatusPermanentRedirect {
				w.Header().Set("Location", "/elsewhere") // of the same origin
			}
			w.WriteHeader(next)
		case string: // to wait for so long
			w.Header().Set("Retry-After", next)
			w.WriteHeader(http.StatusTooManyRequests)
		case []byte:
			w.Write(next)
		case time.Duration:
			select {
			case <-time.After(next):
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
			w.WriteHeader(http.StatusOK)
		}
		return w.Result(), nil
	}
}

// rejects is an answer in Protocol Buffers: field 1 is a message with the number of rejected items and a reason.
func rejects(n uint64, words string) []byte {
	inner := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), n)
	inner = protowire.AppendString(protowire.AppendTag(inner, 2, protowire.BytesType), words)
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), inner)
}

// Whatever a collector does, items that it does not accept are counted, and requests are retried for a bounded time.
func TestTroubleWithACollector(t *testing.T) {
	down := errors.New("connection refused")
	seconds := func(list ...float64) (d []time.Duration) {
		for _, s := range list {
			d = append(d, time.Duration(s*float64(time.Second)))
		}
		return d
	}
	for _, c := range []struct {
		name   string
		json   bool
		does   []any
		became string
		tries  []time.Duration
		log    string
	}{
		{"down for a moment", false, []any{down, 503, 502}, "sent 1", seconds(0, 1, 3, 7), ""},
		{"down", false, []any{down, down, down, down, down}, "unreachable 1", seconds(0, 1, 3, 7, 15), "connection refused"},
		{"busy for so long", false, []any{"7"}, "sent 1", seconds(0, 7), ""},
		{"busy for very long", false, []any{"100000000000"}, "sent 1", seconds(0, 20), ""},
		{"busy for longer than the SDK gives", false, []any{"15", "16"}, "unreachable 1", seconds(0, 15), "it answers 429"},
		{"busy without a number", false, []any{"later"}, "sent 1", seconds(0, 1), ""},
		{"slow", false, []any{time.Hour}, "sent 1", seconds(0, 11), ""},
		{"slow for longer than the SDK gives", false, []any{time.Hour, time.Hour, time.Hour}, "unreachable 1", seconds(0, 11, 23), "context deadline exceeded"},
		{"just in time", false, []any{9 * time.Second}, "sent 1", seconds(0), ""},
		{"refuses", false, []any{400}, "refused 1", seconds(0), "it answers 400"},
		{"must be a key", false, []any{401}, "refused 1", seconds(0), "it answers 401"},
		{"broken", false, []any{500}, "refused 1", seconds(0), "it answers 500"},
		{"sends elsewhere", false, []any{307}, "refused 1", seconds(0), "it answers 307"},
		{"sends elsewhere on the same host", false, []any{308}, "refused 1", seconds(0), "it answers 308"},
		{"takes some", false, []any{rejects(1, "no "+secret+" here")}, "rejected 1", seconds(0), "no [secret] here"},
		{"rejects more than there were", false, []any{rejects(77, "")}, "rejected 1", seconds(0), "rejected=77"},
		{"rejects less than nothing", false, []any{rejects(math.MaxUint64, "")}, "sent 1", seconds(0), ""},
		{"warns", false, []any{rejects(0, "soon no more")}, "sent 1", seconds(0), "soon no more"},
		{"answers with a long text", false, []any{rejects(0, strings.Repeat("é", 5000))}, "sent 1", seconds(0), strings.Repeat("é", 100) + "…"},
		{"answers with half a message", false, []any{rejects(1, "cut")[:4]}, "sent 1", seconds(0), ""},
		{"answers with something else", false, []any{[]byte("<html>")}, "sent 1", seconds(0), ""},
		{"takes some, in JSON", true, []any{[]byte(`{"partialSuccess":{"rejectedSpans":"1","errorMessage":"no ` + secret + ` here"}}`)}, "rejected 1", seconds(0), "no [secret] here"},
		{"takes some, as a number", true, []any{[]byte(`{"partialSuccess":{"rejectedSpans":1}}`)}, "rejected 1", seconds(0), "rejected=1"},
		{"rejects more than there were, in JSON", true, []any{[]byte(`{"partialSuccess":{"rejectedSpans":"77"}}`)}, "rejected 1", seconds(0), "rejected=77"},
		{"rejects less than nothing, in JSON", true, []any{[]byte(`{"partialSuccess":{"rejectedSpans":"-7"}}`)}, "sent 1", seconds(0), ""},
		{"warns in JSON", true, []any{[]byte(`{"partialSuccess":{"errorMessage":"soon no more"}}`)}, "sent 1", seconds(0), "soon no more"},
		{"answers with something else than JSON", true, []any{[]byte("\x0a\x00")}, "sent 1", seconds(0), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, config := newBench(t, c.json)
				b.Way = answers(b, c.does...)
				e := NewSpanExporter(config)
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // as the SDK does
				defer cancel()
				e.ExportSpans(ctx, one("one"))
				check(t, "tries", b.Tries(), c.tries)
				check(t, "became", strings.Join(b.became, ", "), c.became)
				if log := b.Log(); !strings.Contains(log, c.log) || c.log == "" && log != "" {
					t.Errorf("the log says %q", log)
				}
				b.Way = nil
				e.ExportSpans(t.Context(), one("two"))
				b.end(e.sender)
				spans := b.Spans()
				if len(spans) == 0 || spans[len(spans)-1].Name != "two" {
					t.Errorf("the next one does not arrive: %v", spans)
				}
				if back := strings.Count(b.Log(), "accepts data again"); back != strings.Count(b.Log(), "accepts nothing") {
					t.Errorf("the log says %q", b.Log())
				}
			})
		})
	}
}

// endless is an answer without an end.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) { e.read += len(p); return len(p), nil }
func (e *endless) Close() error               { return nil }

func TestAnswerIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c := newBench(t, false)
		body := &endless{}
		b.Way = func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.ReadCloser(body)}, nil
		}
		e := NewSpanExporter(c)
		e.ExportSpans(t.Context(), one("one"))
		b.end(e.sender)
		if body.read > 2*maxAnswer {
			t.Errorf("%d bytes were read", body.read)
		}
		check(t, "became", b.became, []string{"sent 1"})
	})
}
