package otlp

import (
	"context"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// SpanExporter is an exporter for the span processors of the SDK. All its spans have to come from one tracer.
type SpanExporter struct{ *sender }

var _ sdktrace.SpanExporter = (*SpanExporter)(nil)

// NewSpanExporter makes an exporter. Shutdown releases it.
func NewSpanExporter(c Config) *SpanExporter { return &SpanExporter{newSender(c)} }

// ExportSpans sends the spans in one request, and retries it until ctx is done. It reports failures by Count and in the log, never as
// an error. The SDK calls it from one goroutine.
func (e *SpanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) > 0 {
		e.deliver(ctx, encodeSpans(spans), len(spans))
	}
	return nil
}

// MetricExporter is an exporter for a PeriodicReader of the SDK. It knows histograms only, the one kind that thinkd exports.
type MetricExporter struct{ *sender }

var _ sdkmetric.Exporter = (*MetricExporter)(nil)

// NewMetricExporter makes an exporter. Shutdown releases it.
func NewMetricExporter(c Config) *MetricExporter { return &MetricExporter{newSender(c)} }

// Temporality is cumulative: a collector that missed a request misses nothing.
func (e *MetricExporter) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.CumulativeTemporalitySelector(k)
}

// Aggregation is the SDK's default.
func (e *MetricExporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

// Export sends all data points in one request; without data points it sends nothing. It reports failures of the collector by
// Count and in the log. Its only error is a metric that is no histogram.
func (e *MetricExporter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	message, points, err := encodeMetrics(rm)
	if points > 0 {
		e.deliver(ctx, message, points)
	}
	return err
}

// ForceFlush does nothing: Export returns after the request.
func (e *MetricExporter) ForceFlush(context.Context) error { return nil }
