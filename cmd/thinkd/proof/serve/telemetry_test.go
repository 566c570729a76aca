package serve

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
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

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/cmd/thinkd/telemetry/otlp/otlptest"
)

// A turn with two calls of a model and a tool between them is four spans that hang together, with what was decided about
// thinking; their times and tokens are in the metrics; and nothing that was said, nor a key, is anywhere.
func TestTelemetry(t *testing.T) {
	t.Parallel()
	collector := &otlptest.Collector{}
	address := proof.Serve(t, collector)
	const canary, key = "canary-of-what-was-said", "canary-of-the-collector"
	s := proof.StartServe(t, proof.Command(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + address + "/otel/", "OTEL_EXPORTER_OTLP_HEADERS=x-key=" + key,
		"OTEL_SERVICE_NAME=mine", "OTEL_RESOURCE_ATTRIBUTES=team=a%20b,service.version=never-mind", "OTEL_METRIC_EXPORT_INTERVAL=3600000"},
		append(proof.ServeArgs(t.TempDir()), "--log-level", "debug")...))
	c := proof.DialWS(t, s.Base, s.Token, nil)
	var made struct {
		ID string `json:"session_id"`
	}
	c.Must("session/new", map[string]any{"model_id": "sim/claude", "thinking_level": "max", "system_prompt": canary,
		"tools": []any{map[string]any{"name": "work", "description": canary}}}, &made)
	c.Must("session/attach", map[string]any{"session_id": made.ID}, nil)
	c.Must("session/prompt", map[string]any{"session_id": made.ID, "text": canary + " [[sim: tool=work thinking=50 text=20 pace=0]]"}, nil)
	var call struct {
		Turn string `json:"turn_id"`
		ID   string `json:"call_id"`
	}
	c.Until("the call", func() bool {
		i := slices.IndexFunc(c.Updates, func(u proof.Update) bool { return u.Method == "tool_start" })
		return i >= 0 && json.Unmarshal(c.Updates[i].Raw, &call) == nil
	})
	c.Must("tool/result", map[string]any{"session_id": made.ID, "call_id": call.ID, "content": []any{map[string]any{"type": "text", "text": canary}}}, nil)
	c.TurnEnd()
	c.Must("turn/wait", map[string]any{"session_id": made.ID, "turn_id": call.Turn}, nil)
	if code, body := s.Scrape("metrics"); code != http.StatusOK || strings.Contains(body, "gen_ai") {
		t.Errorf("%d %q", code, body)
	}
	s.Terminate()

	requests, faults := collector.Requests()
	if len(requests) != 2 || faults != nil {
		t.Fatalf("%d requests; %q", len(requests), faults)
	}
	for _, r := range requests {
		if got := r.Header.Get("x-key"); got != key || !strings.HasPrefix(r.Path, "/otel/v1/") {
			t.Errorf("%s with the key %q", r.Path, got)
		}
		for _, word := range []string{canary, key, s.Token} {
			if strings.Contains(r.Body, word) {
				t.Errorf("%s tells %s", r.Path, word)
			}
		}
	}
	if strings.Contains(s.Stderr.String(), key) {
		t.Errorf("the log has the key: %s", proof.Excerpt(s.Stderr.String()))
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
	slow := proof.Serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hanging:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(hanging) })
	for name, c := range map[string]struct{ address, outcome string }{
		"refuses":   {proof.Serve(t, http.NotFoundHandler()), "refused"},
		"not there": {proof.ClosedAddress(t), "unreachable"},
		"hangs":     {slow, "unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, args := []string{"OTEL_BSP_SCHEDULE_DELAY=1", "OTEL_EXPORTER_OTLP_TIMEOUT=100"}, proof.ServeArgs(t.TempDir())
			if name == "refuses" { // by the config; the others by the environment
				args = append(args, "--config", proof.WriteConfig(t, fmt.Sprintf("[telemetry]\nendpoint = %q\n", c.address)))
			} else {
				env = append(env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.address)
			}
			s := proof.StartServe(t, proof.Command(t, env, args...))
			client := proof.DialWS(t, s.Base, s.Token, nil)
			var made struct {
				ID string `json:"session_id"`
			}
			client.Must("session/new", map[string]any{"model_id": "sim/claude"}, &made)
			client.Must("session/attach", map[string]any{"session_id": made.ID}, nil)
			client.Must("session/prompt", map[string]any{"session_id": made.ID, "text": "Hello. [[sim: pace=0]]"}, nil)
			if end := client.TurnEnd(); end.Stop != "end_turn" {
				t.Errorf("the turn ends with %s", end.Stop)
			}
			if c.outcome == "refused" { // the others are tried for longer
				for begun := time.Now(); time.Since(begun) < proof.Patience; proof.Moment(20 * time.Millisecond) {
					if _, body := s.Scrape("metrics"); strings.Contains(body, `thinkd_telemetry_items_total{outcome="refused",signal="traces"} 2`) {
						break
					}
				}
				if _, body := s.Scrape("metrics"); !strings.Contains(body, `thinkd_telemetry_items_total{outcome="refused",signal="traces"} 2`) {
					t.Error("what was refused is not counted")
				}
			}
			took := s.Terminate()
			proof.Judge(t, took <= 8*time.Second, "the end took %s", took)
			if n := strings.Count(s.Stderr.String(), "accepts nothing"); n != 2 { // spans and metrics
				t.Errorf("%d lines: %s", n, proof.Excerpt(s.Stderr.String()))
			}
		})
	}
}

// Without an endpoint, or with OTEL_SDK_DISABLED, nothing is sent.
func TestTelemetryIsOff(t *testing.T) {
	var requests atomic.Int64
	address := proof.Serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	for _, env := range [][]string{nil, {"OTEL_EXPORTER_OTLP_ENDPOINT=" + address, "OTEL_SDK_DISABLED=true"}} {
		data := t.TempDir()
		h := proof.Open(t, data, env)
		h.Ready()
		p := proof.Door(t, data, env)
		p.Turn(p.NewSession("model_id", "sim/claude"), "Hello. [[sim: pace=0]]")
		p.End()
		if err := proof.Quit(data); err != nil {
			t.Error(err)
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// facts are attributes as text. With keys, only those.
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
