package otlp

import (
	"bytes"
	"context"
	"encoding/hex"
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
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/thinkd/thinkd/cmd/thinkd/telemetry/meter"
	"github.com/thinkd/thinkd/cmd/thinkd/telemetry/otlp/otlptest"
	"github.com/thinkd/thinkd/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is an exporter and its collector, without a network.
type bench struct {
	*testing.T
	*Exporter
	collector *otlptest.Collector
	begun     time.Time

	mu    sync.Mutex
	log   bytes.Buffer
	tries []time.Duration // when requests came

	said *meter.Histogram
	way  func(*http.Request) (*http.Response, error) // nil: to the collector
}

func (b *bench) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	b.tries = append(b.tries, time.Since(b.begun))
	b.mu.Unlock()
	if b.way != nil {
		return b.way(r)
	}
	w := httptest.NewRecorder()
	b.collector.ServeHTTP(w, r)
	return w.Result(), nil
}

// Write takes a line of the log.
func (b *bench) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.Write(line)
}

// seen is what has been logged, and when requests came, once all is done that can be.
func (b *bench) seen() (log string, tries []time.Duration) {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.String(), b.tries
}

func (b *bench) asked() []time.Duration { _, tries := b.seen(); return tries }
func (b *bench) logged() string         { log, _ := b.seen(); return log }

const secret = "Bearer sesame-of-the-collector"

func start(t *testing.T, change func(*Config)) *bench {
	b := &bench{T: t, collector: &otlptest.Collector{}, begun: time.Now()}
	b.said = meter.NewHistogram("a.time", "s", "How long.", []float64{1, 2, 4}, "who.is", "how")
	c := Config{Traces: Endpoint{URL: "http://collector.test/v1/traces", Headers: map[string]provider.Secret{"Authorization": provider.NewSecret(secret)}},
		Resource: []Attribute{{"service.name", Text("thinkd")}}, Scope: Scope{"scope", "1.2", "https://example.com/schema"},
		Histograms: []*meter.Histogram{b.said, meter.NewHistogram("silent", "", "", []float64{1})}, Items: NewItems("items"),
		RoundTripper: b, Log: slog.New(slog.NewTextHandler(b, nil))}
	if change != nil {
		change(&c)
	}
	b.Exporter = Start(c)
	return b
}

// end closes the exporter, which has so long.
func (b *bench) end(limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	b.Close(ctx)
	if log := b.logged(); strings.Contains(log, "sesame") {
		b.Errorf("the log has the key: %s", log)
	}
	if _, faults := b.collector.Requests(); faults != nil {
		b.Errorf("the collector says %q", faults)
	}
}

// became is what became of what was to be sent.
func (b *bench) became() string {
	b.Helper()
	var list []string
	for line := range strings.Lines(meter.Text(b.cfg.Items)) {
		var outcome, signal string
		var n int
		if _, err := fmt.Sscanf(line, "items{outcome=%q,signal=%q} %d", &outcome, &signal, &n); err == nil {
			list = append(list, fmt.Sprint(signal, " ", outcome, " ", n))
		}
	}
	return strings.Join(list, ", ")
}

func check(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, func(c *Config) { c.Traces.Gzip = true })
		now := time.Now()
		first := Span{Trace: TraceID{1}, ID: SpanID{2}, Name: "whole", Kind: Internal, Begun: now, Ended: now.Add(3 * time.Second), Failed: true}
		part := Span{Trace: TraceID{1}, ID: NewSpanID(), Parent: first.ID, Name: "part", Kind: Client, Begun: now.Add(1), Ended: now.Add(2), Attributes: []Attribute{
			{"text", Text("a\"\xffz" + strings.Repeat("é", 300))}, {"whole", Whole(math.MinInt64)}, {"real", Real(0.5)}, {"truth", Truth(false)},
			{"texts", Texts{"a", "b"}}, {"none", Texts(nil)}}}
		b.Span(part)
		time.Sleep(3 * time.Second)
		b.Span(first)
		time.Sleep(3 * time.Second)
		check(t, "requests, one for both", b.asked(), []time.Duration{5 * time.Second})
		b.end(time.Second)
		taken, _ := b.collector.Requests()
		check(t, "key", taken[0].Header.Get("Authorization"), secret)
		resource := taken[0].Traces.ResourceSpans[0]
		check(t, "schema and scope", []string{resource.SchemaUrl, resource.ScopeSpans[0].SchemaUrl, resource.ScopeSpans[0].Scope.Name, resource.ScopeSpans[0].Scope.Version},
			[]string{"https://example.com/schema", "https://example.com/schema", "scope", "1.2"})
		spans := b.collector.Spans()
		check(t, "ids", []string{hex.EncodeToString(spans[0].TraceId), hex.EncodeToString(spans[0].ParentSpanId), hex.EncodeToString(spans[1].SpanId), hex.EncodeToString(spans[1].ParentSpanId)},
			[]string{"01000000000000000000000000000000", "0200000000000000", "0200000000000000", ""})
		check(t, "status and kind", fmt.Sprint(spans[0].Status.Code, spans[1].Status.Code, spans[0].Kind, spans[1].Kind),
			"STATUS_CODE_UNSET STATUS_CODE_ERROR SPAN_KIND_CLIENT SPAN_KIND_INTERNAL")
		check(t, "times", []uint64{spans[1].StartTimeUnixNano, spans[1].EndTimeUnixNano}, []uint64{uint64(now.UnixNano()), uint64(now.Add(3 * time.Second).UnixNano())})
		text := otlptest.Attribute(spans[0].Attributes, "text").GetStringValue()
		if !strings.HasPrefix(text, "a\"\uFFFDzé") || !strings.HasSuffix(text, "é…") || len(text) > maxText+8 {
			t.Errorf("a long text is %d bytes: %q", len(text), text)
		}
		for key, want := range map[string]string{"whole": `{"intValue":"-9223372036854775808"}`, "real": `{"doubleValue":0.5}`, "truth": `{"boolValue":false}`,
			"texts": `{"arrayValue":{"values":[{"stringValue":"a"},{"stringValue":"b"}]}}`, "none": `{"arrayValue":{}}`} {
			got, err := protojson.Marshal(otlptest.Attribute(spans[0].Attributes, key))
			check(t, key, strings.ReplaceAll(string(got), " ", ""), want)
			check(t, key, err, nil)
		}
		check(t, "became", b.became(), "traces sent 2")
	})
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, func(c *Config) { c.Metrics, c.Traces = Endpoint{URL: "http://collector.test/v1/metrics"}, Endpoint{} })
		b.Span(Span{}) // nobody wants it
		time.Sleep(61 * time.Second)
		check(t, "requests while there is nothing", len(b.asked()), 0)
		for _, seconds := range []float64{0.5, 1, 3, 100, 100} {
			b.said.Observe(seconds, "me", "")
		}
		b.said.Observe(2, "you", "so")
		time.Sleep(time.Minute)
		check(t, "requests", b.asked(), []time.Duration{2 * time.Minute})
		b.said.Observe(2, "you", "so")
		b.end(time.Second)
		check(t, "requests, with that at the end", len(b.asked()), 2)
		all := b.collector.Metrics()
		check(t, "metrics", len(all), 1)
		m := all["a.time"]
		check(t, "words", []string{m.Unit, m.Description}, []string{"s", "How long."})
		me, you := m.GetHistogram().DataPoints[0], m.GetHistogram().DataPoints[1]
		check(t, "bounds", me.ExplicitBounds, []float64{1, 2, 4})
		check(t, "buckets", [][]uint64{me.BucketCounts, you.BucketCounts}, [][]uint64{{2, 0, 1, 2}, {0, 2, 0, 0}})
		check(t, "sum", *me.Sum, 204.5)
		check(t, "empty labels are none", len(me.Attributes)*10+len(you.Attributes), 12)
		check(t, "label", otlptest.Attribute(you.Attributes, "who.is").GetStringValue(), "you")
		check(t, "became", b.became(), "metrics sent 4")
	})
}

// answers is a collector that answers so, each once, and then takes what comes.
func answers(b *bench, list ...any) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		b.Helper()
		if len(list) == 0 {
			w := httptest.NewRecorder()
			b.collector.ServeHTTP(w, r)
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

// Whatever a collector does, what it does not take is counted, and what can be tried again is, for a bounded time.
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
		does   []any
		became string
		tries  []time.Duration // the first is 5 s after the span
		log    string
	}{
		{"down for a moment", []any{down, 503, 502}, "traces sent 1", seconds(5, 6, 8, 12), ""},
		{"down", []any{down, down, down, down, down}, "traces unreachable 1", seconds(5, 6, 8, 12, 20), "connection refused"},
		{"busy for so long", []any{"7"}, "traces sent 1", seconds(5, 12), ""},
		{"busy for very long", []any{"100000000000"}, "traces sent 1", seconds(5, 35), ""},
		{"busy without a number", []any{"later"}, "traces sent 1", seconds(5, 6), ""},
		{"slow", []any{time.Hour}, "traces sent 1", seconds(5, 16), ""},
		{"just in time", []any{9 * time.Second}, "traces sent 1", seconds(5), ""},
		{"refuses", []any{400}, "traces refused 1", seconds(5), "it answers 400"},
		{"wants a key", []any{401}, "traces refused 1", seconds(5), "it answers 401"},
		{"broken", []any{500}, "traces refused 1", seconds(5), "it answers 500"},
		{"sends elsewhere", []any{307}, "traces refused 1", seconds(5), "it answers 307"},
		{"sends elsewhere on the same host", []any{308}, "traces refused 1", seconds(5), "it answers 308"},
		{"takes some", []any{[]byte(`{"partialSuccess":{"rejectedSpans":"1","errorMessage":"no ` + secret + ` here"}}`)}, "traces rejected 1", seconds(5), "no [secret] here"},
		{"takes some, as a number", []any{[]byte(`{"partialSuccess":{"rejectedSpans":1}}`)}, "traces rejected 1", seconds(5), "rejected=1"},
		{"rejects more than there were", []any{[]byte(`{"partialSuccess":{"rejectedSpans":"77"}}`)}, "traces rejected 1", seconds(5), "rejected=77"},
		{"rejects less than nothing", []any{[]byte(`{"partialSuccess":{"rejectedSpans":"-7"}}`)}, "traces sent 1", seconds(5), ""},
		{"warns", []any{[]byte(`{"partialSuccess":{"errorMessage":"soon no more"}}`)}, "traces sent 1", seconds(5), "soon no more"},
		{"answers with something else", []any{[]byte("\x0a\x00")}, "traces sent 1", seconds(5), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, nil)
				b.way = answers(b, c.does...)
				now := time.Now()
				b.Span(Span{Trace: TraceID{1}, ID: SpanID{1}, Name: "one", Kind: Internal, Begun: now, Ended: now})
				time.Sleep(3 * time.Minute)
				check(t, "tries", b.asked(), c.tries)
				check(t, "became", b.became(), c.became)
				if log := b.logged(); !strings.Contains(log, c.log) || c.log == "" && log != "" {
					t.Errorf("the log says %q", log)
				}
				b.Span(Span{Trace: TraceID{1}, ID: SpanID{2}, Name: "two", Kind: Internal, Begun: now, Ended: now})
				b.end(time.Second)
				spans := b.collector.Spans()
				if len(spans) == 0 || spans[len(spans)-1].Name != "two" {
					t.Errorf("the next one does not arrive: %v", spans)
				}
				if back := strings.Count(b.logged(), "is back"); back != strings.Count(b.logged(), "takes nothing") {
					t.Errorf("the log says %q", b.logged())
				}
			})
		})
	}
}

// While a collector hangs nobody waits for it, what has no room is dropped and counted, and the end is in time.
func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, func(c *Config) { c.Traces.Timeout = time.Hour })
		b.way = func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() }
		now := time.Now()
		for range maxBatch {
			b.Span(Span{Name: "hangs", Begun: now, Ended: now})
		}
		synctest.Wait()
		for range maxQueue + 100 {
			b.Span(Span{Name: "waits", Begun: now, Ended: now})
		}
		check(t, "time", time.Since(now), time.Duration(0))
		check(t, "became", b.became(), "traces queue_full 100")
		b.end(2 * time.Second)
		check(t, "the end", time.Since(now), 2*time.Second)
		check(t, "became", b.became(), fmt.Sprintf("traces queue_full 100, traces unreachable %d", maxBatch+maxQueue))
	})
}

// At the end all that waits is sent at once, and a wait for another try is cut short.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, nil)
		b.way = answers(b, "20")
		now := time.Now()
		for i := range 3 * maxBatch / 2 {
			b.Span(Span{Trace: TraceID{1}, ID: SpanID{1, byte(i), byte(i >> 8)}, Name: "one", Kind: Internal, Begun: now, Ended: now})
		}
		synctest.Wait()
		b.end(2 * time.Second)
		check(t, "time", time.Since(now), time.Duration(0))
		check(t, "became", b.became(), fmt.Sprintf("traces sent %d, traces unreachable %d", maxBatch/2, maxBatch))
	})
}

// endless is an answer without an end.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) { e.read += len(p); return len(p), nil }
func (e *endless) Close() error               { return nil }

func TestAnswerIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, nil)
		body := &endless{}
		b.way = func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.ReadCloser(body)}, nil
		}
		b.Span(Span{Trace: TraceID{1}, ID: SpanID{1}, Name: "one", Kind: Internal, Begun: time.Now(), Ended: time.Now()})
		b.end(time.Second)
		if body.read > 2*maxAnswer {
			t.Errorf("%d bytes were read", body.read)
		}
		check(t, "became", b.became(), "traces sent 1")
	})
}
