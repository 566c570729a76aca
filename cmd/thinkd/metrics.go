package main

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/cmd/thinkd/otlp"
)

// metrics counts what the daemon does, in the words of Prometheus. Labels have words of the config and of this program
// alone: a client can name any model, and each label that it could make up would cost memory for good.
type metrics struct {
	daemon   *daemon
	registry *prometheus.Registry
	turns    *prometheus.CounterVec
	calls    *prometheus.CounterVec
	again    *prometheus.CounterVec
	tokens   *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// newMetrics counts for a daemon that may not be open yet. What it is at the moment is looked up with each scrape, and
// only a listener of an open daemon is scraped.
func newMetrics(d *daemon) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "thinkd_" + name, Help: help}, labels)
	}
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "thinkd_" + name, Help: help}, value)
	}
	m := &metrics{
		daemon:   d,
		registry: prometheus.NewRegistry(),
		turns:    counter("turns_total", "Turns that are over.", "provider", "stop_reason", "error", "effort"),
		calls:    counter("model_calls_total", "Model calls that turns needed, retries not counted.", "provider"),
		again:    counter("model_calls_again_total", "Model calls made once more, after a repair or a wait.", "provider"),
		tokens: counter("tokens_total", "Tokens of turns that are over. Those of kind cached and cache_write are part of input,"+
			" those of kind reasoning part of output.", "provider", "kind"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "thinkd_turn_seconds", Help: "How long turns took.",
			Buckets: []float64{0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}}, []string{"provider"}),
	}
	m.registry.MustRegister(m.turns, m.calls, m.again, m.tokens, m.seconds,
		gauge("turns_running", "Sessions in which a turn runs.", func() float64 { return float64(d.agents.Running()) }),
		gauge("clients", "Connections that are served.", func() float64 { return float64(d.server.Clients()) }),
		gauge("store_read_only", "1 while nothing can be stored.", func() float64 {
			if d.readOnly.Load() {
				return 1
			}
			return 0
		}),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// exported adds a count of what was sent to a collector, and of what was not.
func (m *metrics) exported() *prometheus.CounterVec {
	items := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "thinkd_telemetry_items_total",
		Help: "Spans and data points for the collector of telemetry, by what became of them."}, []string{otlp.LabelSignal, otlp.LabelOutcome})
	m.registry.MustRegister(items)
	return items
}

// handler answers scrapes.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{DisableCompression: true, MaxRequestsInFlight: 4, Timeout: 5 * time.Second})
}

// ended counts a turn.
func (m *metrics) ended(r agent.Report) {
	id := r.Model.Provider
	if m.daemon.providers.find(id) == nil {
		id = "unknown"
	}
	kind := ""
	if r.End.Error != nil {
		kind = r.End.Error.Kind
	}
	m.turns.WithLabelValues(id, r.End.StopReason, kind, string(r.Reasoning.Effective)).Inc()
	m.calls.WithLabelValues(id).Add(float64(r.Calls))
	m.again.WithLabelValues(id).Add(float64(r.Again))
	m.seconds.WithLabelValues(id).Observe(float64(r.End.DurationMS) / 1000)
	for kind, n := range map[string]int{"input": r.End.Usage.Input, "output": r.End.Usage.Output, "cached": r.End.Usage.Cached,
		"cache_write": r.End.Usage.CacheWrite} {
		m.tokens.WithLabelValues(id, kind).Add(float64(max(n, 0)))
	}
	if n := r.End.Usage.Reasoning; n != nil {
		m.tokens.WithLabelValues(id, "reasoning").Add(float64(max(*n, 0)))
	}
}
