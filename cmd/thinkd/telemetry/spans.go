package telemetry

import (
	"log/slog"

	"github.com/oklog/ulid/v2"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/cmd/thinkd/telemetry/meter"
	"github.com/thinkd/thinkd/cmd/thinkd/telemetry/otlp"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// spans send turns, model calls and tool calls to a collector, by the conventions for generative AI: a turn is a span
// "invoke_agent", each model call in it "chat", each tool call "execute_tool". Attributes that the conventions do not define
// begin with "thinkd.".
type spans struct {
	cfg      Config
	log      *slog.Logger
	exporter *otlp.Exporter
	seconds  *meter.Histogram
	first    *meter.Histogram
	tokens   *meter.Histogram
	thinking *meter.Histogram
}

// conventions names the version whose words are used: the last one that has those for generative AI and is released.
const conventions = "https://opentelemetry.io/schemas/1.41.0"

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

// startSpans starts an exporter with these settings. items counts what it sends and drops.
func startSpans(cfg Config, c otlp.Config, items *meter.Counter) *spans {
	histogram := func(name, unit, help string, bounds []float64, labels ...string) *meter.Histogram {
		return meter.NewHistogram(name, unit, help, bounds, append([]string{keyOperation, keyProvider, keyModel}, labels...)...)
	}
	// The conventions' buckets end at 82 s; a turn of a thinking model with tools may take an hour.
	seconds := meter.Exponential(0.01, 2, 19)
	tokens := meter.Exponential(1, 4, 14)
	t := &spans{cfg: cfg, log: cfg.Log,
		seconds:  histogram("gen_ai.client.operation.duration", "s", "GenAI operation duration.", seconds, keyError),
		first:    histogram("gen_ai.client.operation.time_to_first_chunk", "s", "Time to receive the first chunk.", seconds),
		tokens:   histogram("gen_ai.client.token.usage", "{token}", "Number of input and output tokens used.", tokens, keyTokenType),
		thinking: histogram("thinkd.client.reasoning.usage", "{token}", "Number of output tokens that were thinking.", tokens, keyLevel),
	}
	c.Histograms = []*meter.Histogram{t.seconds, t.first, t.tokens, t.thinking}
	c.Scope = otlp.Scope{Name: "github.com/thinkd/thinkd", Version: cfg.Version, SchemaURL: conventions}
	c.Items = items
	t.exporter = otlp.Start(c)
	return t
}

// span tells one. A trace is a turn's; what belongs to no turn is a trace of its own.
func (t *spans) span(turn session.TurnID, s otlp.Span) {
	if turn == "" {
		s.Trace, s.ID = otlp.TraceID(ulid.Make()), otlp.NewSpanID()
		t.exporter.Span(s)
		return
	}
	trace, first, err := traceOf(string(turn))
	if err != nil {
		t.log.Error("a turn cannot be told", "err", err)
		return
	}
	if s.Trace, s.ID = trace, first; s.Name != opTurn {
		s.ID, s.Parent = otlp.NewSpanID(), first
	}
	t.exporter.Span(s)
}

// turn tells of a turn.
func (t *spans) turn(r agent.Report) {
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
	facts = append(facts, otlp.Attribute{Key: "thinkd.turn.stop_reason", Value: otlp.Text(string(r.End.StopReason))},
		otlp.Attribute{Key: "thinkd.turn.model_calls", Value: otlp.Whole(r.Calls)},
		otlp.Attribute{Key: "thinkd.turn.model_calls_again", Value: otlp.Whole(r.Again)})
	t.span(r.Turn, otlp.Span{Name: opTurn, Kind: otlp.Internal, Begun: r.Begun, Ended: r.Ended, Failed: fault != "", Attributes: facts})
	t.seconds.Observe(r.Ended.Sub(r.Begun).Seconds(), opTurn, t.name(r.Model), model(r.Model, r.Reasoning), fault)
}

// call tells of an exchange with a model.
func (t *spans) call(r agent.CallReport) {
	op := opChat
	if r.API == "gemini" {
		op = "generate_content"
	}
	facts := t.facts(op, r.Session, r.Turn, r.Model, r.Fault)
	facts = append(facts, otlp.Attribute{Key: "gen_ai.request.stream", Value: otlp.Truth(true)})
	if r.Reasoning.Control.Mode == provider.ModeEffort {
		facts = append(facts, otlp.Attribute{Key: "gen_ai.request.reasoning.level", Value: otlp.Text(r.Reasoning.Control.Effort)})
	}
	facts = append(facts, decided(r.Reasoning)...)
	facts = append(facts, used(r.Usage)...)
	if r.As != "" {
		facts = append(facts, otlp.Attribute{Key: keyResponse, Value: otlp.Text(r.As)})
	}
	if r.Stop != "" {
		facts = append(facts, otlp.Attribute{Key: "gen_ai.response.finish_reasons", Value: otlp.Texts{string(r.Stop)}})
	}
	if r.Summary {
		facts = append(facts, otlp.Attribute{Key: "thinkd.summary", Value: otlp.Truth(true)})
	}
	name, asked := t.name(r.Model), model(r.Model, r.Reasoning)
	if !r.Heard.IsZero() {
		wait := r.Heard.Sub(r.Begun).Seconds()
		facts = append(facts, otlp.Attribute{Key: "gen_ai.response.time_to_first_chunk", Value: otlp.Real(wait)})
		t.first.Observe(wait, op, name, asked)
	}
	t.span(r.Turn, otlp.Span{Name: op + " " + r.Model.ID, Kind: otlp.Client, Begun: r.Begun, Ended: r.Ended, Failed: r.Fault != "", Attributes: facts})
	t.seconds.Observe(r.Ended.Sub(r.Begun).Seconds(), op, name, asked, r.Fault)
	if r.Usage.Input+r.Usage.Output == 0 {
		return
	}
	t.tokens.Observe(float64(r.Usage.Input), op, name, asked, "input")
	t.tokens.Observe(float64(r.Usage.Output), op, name, asked, "output")
	if n := r.Usage.Reasoning; n != nil {
		t.thinking.Observe(float64(*n), op, name, asked, string(r.Reasoning.Effective))
	}
}

// tool tells of a call of a tool.
func (t *spans) tool(r agent.ToolReport) {
	facts := []otlp.Attribute{{Key: keyOperation, Value: otlp.Text(opTool)}, {Key: "gen_ai.tool.name", Value: otlp.Text(r.Name)},
		{Key: "gen_ai.tool.call.id", Value: otlp.Text(r.CallID)}, {Key: keyConversation, Value: otlp.Text(r.Session)},
		{Key: "thinkd.turn.id", Value: otlp.Text(r.Turn)}, {Key: "thinkd.tool.client", Value: otlp.Truth(r.Client)}}
	if r.Fault != "" {
		facts = append(facts, otlp.Attribute{Key: keyError, Value: otlp.Text(r.Fault)})
	}
	t.span(r.Turn, otlp.Span{Name: opTool + " " + r.Name, Kind: otlp.Internal, Begun: r.Begun, Ended: r.Ended, Failed: r.Fault != "", Attributes: facts})
	t.seconds.Observe(r.Ended.Sub(r.Begun).Seconds(), opTool, "", "", r.Fault) // a client can name any tool
}

// facts are what turns and exchanges have alike.
func (t *spans) facts(op string, id session.ID, turn session.TurnID, m session.ModelRef, fault string) []otlp.Attribute {
	list := []otlp.Attribute{{Key: keyOperation, Value: otlp.Text(op)}, {Key: keyProvider, Value: otlp.Text(t.name(m))},
		{Key: keyModel, Value: otlp.Text(m.ID)}, {Key: keyConversation, Value: otlp.Text(id)},
		{Key: "thinkd.provider", Value: otlp.Text(m.Provider)}, {Key: "thinkd.turn.id", Value: otlp.Text(turn)}}
	if fault != "" {
		list = append(list, otlp.Attribute{Key: keyError, Value: otlp.Text(fault)})
	}
	return list
}

// name is the conventions' word for a provider, otherwise the config's.
func (t *spans) name(m session.ModelRef) string {
	vendor, known := t.cfg.Vendor(m.Provider)
	if !known {
		return "unknown"
	}
	if name, ok := providerNames[vendor]; ok {
		return name
	}
	return vendor
}

// model is a model's name as metrics have it: a client can name any, and each would cost memory for good.
func model(m session.ModelRef, d provider.Decision) string {
	if !d.KnownModel {
		return ""
	}
	return m.ID
}

// decided is what was decided about thinking.
func decided(d provider.Decision) []otlp.Attribute {
	levels := make(otlp.Texts, len(d.Supported))
	for i, l := range d.Supported {
		levels[i] = string(l)
	}
	return []otlp.Attribute{
		{Key: "thinkd.reasoning.source", Value: otlp.Text(d.Source)},
		{Key: "thinkd.reasoning.requested", Value: otlp.Text(d.Requested)},
		{Key: keyLevel, Value: otlp.Text(d.Effective)},
		{Key: "thinkd.reasoning.fallback", Value: otlp.Text(d.Fallback)},
		{Key: "thinkd.reasoning.reason", Value: otlp.Text(d.Reason)},
		{Key: "thinkd.reasoning.supported_levels", Value: levels},
		{Key: "thinkd.reasoning.used_provider_default", Value: otlp.Truth(d.UsedProviderDefault)},
	}
}

// used is what was used, nothing where nobody counted.
func used(u provider.Usage) []otlp.Attribute {
	if u.Input+u.Output == 0 {
		return nil
	}
	list := []otlp.Attribute{
		{Key: "gen_ai.usage.input_tokens", Value: otlp.Whole(u.Input)},
		{Key: "gen_ai.usage.output_tokens", Value: otlp.Whole(u.Output)},
		{Key: "gen_ai.usage.cache_read.input_tokens", Value: otlp.Whole(u.Cached)},
		{Key: "gen_ai.usage.cache_creation.input_tokens", Value: otlp.Whole(u.CacheWrite)},
		{Key: "thinkd.usage.estimated", Value: otlp.Truth(u.Estimated)},
	}
	if u.Reasoning != nil {
		list = append(list, otlp.Attribute{Key: "gen_ai.usage.reasoning.output_tokens", Value: otlp.Whole(*u.Reasoning)})
	}
	return list
}
