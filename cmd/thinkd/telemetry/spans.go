package telemetry

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/thinkd/thinkd/agent/report"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// spans record turns, model calls and tool calls by the conventions for generative AI: a turn is a span "invoke_agent", each model
// call in it "chat", each tool call "execute_tool". Attributes that the conventions do not define begin with "thinkd.".
//
// The agent reports a span when it has ended, so all spans are made at their end, with their times. The span of a turn ends after its
// children and is made last. Its id follows from the turn's id, so that the children know it already.
type spans struct {
	vendor func(provider string) (vendor string, ok bool)
	log    *slog.Logger
	tracer trace.Tracer

	seconds  metric.Float64Histogram
	first    metric.Float64Histogram
	tokens   metric.Float64Histogram
	thinking metric.Float64Histogram
}

// The words of the conventions (opentelemetry.io: "Semantic conventions for generative AI systems").
const (
	keyOperation    = "gen_ai.operation.name"
	keyProvider     = "gen_ai.provider.name"
	keyModel        = "gen_ai.request.model"
	keyResponse     = "gen_ai.response.model"
	keyConversation = "gen_ai.conversation.id"
	keyTokenType    = "gen_ai.token.type"
	keyError        = "error.type"

	keyLevel = "thinkd.reasoning.effective"

	opTurn = "invoke_agent"
	opChat = "chat"
	opTool = "execute_tool"
)

// providerNames are the conventions' words for vendors, where they are not ours.
var providerNames = map[string]string{"gemini": "gcp.gemini", "xai": "x_ai", "mistral": "mistral_ai", "moonshot": "moonshot_ai",
	"azure": "azure.ai.openai", "chatgpt": "openai"}

func newSpans(c Config, tracer trace.Tracer, meter metric.Meter) *spans {
	m := instruments{meter}
	// The buckets of the conventions end at 82 s. A turn of a thinking model with tools may take an hour.
	seconds, tokens := exponential(0.01, 2, 19), exponential(1, 4, 14)
	return &spans{vendor: c.Vendor, log: c.Log, tracer: tracer,
		seconds:  m.histogram("gen_ai.client.operation.duration", "s", "GenAI operation duration.", seconds),
		first:    m.histogram("gen_ai.client.operation.time_to_first_chunk", "s", "Time to receive the first chunk.", seconds),
		tokens:   m.histogram("gen_ai.client.token.usage", "{token}", "Number of input and output tokens used.", tokens),
		thinking: m.histogram("thinkd.client.reasoning.usage", "{token}", "Number of output tokens that were thinking.", tokens),
	}
}

// exponential is so many bounds, each of them factor times the one before.
func exponential(first, factor float64, bounds int) []float64 {
	list := make([]float64, bounds)
	for i := range list {
		list[i] = first
		first *= factor
	}
	return list
}

// A span is what the agent reports of something that has ended.
type span struct {
	turn         session.TurnID // empty: it belongs to no turn, and is a trace of its own
	name         string
	kind         trace.SpanKind
	begun, ended time.Time
	fault        string // empty: none
	facts        []attribute.KeyValue
}

// record makes a span, if its trace is sampled.
func (t *spans) record(s span) {
	ctx := context.Background()
	if s.turn != "" {
		id, err := ulid.ParseStrict(string(s.turn))
		if err != nil {
			t.log.Error("a turn cannot be exported", "turn", s.turn, "err", err)
			return
		}
		if ctx = withTurn(ctx, id); s.name != opTurn {
			// This span of the turn is never ended, and therefore never exported. It asks the sampler about the trace.
			_, turn := t.tracer.Start(ctx, opTurn)
			ctx = trace.ContextWithSpanContext(ctx, turn.SpanContext())
		}
	}
	_, made := t.tracer.Start(ctx, s.name, trace.WithSpanKind(s.kind), trace.WithTimestamp(s.begun), trace.WithAttributes(s.facts...))
	if s.fault != "" {
		made.SetStatus(codes.Error, "")
	}
	made.End(trace.WithTimestamp(s.ended))
}

// measure records a value. Labels are pairs of a key and a value; one without a value is left out.
func measure(h metric.Float64Histogram, value float64, pairs ...string) {
	var list []attribute.KeyValue
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			list = append(list, attribute.String(pairs[i], pairs[i+1]))
		}
	}
	h.Record(context.Background(), value, metric.WithAttributeSet(attribute.NewSet(list...)))
}

// turn records a turn.
func (t *spans) turn(r report.Turn) {
	fault := ""
	switch {
	case r.End.Error != nil:
		fault = r.End.Error.Kind
	case r.End.StopReason != session.StopEndTurn:
		fault = string(r.End.StopReason)
	}
	facts := t.facts(opTurn, r.Session, r.Turn, r.Model, fault)
	facts = append(facts, decided(r.Reasoning)...)
	facts = append(facts, used(r.End.Usage)...)
	facts = append(facts, attribute.String("thinkd.turn.stop_reason", string(r.End.StopReason)),
		attribute.Int("thinkd.turn.model_calls", r.Calls), attribute.Int("thinkd.turn.model_calls_again", r.Again))
	t.record(span{r.Turn, opTurn, trace.SpanKindInternal, r.Begun, r.Ended, fault, facts})
	measure(t.seconds, r.Ended.Sub(r.Begun).Seconds(), keyOperation, opTurn, keyProvider, t.name(r.Model), keyModel, model(r.Model, r.Reasoning), keyError, fault)
}

// call records a model call.
func (t *spans) call(r report.Call) {
	op := opChat
	if r.API == "gemini" {
		op = "generate_content"
	}
	facts := t.facts(op, r.Session, r.Turn, r.Model, r.Fault)
	facts = append(facts, attribute.Bool("gen_ai.request.stream", true))
	if r.Reasoning.Control.Mode == provider.ModeEffort {
		facts = append(facts, attribute.String("gen_ai.request.reasoning.level", string(r.Reasoning.Control.Effort)))
	}
	facts = append(facts, decided(r.Reasoning)...)
	facts = append(facts, used(r.Usage)...)
	if r.As != "" {
		facts = append(facts, attribute.String(keyResponse, r.As))
	}
	if r.Stop != "" {
		facts = append(facts, attribute.StringSlice("gen_ai.response.finish_reasons", []string{string(r.Stop)}))
	}
	if r.Summary {
		facts = append(facts, attribute.Bool("thinkd.summary", true))
	}
	if r.Aside {
		facts = append(facts, attribute.Bool("thinkd.aside", true))
	}
	of := []string{keyOperation, op, keyProvider, t.name(r.Model), keyModel, model(r.Model, r.Reasoning)}
	with := func(key, value string) []string { return append(slices.Clip(of), key, value) }
	if !r.Heard.IsZero() {
		wait := r.Heard.Sub(r.Begun).Seconds()
		facts = append(facts, attribute.Float64("gen_ai.response.time_to_first_chunk", wait))
		measure(t.first, wait, of...)
	}
	t.record(span{r.Turn, op + " " + r.Model.ID, trace.SpanKindClient, r.Begun, r.Ended, r.Fault, facts})
	measure(t.seconds, r.Ended.Sub(r.Begun).Seconds(), with(keyError, r.Fault)...)
	if r.Usage.Input+r.Usage.Output == 0 {
		return
	}
	measure(t.tokens, float64(r.Usage.Input), with(keyTokenType, "input")...)
	measure(t.tokens, float64(r.Usage.Output), with(keyTokenType, "output")...)
	if n := r.Usage.Reasoning; n != nil {
		measure(t.thinking, float64(*n), with(keyLevel, string(r.Reasoning.Effective))...)
	}
}

// tool records a tool call.
func (t *spans) tool(r report.Tool) {
	facts := []attribute.KeyValue{attribute.String(keyOperation, opTool), attribute.String("gen_ai.tool.name", r.Name),
		attribute.String("gen_ai.tool.call.id", r.CallID), attribute.String(keyConversation, string(r.Session)),
		attribute.String("thinkd.turn.id", string(r.Turn)), attribute.Bool("thinkd.tool.client", r.Client)}
	if r.Fault != "" {
		facts = append(facts, attribute.String(keyError, r.Fault))
	}
	t.record(span{r.Turn, opTool + " " + r.Name, trace.SpanKindInternal, r.Begun, r.Ended, r.Fault, facts})
	// The name is no label: a client can name any tool.
	measure(t.seconds, r.Ended.Sub(r.Begun).Seconds(), keyOperation, opTool, keyError, r.Fault)
}

// facts are the attributes that turns and model calls share.
func (t *spans) facts(op string, id session.ID, turn session.TurnID, m session.ModelRef, fault string) []attribute.KeyValue {
	list := []attribute.KeyValue{attribute.String(keyOperation, op), attribute.String(keyProvider, t.name(m)),
		attribute.String(keyModel, m.ID), attribute.String(keyConversation, string(id)),
		attribute.String("thinkd.provider", m.Provider), attribute.String("thinkd.turn.id", string(turn))}
	if fault != "" {
		list = append(list, attribute.String(keyError, fault))
	}
	return list
}

// name is the conventions' word for a provider, otherwise the config's.
func (t *spans) name(m session.ModelRef) string {
	vendor, known := t.vendor(m.Provider)
	if !known {
		return "unknown"
	}
	if name, ok := providerNames[vendor]; ok {
		return name
	}
	return vendor
}

// model is a model's name as a label. A client can name any model, and each label costs memory until the process ends, so models
// that are not in the catalog have none.
func model(m session.ModelRef, d provider.Decision) string {
	if !d.KnownModel {
		return ""
	}
	return m.ID
}

// decided is the decision about thinking.
func decided(d provider.Decision) []attribute.KeyValue {
	levels := make([]string, len(d.Supported))
	for i, l := range d.Supported {
		levels[i] = string(l)
	}
	return []attribute.KeyValue{
		attribute.String("thinkd.reasoning.source", string(d.Source)),
		attribute.String("thinkd.reasoning.requested", string(d.Requested)),
		attribute.String(keyLevel, string(d.Effective)),
		attribute.String("thinkd.reasoning.fallback", string(d.Fallback)),
		attribute.String("thinkd.reasoning.reason", string(d.Reason)),
		attribute.StringSlice("thinkd.reasoning.supported_levels", levels),
		attribute.Bool("thinkd.reasoning.used_provider_default", d.UsedProviderDefault),
	}
}

// used is what a call used, empty if nobody counted.
func used(u provider.Usage) []attribute.KeyValue {
	if u.Input+u.Output == 0 {
		return nil
	}
	list := []attribute.KeyValue{
		attribute.Int("gen_ai.usage.input_tokens", u.Input),
		attribute.Int("gen_ai.usage.output_tokens", u.Output),
		attribute.Int("gen_ai.usage.cache_read.input_tokens", u.Cached),
		attribute.Int("gen_ai.usage.cache_creation.input_tokens", u.CacheWrite),
		attribute.Bool("thinkd.usage.estimated", u.Estimated),
	}
	if u.Reasoning != nil {
		list = append(list, attribute.Int("gen_ai.usage.reasoning.output_tokens", *u.Reasoning))
	}
	return list
}
