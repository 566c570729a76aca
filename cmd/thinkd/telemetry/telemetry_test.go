package telemetry

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
	"go.uber.org/goleak"

	"github.com/thinkd/thinkd/agent/report"
	"github.com/thinkd/thinkd/cmd/thinkd/telemetry/otlp/otlptest"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
)

func TestMain(m *testing.M) {
	testgo.OneProcessor()
	goleak.VerifyTestMain(m)
}

// bench is a daemon's telemetry and its collector, without a network.
type bench struct {
	*testing.T
	*Telemetry
	*otlptest.Line
}

// seen is the log, and when requests came, once nothing runs any more.
func (b *bench) seen() (log string, tries []time.Duration) {
	synctest.Wait()
	return b.Log(), b.Tries()
}

// start opens telemetry in a bubble of synctest. Variables are for what this package reads; the SDK reads the process's.
func start(t *testing.T, variables ...string) *bench {
	b := &bench{T: t, Line: otlptest.NewLine()}
	b.Telemetry = Open(Config{Version: "1.2", Log: slog.New(slog.NewTextHandler(b.Line, nil)), transport: b.Line,
		Getenv: func(name string) string {
			for _, v := range append([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://collector.test"}, variables...) {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		},
		Vendor: func(id string) (string, bool) { return "mistral", id == "sim" },
		State:  State{Running: func() int { return 2 }, Clients: func() int { return 3 }, ReadOnly: func() bool { return true }}})
	return b
}

// end closes telemetry. The collector found no fault in its requests.
func (b *bench) end() {
	b.Close()
	if _, faults := b.Requests(); faults != nil {
		b.Errorf("the collector says %q", faults)
	}
}

// scrape is the answer to a scrape.
func (b *bench) scrape() string {
	w := httptest.NewRecorder()
	b.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		b.Errorf("%d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// became is what became of what was to be sent.
func (b *bench) became() string {
	b.Helper()
	var list []string
	for line := range strings.Lines(b.scrape()) {
		var outcome, signal string
		var n float64
		if _, err := fmt.Sscanf(line, "thinkd_telemetry_items_total{outcome=%q,signal=%q} %g", &outcome, &signal, &n); err == nil {
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

var (
	sim     = session.ModelRef{Provider: "sim", ID: "claude"}
	thought = provider.Decision{KnownModel: true, Effective: provider.High, Supported: []provider.Level{provider.High}}
	tokens  = 7
	usage   = provider.Usage{Input: 5, Output: 9, Reasoning: &tokens}
)

// life reports a turn with one model call and one tool call. The turn is reported last, as the agent does.
func (b *bench) life(turn ulid.ULID) {
	id, begun := session.TurnID(turn.String()), time.Now().Add(-time.Second)
	b.Call(report.Call{Session: "s", Turn: id, Model: sim, Reasoning: thought, Begun: begun, Heard: begun.Add(1), Ended: begun.Add(2),
		Stop: provider.StopEndTurn, As: strings.Repeat("é", 300), Usage: usage})
	b.Tool(report.Tool{Session: "s", Turn: id, Name: "work", CallID: "c", Begun: begun, Ended: begun.Add(1), Fault: report.ToolFailed})
	b.Turn(report.Turn{Session: "s", Turn: id, Model: sim, Reasoning: thought, Begun: begun, Ended: begun.Add(3), Calls: 1,
		End: session.TurnEnd{StopReason: session.StopEndTurn, DurationMS: 1000, Usage: usage}})
}

// The families of /metrics, with their kinds and labels, are a public interface.
func TestFamilies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t)
		b.life(ulid.Make())
		b.exported.spans.ForceFlush(t.Context())
		text := b.scrape()
		b.end()
		type family struct {
			kind   string
			labels map[string]bool
		}
		families := make(map[string]family)
		for line := range strings.Lines(text) {
			var name, kind string
			if _, err := fmt.Sscanf(line, "# TYPE %s %s\n", &name, &kind); err == nil {
				families[name] = family{kind, make(map[string]bool)}
			} else if !strings.HasPrefix(line, "#") {
				name = regexp.MustCompile(`^\w+`).FindString(line)
				f, ok := families[name]
				if !ok {
					f = families[regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")]
				}
				for _, label := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(line, -1) {
					f.labels[label[1]] = true
				}
			}
		}
		var got, want []string
		for _, name := range slices.Sorted(maps.Keys(families)) {
			f := families[name]
			got = append(got, strings.TrimSpace(name+" "+f.kind+" "+strings.Join(slices.Sorted(maps.Keys(f.labels)), ",")))
		}
		file, err := os.ReadFile("testdata/families.txt")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(file)) {
			if runtime.GOOS == "linux" || !strings.HasPrefix(line, "process_") || strings.HasPrefix(line, "process_start") {
				want = append(want, strings.TrimSpace(line))
			}
		}
		check(t, "families", got, want)
		for _, line := range []string{`thinkd_turns_total{effort="high",error="",provider="sim",stop_reason="end_turn"} 1`, `thinkd_model_calls_total{provider="sim"} 1`,
			`thinkd_model_calls_again_total{provider="sim"} 0`, `thinkd_tokens_total{kind="reasoning",provider="sim"} 7`, `thinkd_turn_seconds_bucket{provider="sim",le="0.5"} 0`,
			`thinkd_turn_seconds_bucket{provider="sim",le="1"} 1`, `thinkd_turn_seconds_sum{provider="sim"} 1`, `thinkd_turns_running 2`, `thinkd_build_info{version="1.2"} 1`, `thinkd_clients 3`, `thinkd_store_read_only 1`,
			`thinkd_telemetry_items_total{outcome="sent",signal="traces"} 3`} {
			if !strings.Contains(text, "\n"+line+"\n") {
				t.Errorf("there is no %s", line)
			}
		}
	})
}

// The names, units and labels of what a collector gets are a public interface too, in both forms.
func TestExportedMetrics(t *testing.T) {
	for _, form := range []string{"http/protobuf", "http/json"} {
		t.Run(form, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, "OTEL_EXPORTER_OTLP_PROTOCOL="+form, "OTEL_TRACES_EXPORTER=none")
				time.Sleep(61 * time.Second)
				_, tries := b.seen()
				check(t, "requests while there is nothing", len(tries), 0)
				b.life(ulid.Make())
				time.Sleep(time.Minute)
				_, tries = b.seen()
				check(t, "requests", tries, []time.Duration{2 * time.Minute})
				b.life(ulid.Make())
				b.end()
				_, tries = b.seen()
				check(t, "requests, with that at the end", len(tries), 2)
				var got []string
				for name, m := range b.Metrics() {
					var points []string
					for _, p := range m.GetHistogram().DataPoints {
						var labels []string
						for _, a := range p.Attributes {
							labels = append(labels, a.Key+"="+a.Value.GetStringValue())
						}
						points = append(points, fmt.Sprint(p.Count, " ", strings.Join(labels, ",")))
					}
					slices.Sort(points)
					got = append(got, fmt.Sprintf("%s in %s, %d buckets: %s", name, m.Unit, len(m.GetHistogram().DataPoints[0].BucketCounts), strings.Join(points, "; ")))
				}
				slices.Sort(got)
				const of = "gen_ai.operation.name=chat,gen_ai.provider.name=mistral_ai,gen_ai.request.model=claude"
				check(t, "metrics", got, []string{
					"gen_ai.client.operation.duration in s, 20 buckets: 2 error.type=tool_failed,gen_ai.operation.name=execute_tool; 2 " + of +
						"; 2 gen_ai.operation.name=invoke_agent,gen_ai.provider.name=mistral_ai,gen_ai.request.model=claude",
					"gen_ai.client.operation.time_to_first_chunk in s, 20 buckets: 2 " + of,
					"gen_ai.client.token.usage in {token}, 15 buckets: 2 " + of + ",gen_ai.token.type=input; 2 " + of + ",gen_ai.token.type=output",
					"thinkd.client.reasoning.usage in {token}, 15 buckets: 2 " + of + ",thinkd.reasoning.effective=high",
				})
				check(t, "became", b.became(), "metrics sent 14")
			})
		})
	}
}

// The spans of a turn hang together although the turn's own comes last. The turn's id is the id of its trace.
func TestSpansOfATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, "OTEL_METRICS_EXPORTER=none")
		turn := ulid.Make()
		b.life(turn)
		b.Call(report.Call{Session: "s", Model: sim, Summary: true, Begun: time.Now(), Ended: time.Now()}) // between turns
		_, tries := b.seen()
		check(t, "requests before the delay", len(tries), 0)
		time.Sleep(6 * time.Second)
		_, tries = b.seen()
		check(t, "requests, one for all", tries, []time.Duration{5 * time.Second})
		b.end()
		var got []string
		for _, s := range b.Spans() {
			parent := strings.ReplaceAll(hex.EncodeToString(s.ParentSpanId), hex.EncodeToString(turn[8:]), "turn")
			own := bytes.Equal(s.SpanId, turn[8:])
			got = append(got, fmt.Sprintf("%s of %q, in the trace of the turn %v, its span %v, %s %d", s.Name, parent, bytes.Equal(s.TraceId, turn[:]), own,
				s.Status.GetCode(), s.EndTimeUnixNano-s.StartTimeUnixNano))
		}
		check(t, "spans", got, []string{
			`chat claude of "turn", in the trace of the turn true, its span false, STATUS_CODE_UNSET 2`,
			`execute_tool work of "turn", in the trace of the turn true, its span false, STATUS_CODE_ERROR 1`,
			`invoke_agent of "", in the trace of the turn true, its span true, STATUS_CODE_UNSET 3`,
			`chat claude of "", in the trace of the turn false, its span false, STATUS_CODE_UNSET 0`,
		})
		as := otlptest.Attribute(b.Spans()[0].Attributes, "gen_ai.response.model").GetStringValue()
		if len(as) > 4*maxAttribute || !strings.HasPrefix(as, "é") || len(as) >= 600 {
			t.Errorf("a long text is %d bytes", len(as))
		}
	})
}

// The environment variables that the SDK reads have their effect: sampling, the resource, the delay, the interval, limits.
func TestVariablesOfTheSDK(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "team=a%20b,service.version=never-mind")
	t.Setenv("OTEL_SERVICE_NAME", "mine")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "2000")
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "3000")
	t.Setenv("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "4")
	synctest.Test(t, func(t *testing.T) {
		b := start(t)
		const turns = 200
		for range turns {
			b.life(ulid.Make())
			time.Sleep(time.Millisecond) // ids of one millisecond differ in their last bits only
		}
		time.Sleep(3500 * time.Millisecond)
		log, tries := b.seen()
		check(t, "requests", slices.Contains(tries, 2*time.Second), true)
		check(t, "requests of metrics", slices.Contains(tries, 3*time.Second), true)
		check(t, "log", log, "")
		b.end()
		traces := make(map[string]int)
		for _, s := range b.Spans() {
			traces[string(s.TraceId)]++
			check(t, "a limited text", otlptest.Attribute(s.Attributes, "gen_ai.conversation.id").GetStringValue(), "s")
			if as := otlptest.Attribute(s.Attributes, "gen_ai.response.model"); as != nil {
				check(t, "a limited text", as.GetStringValue(), "éééé")
			}
		}
		if n := len(traces); n < turns/5 || n > turns*4/5 {
			t.Errorf("of %d turns %d are sampled", turns, n)
		}
		for _, spans := range traces {
			check(t, "spans of a sampled turn", spans, 3)
		}
		taken, _ := b.Requests()
		facts := make(map[string]string)
		for _, a := range taken[0].Traces.ResourceSpans[0].Resource.Attributes {
			facts[a.Key] = a.Value.GetStringValue()
		}
		if _, err := ulid.ParseStrict(facts["service.instance.id"]); err != nil {
			t.Errorf("instance %q", facts["service.instance.id"])
		}
		delete(facts, "service.instance.id")
		delete(facts, "telemetry.sdk.version")
		check(t, "resource", facts, map[string]string{"service.name": "mine", "team": "a b", "service.version": "never-mind",
			"telemetry.sdk.name": "opentelemetry", "telemetry.sdk.language": "go"})
	})
}

// A variable of the SDK that is wrong is in the log, and nothing else comes of it.
func TestWrongVariablesOfTheSDK(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "lottery")
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "soon")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "sesame")
	synctest.Test(t, func(t *testing.T) {
		b := start(t)
		b.life(ulid.Make())
		b.end()
		log, _ := b.seen()
		for _, word := range []string{"lottery", "OTEL_METRIC_EXPORT_INTERVAL", "OTEL_RESOURCE_ATTRIBUTES"} {
			if !strings.Contains(log, word) {
				t.Errorf("the log lacks %s: %s", word, log)
			}
		}
		if strings.Contains(log, "sesame") {
			t.Errorf("the log quotes a resource: %s", log)
		}
		check(t, "spans", len(b.Spans()), 3)
	})
}

// While a collector hangs nobody waits for it, spans without room are dropped and counted, and the end is in time.
func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const room, batch = 1500, 512
		b := start(t, "OTEL_METRICS_EXPORTER=none", "OTEL_BSP_MAX_QUEUE_SIZE=1500")
		b.Way = func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() }
		now := time.Now()
		tool := report.Tool{Name: "work", Turn: session.TurnID(ulid.Make().String()), Begun: now, Ended: now}
		for range batch {
			b.Tool(tool)
		}
		synctest.Wait()
		for range room + 100 {
			b.Tool(tool)
		}
		check(t, "time", time.Since(now), time.Duration(0))
		check(t, "became", b.became(), "traces queue_full 100")
		b.end()
		check(t, "the end", time.Since(now), flushTime)
		check(t, "became", b.became(), fmt.Sprintf("traces queue_full 100, traces unreachable %d", batch+room))
	})
}

// At the end all that waits is sent at once, and a wait for a retry is cut short.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, "OTEL_METRICS_EXPORTER=none")
		busy := true
		b.Way = func(r *http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			if busy {
				busy = false
				w.Header().Set("Retry-After", "20")
				w.WriteHeader(http.StatusTooManyRequests)
			} else {
				b.ServeHTTP(w, r)
			}
			return w.Result(), nil
		}
		now := time.Now()
		for range 512 * 3 / 2 {
			b.Tool(report.Tool{Name: "work", Turn: session.TurnID(ulid.Make().String()), Begun: now, Ended: now})
		}
		synctest.Wait()
		b.end()
		check(t, "time", time.Since(now), time.Duration(0))
		check(t, "became", b.became(), "traces sent 256, traces unreachable 512")
	})
}

// A collector that cannot be reached is one line in the log for each signal, and holds nothing up.
func TestUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t)
		b.Way = func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }
		for range 3 {
			b.life(ulid.Make())
			time.Sleep(2 * time.Minute)
		}
		now := time.Now()
		b.end()
		check(t, "time of the end", time.Since(now), time.Duration(0))
		log, _ := b.seen()
		check(t, "lines of the log", strings.Count(log, "\n"), 2)
		check(t, "lines about it", strings.Count(log, "accepts nothing"), 2)
		check(t, "spans", strings.Contains(b.became(), "traces unreachable 9"), true)
	})
}

// Without an endpoint nothing is exported, and /metrics works all the same.
func TestOffByDefault(t *testing.T) {
	b := start(t, "OTEL_SDK_DISABLED=true")
	if b.Exports() {
		t.Error("disabled telemetry is exported")
	}
	b.Turn(report.Turn{Model: session.ModelRef{Provider: "made up"}})
	if !strings.Contains(b.scrape(), `thinkd_model_calls_total{provider="unknown"} 0`) {
		t.Error(b.scrape())
	}
	b.end()
	if got := Open(Config{Log: slog.New(slog.DiscardHandler), Getenv: func(string) string { return "" }}); got.Exports() {
		t.Errorf("%+v", got)
	}
}
