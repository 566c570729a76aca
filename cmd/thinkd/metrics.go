package main

import (
	"io"
	"net/http"
	"time"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/cmd/thinkd/meter"
	"github.com/thinkd/thinkd/cmd/thinkd/otlp"
)

// metrics counts what the daemon does, in the words of Prometheus. Labels have words of the config and of this program
// alone: a client can name any model, and each label that it could make up would cost memory for good.
type metrics struct {
	daemon  *daemon
	begun   time.Time
	turns   *meter.Counter
	calls   *meter.Counter
	again   *meter.Counter
	tokens  *meter.Counter
	seconds *meter.Histogram
	items   *meter.Counter // what was sent to a collector of telemetry, and what was not; nil: nobody asked for it
}

// newMetrics counts for a daemon that may not be open yet. What it is at the moment is looked up with each scrape, and
// only a listener of an open daemon is scraped.
func newMetrics(d *daemon) *metrics {
	return &metrics{
		daemon: d,
		begun:  time.Now(),
		turns:  meter.NewCounter("thinkd_turns_total", "Turns that are over.", "effort", "error", "provider", "stop_reason"),
		calls:  meter.NewCounter("thinkd_model_calls_total", "Model calls that turns needed, retries not counted.", "provider"),
		again:  meter.NewCounter("thinkd_model_calls_again_total", "Model calls made once more, after a repair or a wait.", "provider"),
		tokens: meter.NewCounter("thinkd_tokens_total", "Tokens of turns that are over. Those of kind cached and cache_write are part of input,"+
			" those of kind reasoning part of output.", "kind", "provider"),
		seconds: meter.NewHistogram("thinkd_turn_seconds", "s", "How long turns took.",
			[]float64{0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}, "provider"),
	}
}

// exported adds a count of what was sent to a collector, and of what was not.
func (m *metrics) exported() *meter.Counter {
	m.items = otlp.NewItems("thinkd_telemetry_items_total")
	return m.items
}

// text is what a scrape is answered with.
func (m *metrics) text() string {
	gauge := func(name, help string, read func() float64) meter.Metric {
		return meter.Gauge{Name: "thinkd_" + name, Help: help, Read: read}
	}
	list := []meter.Metric{m.turns, m.calls, m.again, m.tokens, m.seconds,
		gauge("turns_running", "Sessions in which a turn runs.", func() float64 { return float64(m.daemon.agents.Running()) }),
		gauge("clients", "Connections that are served.", func() float64 { return float64(m.daemon.server.Clients()) }),
		gauge("store_read_only", "1 while nothing can be stored.", func() float64 {
			if m.daemon.readOnly.Load() {
				return 1
			}
			return 0
		})}
	if m.items != nil {
		list = append(list, m.items)
	}
	return meter.Text(list...) + meter.Runtime() + meter.Process(m.begun)
}

// scrapes is how many are answered at a time; more are told to come later.
const scrapes = 4

// handler answers scrapes.
func (m *metrics) handler() http.Handler {
	room := make(chan struct{}, scrapes)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case room <- struct{}{}:
			defer func() { <-room }()
		default:
			http.Error(w, "others are being answered", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", meter.ContentType)
		io.WriteString(w, m.text()) // who does not read it has gone
	})
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
	m.turns.Add(1, string(r.Reasoning.Effective), kind, id, r.End.StopReason)
	m.calls.Add(float64(r.Calls), id)
	m.again.Add(float64(r.Again), id)
	m.seconds.Observe(float64(r.End.DurationMS)/1000, id)
	for kind, n := range map[string]int{"input": r.End.Usage.Input, "output": r.End.Usage.Output, "cached": r.End.Usage.Cached,
		"cache_write": r.End.Usage.CacheWrite} {
		m.tokens.Add(float64(max(n, 0)), kind, id)
	}
	if n := r.End.Usage.Reasoning; n != nil {
		m.tokens.Add(float64(max(*n, 0)), "reasoning", id)
	}
}
