package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/thinkd/thinkd/cmd/thinkd/otlp/otlptest"
)

// facts are attributes in words, those of words alone.
func facts(list []*commonpb.KeyValue, keys ...string) map[string]string {
	words := make(map[string]string)
	for _, a := range list {
		if len(keys) > 0 && !slices.Contains(keys, a.Key) {
			continue
		}
		switch v := a.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			words[a.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			words[a.Key] = fmt.Sprint(v.IntValue)
		case *commonpb.AnyValue_DoubleValue:
			words[a.Key] = "a number"
		case *commonpb.AnyValue_BoolValue:
			words[a.Key] = fmt.Sprint(v.BoolValue)
		case *commonpb.AnyValue_ArrayValue:
			for _, inner := range v.ArrayValue.Values {
				words[a.Key] = strings.TrimSpace(words[a.Key] + " " + inner.GetStringValue())
			}
		}
	}
	return words
}

// A turn with two calls of a model and a tool between them is four spans that hang together, with what was decided about
// thinking; their times and tokens are in the metrics; and nothing that was said, nor a key, is anywhere.
func TestTelemetry(t *testing.T) {
	t.Parallel()
	collector := &otlptest.Collector{}
	address := serve(t, collector)
	const canary, key = "canary-of-what-was-said", "canary-of-the-collector"
	s := startServe(t, command(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + address + "/otel/", "OTEL_EXPORTER_OTLP_HEADERS=x-key=" + key,
		"OTEL_SERVICE_NAME=mine", "OTEL_RESOURCE_ATTRIBUTES=team=a%20b,service.version=never-mind", "OTEL_METRIC_EXPORT_INTERVAL=3600000"},
		append(serveArgs(t.TempDir()), "--log-level", "debug")...))
	c := dialWS(t, s.base, s.token, nil)
	var made struct {
		ID string `json:"session_id"`
	}
	c.must("session/new", map[string]any{"model_id": "sim/claude", "thinking_level": "max", "system_prompt": canary,
		"tools": []any{map[string]any{"name": "work", "description": canary}}}, &made)
	c.must("session/attach", map[string]any{"session_id": made.ID}, nil)
	c.must("session/prompt", map[string]any{"session_id": made.ID, "text": canary + " [[sim: tool=work thinking=50 text=20 pace=0]]"}, nil)
	var call struct {
		Turn string `json:"turn_id"`
		ID   string `json:"call_id"`
	}
	c.until("the call", func() bool {
		i := slices.IndexFunc(c.updates, func(u update) bool { return u.Method == "tool_start" })
		return i >= 0 && json.Unmarshal(c.updates[i].Raw, &call) == nil
	})
	c.must("tool/result", map[string]any{"session_id": made.ID, "call_id": call.ID, "content": []any{map[string]any{"type": "text", "text": canary}}}, nil)
	c.turnEnd()
	c.must("turn/wait", map[string]any{"session_id": made.ID, "turn_id": call.Turn}, nil)
	if code, body := s.scrape("metrics"); code != http.StatusOK || strings.Contains(body, "gen_ai") {
		t.Errorf("%d %q", code, body)
	}
	s.terminate()

	requests, faults := collector.Requests()
	if len(requests) != 2 || faults != nil {
		t.Fatalf("%d requests; %q", len(requests), faults)
	}
	for _, r := range requests {
		if got := r.Header.Get("x-key"); got != key || !strings.HasPrefix(r.Path, "/otel/v1/") {
			t.Errorf("%s with the key %q", r.Path, got)
		}
		for _, word := range []string{canary, key, s.token} {
			if strings.Contains(r.Body, word) {
				t.Errorf("%s tells %s", r.Path, word)
			}
		}
	}
	if strings.Contains(s.stderr.String(), key) {
		t.Errorf("the log has the key: %s", s.stderr.String())
	}
	for _, r := range requests {
		if r.Traces != nil {
			got := facts(r.Traces.ResourceSpans[0].Resource.Attributes, "service.name", "team", "service.version")
			if diff := cmp.Diff(map[string]string{"service.name": "mine", "team": "a b", "service.version": "never-mind"}, got); diff != "" {
				t.Error(diff)
			}
		}
	}

	spans := collector.Spans()
	slices.SortFunc(spans, func(a, b *tracepb.Span) int { return int(int64(a.StartTimeUnixNano) - int64(b.StartTimeUnixNano)) })
	var names []string
	for _, s := range spans {
		names = append(names, s.Name)
	}
	if diff := cmp.Diff([]string{"invoke_agent", "chat claude", "execute_tool work", "chat claude"}, names); diff != "" {
		t.Fatal(diff)
	}
	turn := ulid.MustParse(call.Turn)
	for i, span := range spans {
		parent := hex.EncodeToString(span.ParentSpanId)
		if want := hex.EncodeToString(turn[8:]); i == 0 && parent != "" || i > 0 && parent != want || hex.EncodeToString(span.TraceId) != hex.EncodeToString(turn[:]) {
			t.Errorf("%s: parent %q, trace %x of turn %x", span.Name, parent, span.TraceId, turn)
		}
		if span.StartTimeUnixNano < spans[0].StartTimeUnixNano || span.EndTimeUnixNano > spans[0].EndTimeUnixNano || time.Since(time.Unix(0, int64(span.StartTimeUnixNano))) > time.Hour {
			t.Errorf("%s: %d to %d is not in the turn", span.Name, span.StartTimeUnixNano, span.EndTimeUnixNano)
		}
		if span.Status.GetCode() != tracepb.Status_STATUS_CODE_UNSET {
			t.Errorf("%s: %v", span.Name, span.Status)
		}
	}
	decision := map[string]string{"thinkd.reasoning.source": "session", "thinkd.reasoning.requested": "max", "thinkd.reasoning.effective": "max",
		"thinkd.reasoning.fallback": "downgrade", "thinkd.reasoning.reason": "as_requested", "thinkd.reasoning.supported_levels": "off low medium high xhigh max",
		"thinkd.reasoning.used_provider_default": "false"}
	with := func(more map[string]string) map[string]string {
		all := maps.Clone(decision)
		for key, value := range map[string]string{"gen_ai.provider.name": "sim", "gen_ai.request.model": "claude", "gen_ai.conversation.id": made.ID,
			"thinkd.provider": "sim", "thinkd.turn.id": call.Turn, "gen_ai.usage.cache_creation.input_tokens": "", "gen_ai.usage.cache_read.input_tokens": "",
			"gen_ai.usage.input_tokens": "", "gen_ai.usage.output_tokens": "", "gen_ai.usage.reasoning.output_tokens": "", "thinkd.usage.estimated": "false"} {
			all[key] = value
		}
		maps.Copy(all, more)
		return all
	}
	chat := func(reason string) map[string]string {
		return with(map[string]string{"gen_ai.operation.name": "chat", "gen_ai.request.stream": "true", "gen_ai.response.finish_reasons": reason,
			"gen_ai.response.model": "claude", "gen_ai.response.time_to_first_chunk": "a number", "gen_ai.request.reasoning.level": "max"})
	}
	tool := map[string]string{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "work", "gen_ai.tool.call.id": call.ID,
		"gen_ai.conversation.id": made.ID, "thinkd.turn.id": call.Turn, "thinkd.tool.client": "true"}
	whole := with(map[string]string{"gen_ai.operation.name": "invoke_agent", "thinkd.turn.stop_reason": "end_turn", "thinkd.turn.model_calls": "2",
		"thinkd.turn.model_calls_again": "0"})
	sums := map[string]int{}
	for i, want := range []map[string]string{whole, chat("tool_use"), tool, chat("end_turn")} {
		got := facts(spans[i].Attributes)
		for key, value := range got {
			if !strings.HasPrefix(key, "gen_ai.usage.") {
				continue
			}
			var n int
			if _, err := fmt.Sscan(value, &n); err != nil || n < 0 {
				t.Errorf("%s: %s is %q", spans[i].Name, key, value)
			}
			if got[key] = ""; i == 0 {
				n = -n
			}
			sums[key] += n
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d %s: %s", i, spans[i].Name, diff)
		}
	}
	for key, n := range sums {
		if n != 0 {
			t.Errorf("%s: the calls have %d more than the turn", key, n)
		}
	}

	counts := map[string]uint64{}
	for name, m := range collector.Metrics() {
		for _, p := range m.GetHistogram().DataPoints {
			words := slices.Sorted(maps.Values(facts(p.Attributes)))
			counts[name+" "+strings.Join(words, " ")] += p.Count
		}
	}
	if diff := cmp.Diff(map[string]uint64{
		"gen_ai.client.operation.duration chat claude sim":            2,
		"gen_ai.client.operation.duration claude invoke_agent sim":    1,
		"gen_ai.client.operation.duration execute_tool":               1,
		"gen_ai.client.operation.time_to_first_chunk chat claude sim": 2,
		"gen_ai.client.token.usage chat claude input sim":             2,
		"gen_ai.client.token.usage chat claude output sim":            2,
		"thinkd.client.reasoning.usage chat claude max sim":           2,
	}, counts); diff != "" {
		t.Error(diff)
	}
}

// A collector that refuses all and one that is not there change nothing but a count, and hold the end up for a moment at most.
func TestTelemetryWithoutACollector(t *testing.T) {
	t.Parallel()
	hanging := make(chan struct{})
	slow := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hanging:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(hanging) })
	for name, c := range map[string]struct{ address, outcome string }{
		"refuses":   {serve(t, http.NotFoundHandler()), "refused"},
		"not there": {closedAddress(t), "unreachable"},
		"hangs":     {slow, "unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, args := []string{"OTEL_BSP_SCHEDULE_DELAY=1", "OTEL_EXPORTER_OTLP_TIMEOUT=100"}, serveArgs(t.TempDir())
			if name == "refuses" { // by the config; the others by the environment
				args = append(args, "--config", writeConfig(t, fmt.Sprintf("[telemetry]\nendpoint = %q\n", c.address)))
			} else {
				env = append(env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.address)
			}
			s := startServe(t, command(t, env, args...))
			client := dialWS(t, s.base, s.token, nil)
			var made struct {
				ID string `json:"session_id"`
			}
			client.must("session/new", map[string]any{"model_id": "sim/claude"}, &made)
			client.must("session/attach", map[string]any{"session_id": made.ID}, nil)
			client.must("session/prompt", map[string]any{"session_id": made.ID, "text": "Hello. [[sim: pace=0]]"}, nil)
			if end := client.turnEnd(); end.Stop != "end_turn" {
				t.Errorf("the turn ends with %s", end.Stop)
			}
			if c.outcome == "refused" { // the others are tried for longer
				for begun := time.Now(); time.Since(begun) < 5*time.Second; time.Sleep(20 * time.Millisecond) {
					if _, body := s.scrape("metrics"); strings.Contains(body, `thinkd_telemetry_items_total{outcome="refused",signal="traces"} 2`) {
						break
					}
				}
				if _, body := s.scrape("metrics"); !strings.Contains(body, `thinkd_telemetry_items_total{outcome="refused",signal="traces"} 2`) {
					t.Error("what was refused is not counted")
				}
			}
			if took := s.terminate(); took > 8*time.Second {
				t.Errorf("the end took %s", took)
			}
			if n := strings.Count(s.stderr.String(), "takes nothing"); n != 2 { // spans and metrics
				t.Errorf("%d lines: %s", n, s.stderr.String())
			}
		})
	}
}

// The variables of OpenTelemetry say whether, where and how. One that is wrong is told, without its value.
func TestOtelSettings(t *testing.T) {
	type wanted struct{ traces, metrics, headers, gzip, timeout, interval, warned string }
	const base = "OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318"
	for _, c := range []struct {
		stated, env string
		want        wanted
	}{
		{"http://file:1/x", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://c/t OTEL_EXPORTER_OTLP_ENDPOINT=http://d OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_HEADERS=a=k1",
			wanted{traces: "http://file:1/x/v1/traces", headers: "a:k1"}},
		{"http://file:1", "", wanted{traces: "http://file:1/v1/traces", metrics: "http://file:1/v1/metrics"}},
		{"http://file:1", "OTEL_SDK_DISABLED=true", wanted{}},
		{"", "", wanted{}},
		{"", "OTEL_SERVICE_NAME=x", wanted{}},
		{"", base, wanted{traces: "http://c:4318/v1/traces", metrics: "http://c:4318/v1/metrics"}},
		{"", "OTEL_EXPORTER_OTLP_ENDPOINT=https://c/base/", wanted{traces: "https://c/base/v1/traces", metrics: "https://c/base/v1/metrics"}},
		{"", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://c/as/it?is", wanted{traces: "https://c/as/it?is"}},
		{"", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=https://d", wanted{metrics: "https://d"}},
		{"", base + " OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://c/t", wanted{traces: "https://c/t", metrics: "http://c:4318/v1/metrics"}},
		{"", base + " OTEL_SDK_DISABLED=TRUE", wanted{}},
		{"", base + " OTEL_TRACES_EXPORTER=none", wanted{metrics: "http://c:4318/v1/metrics"}},
		{"", base + " OTEL_METRICS_EXPORTER=prometheus", wanted{traces: "http://c:4318/v1/traces", warned: "OTEL_METRICS_EXPORTER"}},
		{"", base + " OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20k1,x-a=%C3%A9", wanted{traces: "http://c:4318/v1/traces", headers: "Authorization:Bearer k1 x-a:é"}},
		{"", base + " OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_HEADERS=a=k1 OTEL_EXPORTER_OTLP_TRACES_HEADERS=b=k2", wanted{traces: "http://c:4318/v1/traces", headers: "b:k2"}},
		{"", base + " OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_HEADERS=sesame", wanted{traces: "http://c:4318/v1/traces", warned: "OTEL_EXPORTER_OTLP_HEADERS"}},
		{"", base + " OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_HEADERS=a=sesame%0a", wanted{traces: "http://c:4318/v1/traces", warned: "OTEL_EXPORTER_OTLP_HEADERS"}},
		{"", base + " OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_HEADERS=a=sesame%zz", wanted{traces: "http://c:4318/v1/traces", warned: "OTEL_EXPORTER_OTLP_HEADERS"}},
		{"", "OTEL_EXPORTER_OTLP_ENDPOINT=http://user:sesame@c", wanted{warned: "OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_ENDPOINT"}},
		{"", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=c:4317", wanted{warned: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"}},
		{"", base + " OTEL_EXPORTER_OTLP_PROTOCOL=grpc", wanted{warned: "OTEL_EXPORTER_OTLP_PROTOCOL OTEL_EXPORTER_OTLP_PROTOCOL"}},
		{"", base + " OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", wanted{traces: "http://c:4318/v1/traces", warned: "OTEL_EXPORTER_OTLP_PROTOCOL"}},
		{"", base + " OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_COMPRESSION=gzip OTEL_EXPORTER_OTLP_TIMEOUT=1500 OTEL_METRIC_EXPORT_INTERVAL=2000",
			wanted{traces: "http://c:4318/v1/traces", gzip: "true", timeout: "1.5s", interval: "2s"}},
		{"", base + " OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_COMPRESSION=zstd OTEL_EXPORTER_OTLP_TIMEOUT=-1",
			wanted{traces: "http://c:4318/v1/traces", warned: "OTEL_EXPORTER_OTLP_COMPRESSION OTEL_EXPORTER_OTLP_TIMEOUT"}},
	} {
		t.Run(c.stated+" "+c.env, func(t *testing.T) {
			var log bytes.Buffer
			getenv := func(name string) string {
				for pair := range strings.FieldsSeq(c.env) {
					if value, ok := strings.CutPrefix(pair, name+"="); ok {
						return value
					}
				}
				return ""
			}
			o := otelSettings{c.stated, getenv, slog.New(slog.NewJSONHandler(&log, nil))}
			config, ok := o.config()
			got := wanted{traces: config.Traces.URL, metrics: config.Metrics.URL}
			if ok != (got.traces+got.metrics != "") {
				t.Errorf("on: %v", ok)
			}
			var headers, warned []string
			for _, name := range slices.Sorted(maps.Keys(config.Traces.Headers)) {
				headers = append(headers, name+":"+config.Traces.Headers[name].Reveal())
			}
			got.headers = strings.Join(headers, " ")
			if config.Traces.Gzip {
				got.gzip = "true"
			}
			if config.Traces.Timeout > 0 {
				got.timeout = config.Traces.Timeout.String()
			}
			if config.Interval > 0 {
				got.interval = config.Interval.String()
			}
			for line := range strings.Lines(log.String()) {
				var entry struct{ Name string }
				if err := json.Unmarshal([]byte(line), &entry); err != nil {
					t.Error(err)
				}
				warned = append(warned, entry.Name)
			}
			got.warned = strings.Join(warned, " ")
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(wanted{})); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(log.String(), "sesame") {
				t.Errorf("the log has what may be a key: %s", log.String())
			}
			if shown := fmt.Sprintf("%v %+v %#v", config.Traces.Headers, config, config); strings.Contains(shown, "k1") || strings.Contains(shown, "k2") {
				t.Errorf("a key is shown: %s", shown)
			}
		})
	}
}

// Where nobody asks, or somebody forbids it, nothing is made and nothing is sent.
func TestTelemetryIsOff(t *testing.T) {
	d := &daemon{log: discard}
	d.metrics = newMetrics(d)
	if got := openTelemetry(d, "", func(string) string { return "" }); got != nil {
		t.Errorf("%+v", got)
	}
	var requests atomic.Int64
	address := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	for _, env := range [][]string{nil, {"OTEL_EXPORTER_OTLP_ENDPOINT=" + address, "OTEL_SDK_DISABLED=true"}} {
		data := t.TempDir()
		h := open(t, data, env)
		h.ready()
		p := door(t, data, env)
		p.turn(p.newSession("model_id", "sim/claude"), "Hello. [[sim: pace=0]]")
		p.end()
		if err := quit(data); err != nil {
			t.Error(err)
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests", n)
	}
}
