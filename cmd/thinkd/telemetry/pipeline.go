package telemetry

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/oklog/ulid/v2"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/thinkd/thinkd/cmd/thinkd/telemetry/otlp"
)

const (
	flushTime    = 2 * time.Second
	maxAttribute = 256          // characters, unless the environment sets another limit; some are a vendor's or a model's
	queueFull    = "queue_full" // the outcome of a span for which the queue had no room
)

// pipeline is what a span and a data point go through on their way to the collector:
//
//	tracer ─► queue ─► the SDK's batches ─► otlp.SpanExporter   ─► collector
//	meter  ─► the SDK's periodic reader  ─► otlp.MetricExporter ─► collector
//
// The queue bounds memory while the collector is slow, and counts what it drops. Batches and the reader have a goroutine each.
// Only these wait for the collector. close ends them.
type pipeline struct {
	version string
	spans   *sdktrace.TracerProvider    // nil: not exported
	metrics *sdkmetric.MeterProvider    // nil: not exported
	ends    []func(ctx context.Context) // End of each exporter
}

// startPipeline starts exporting. count counts items of a signal by their outcome.
func startPipeline(c Config, s settings, count func(signal, outcome string, items int)) *pipeline {
	otel.SetLogger(logr.FromSlogHandler(sdkLog{c.Log.Handler()}))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		switch {
		case errors.Is(err, resource.ErrPartialResource): // newResource logs it without quoting the variable
		case errors.Is(err, context.Canceled): // close interrupted a collection
		default:
			c.Log.Warn("OpenTelemetry", "err", err)
		}
	}))
	p := &pipeline{version: c.Version}
	whose := newResource(c.Version, c.Log)
	config := func(signal string, e otlp.Endpoint) otlp.Config {
		return otlp.Config{Endpoint: e, Signal: signal, Version: c.Version, RoundTripper: c.transport, Log: c.Log,
			Count: func(outcome string, items int) { count(signal, outcome, items) }}
	}
	if s.Traces.URL != "" {
		exporter := otlp.NewSpanExporter(config("traces", s.Traces))
		limits := sdktrace.NewSpanLimits()
		if limits.AttributeValueLengthLimit < 0 {
			limits.AttributeValueLengthLimit = maxAttribute
		}
		q := newQueue(exporter, s.Queue, func() { count("traces", queueFull, 1) })
		p.spans = sdktrace.NewTracerProvider(sdktrace.WithResource(whose), sdktrace.WithIDGenerator(ids{}),
			sdktrace.WithRawSpanLimits(limits), sdktrace.WithSpanProcessor(q))
		p.ends = append(p.ends, exporter.End)
	}
	if s.Metrics.URL != "" {
		exporter := otlp.NewMetricExporter(config("metrics", s.Metrics))
		p.metrics = sdkmetric.NewMeterProvider(sdkmetric.WithResource(whose), sdkmetric.WithExemplarFilter(exemplar.AlwaysOffFilter),
			sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)))
		p.ends = append(p.ends, exporter.End)
	}
	return p
}

// sdkLog takes the SDK's warnings and errors. The SDK's warnings have the level -1, because package logr counts down from 0; what
// is below describes the SDK.
type sdkLog struct{ slog.Handler }

func (h sdkLog) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= -1 && h.Handler.Enabled(ctx, max(l, slog.LevelWarn))
}

func (h sdkLog) Handle(ctx context.Context, r slog.Record) error {
	r.Level = max(r.Level, slog.LevelWarn)
	return h.Handler.Handle(ctx, r)
}

func (p *pipeline) tracer() trace.Tracer {
	if p.spans == nil {
		return tracenoop.NewTracerProvider().Tracer(scopeName)
	}
	return p.spans.Tracer(scopeName, trace.WithInstrumentationVersion(p.version), trace.WithSchemaURL(conventions))
}

func (p *pipeline) meter() metric.Meter {
	if p.metrics == nil {
		return metricnoop.NewMeterProvider().Meter(scopeName)
	}
	return p.metrics.Meter(scopeName, metric.WithInstrumentationVersion(p.version), metric.WithSchemaURL(conventions))
}

// close sends what is queued, both signals in parallel, and ends all goroutines. After flushTime it drops the rest.
func (p *pipeline) close() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	for _, end := range p.ends {
		end(ctx)
	}
	// The exporters end by themselves when ctx is done. With ctx, the SDK would return while its goroutines still run.
	var stopping sync.WaitGroup
	if p.spans != nil {
		stopping.Go(func() { p.spans.Shutdown(context.Background()) })
	}
	if p.metrics != nil {
		stopping.Go(func() { p.metrics.Shutdown(context.Background()) })
	}
	stopping.Wait()
}

// newResource says which program sends. OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME take precedence.
func newResource(version string, log *slog.Logger) *resource.Resource {
	r, err := resource.New(context.Background(), resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "thinkd"), attribute.String("service.version", version),
		attribute.String("service.instance.id", ulid.Make().String())), resource.WithFromEnv())
	if err != nil { // r is what could be read
		log.Warn("OpenTelemetry: a variable is ignored", "name", "OTEL_RESOURCE_ATTRIBUTES", "because", errPairs)
	}
	return r
}

// ids makes the ids of traces and spans. The trace of a turn has the turn's own id, so that a person who has one finds the other. Below
// its time a ULID is random, as samplers require of the id of a trace.
type ids struct{}

type turnKey struct{}

// withTurn is a context for the spans of a turn.
func withTurn(ctx context.Context, turn ulid.ULID) context.Context {
	return context.WithValue(ctx, turnKey{}, turn)
}

// NewIDs implements sdktrace.IDGenerator.
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if turn, ok := ctx.Value(turnKey{}).(ulid.ULID); ok {
		return trace.TraceID(turn), trace.SpanID(turn[8:])
	}
	id := trace.TraceID(ulid.Make())
	return id, ids{}.NewSpanID(ctx, id)
}

// NewSpanID implements sdktrace.IDGenerator.
func (ids) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	rand.Read(id[:]) // it never fails
	return id
}

// queue bounds the spans that wait for an exporter. The SDK's batches have a bound of the same size, but drop spans without a word:
// this one refuses a span before the SDK has to. It is a span processor for the provider, and an exporter for the batches.
type queue struct {
	sdktrace.SpanProcessor // the batches
	exporter               sdktrace.SpanExporter
	room                   int64
	waiting                atomic.Int64 // spans that the batches have and the exporter has not
	dropped                func()
}

func newQueue(e sdktrace.SpanExporter, room int, dropped func()) *queue {
	q := &queue{exporter: e, room: int64(room), dropped: dropped}
	q.SpanProcessor = sdktrace.NewBatchSpanProcessor(unqueued{q}, sdktrace.WithMaxQueueSize(room))
	return q
}

// OnEnd takes a span without waiting.
func (q *queue) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if q.waiting.Add(1) > q.room {
		q.waiting.Add(-1)
		q.dropped()
		return
	}
	q.SpanProcessor.OnEnd(s)
}

// unqueued is the exporter of the batches of a queue.
type unqueued struct{ of *queue }

func (u unqueued) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	u.of.waiting.Add(-int64(len(spans)))
	return u.of.exporter.ExportSpans(ctx, spans)
}

func (u unqueued) Shutdown(ctx context.Context) error { return u.of.exporter.Shutdown(ctx) }
