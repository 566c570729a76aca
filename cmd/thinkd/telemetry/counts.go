package telemetry

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/thinkd/thinkd/agent/report"
	"github.com/thinkd/thinkd/cmd/thinkd/telemetry/scrape"
)

// counts are the instruments of /metrics, under the names that Prometheus gets. Labels take words of the config and of this program
// only: a client can name any model, and each series stays in memory until the process ends.
//
// They have a provider of their own. It has no goroutine and is never shut down, so a scrape works until the process ends.
type counts struct {
	cfg     Config
	reader  *sdkmetric.ManualReader
	turns   metric.Int64Counter
	calls   metric.Int64Counter
	again   metric.Int64Counter
	tokens  metric.Int64Counter
	seconds metric.Float64Histogram
	items   metric.Int64Counter // what the exporters sent and dropped
}

func newCounts(c Config) *counts {
	reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(scrape.Process(time.Now())))
	m := instruments{sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(resource.Empty()),
		sdkmetric.WithExemplarFilter(exemplar.AlwaysOffFilter)).Meter(scopeName)}
	s := &counts{
		cfg:    c,
		reader: reader,
		turns:  m.counter("thinkd_turns_total", "Turns that have ended."),
		calls:  m.counter("thinkd_model_calls_total", "Model calls that turns needed, without retries."),
		again:  m.counter("thinkd_model_calls_again_total", "Model calls that were repeated, after a repair or a wait."),
		tokens: m.counter("thinkd_tokens_total", "Tokens of turns that have ended. Those of kind cached and cache_write are part of input,"+
			" those of kind reasoning part of output."),
		seconds: m.histogram("thinkd_turn_seconds", "s", "How long turns took.", []float64{0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}),
	}
	m.gauge("thinkd_turns_running", "Sessions in which a turn runs.", func() int { return c.State.Running() })
	m.gauge("thinkd_clients", "Connections of clients.", func() int { return c.State.Clients() })
	m.gauge("thinkd_store_read_only", "1 while nothing can be stored.", func() int {
		if c.State.ReadOnly() {
			return 1
		}
		return 0
	})
	must(m.Int64ObservableGauge("thinkd_build_info", metric.WithDescription("The version of thinkd."), metric.WithInt64Callback(
		func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(1, labels("version", c.Version))
			return nil
		})))
	s.items = m.counter("thinkd_telemetry_items_total", "Spans and data points for the collector of telemetry, by their outcome.")
	return s
}

// instruments makes those of a meter. The SDK refuses an instrument for its name only, which is ours: an error is a fault of this
// program.
type instruments struct{ metric.Meter }

func (m instruments) counter(name, help string) metric.Int64Counter {
	return must(m.Int64Counter(name, metric.WithDescription(help)))
}

func (m instruments) histogram(name, unit, help string, bounds []float64) metric.Float64Histogram {
	return must(m.Float64Histogram(name, metric.WithUnit(unit), metric.WithDescription(help), metric.WithExplicitBucketBoundaries(bounds...)))
}

// gauge calls read for each scrape.
func (m instruments) gauge(name, help string, read func() int) {
	must(m.Int64ObservableGauge(name, metric.WithDescription(help), metric.WithInt64Callback(
		func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(int64(read()))
			return nil
		})))
}

func must[I any](instrument I, err error) I {
	if err != nil {
		panic(err)
	}
	return instrument
}

// labels are pairs of a name and a value.
func labels(pairs ...string) metric.MeasurementOption {
	list := make([]attribute.KeyValue, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, attribute.String(pairs[i], pairs[i+1]))
	}
	return metric.WithAttributeSet(attribute.NewSet(list...))
}

// text is the answer to a scrape.
func (m *counts) text(ctx context.Context) (string, error) {
	var all metricdata.ResourceMetrics
	if err := m.reader.Collect(ctx, &all); err != nil {
		return "", fmt.Errorf("collect metrics: %w", err)
	}
	return scrape.Text(all.ScopeMetrics), nil
}

// exported counts the spans or data points that became of a signal.
func (m *counts) exported(signal, outcome string, items int) {
	m.items.Add(context.Background(), int64(items), labels("outcome", outcome, "signal", signal))
}

// ended counts a turn.
func (m *counts) ended(r report.Turn) {
	id := r.Model.Provider
	if _, known := m.cfg.Vendor(id); !known {
		id = "unknown"
	}
	kind := ""
	if r.End.Error != nil {
		kind = r.End.Error.Kind
	}
	ctx, provider := context.Background(), labels("provider", id)
	m.turns.Add(ctx, 1, labels("effort", string(r.Reasoning.Effective), "error", kind, "provider", id, "stop_reason", string(r.End.StopReason)))
	m.calls.Add(ctx, int64(r.Calls), provider)
	m.again.Add(ctx, int64(r.Again), provider)
	m.seconds.Record(ctx, float64(r.End.DurationMS)/1000, provider)
	used := map[string]int{"input": r.End.Usage.Input, "output": r.End.Usage.Output, "cached": r.End.Usage.Cached, "cache_write": r.End.Usage.CacheWrite}
	if n := r.End.Usage.Reasoning; n != nil {
		used["reasoning"] = *n
	}
	for kind, n := range used {
		m.tokens.Add(ctx, int64(max(n, 0)), labels("kind", kind, "provider", id))
	}
}
