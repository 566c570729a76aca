package telemetry

import (
	"time"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/cmd/thinkd/telemetry/meter"
	"github.com/thinkd/thinkd/cmd/thinkd/telemetry/otlp"
)

// counts are what the daemon does, in the format of Prometheus. Labels take words of the config and of this program only: a
// client can name any model, and each series stays in memory until the process ends.
type counts struct {
	cfg     Config
	begun   time.Time
	turns   *meter.Counter
	calls   *meter.Counter
	again   *meter.Counter
	tokens  *meter.Counter
	seconds *meter.Histogram
	items   *meter.Counter // what the exporter sent and dropped; nil: nothing is exported
}

func newCounts(c Config) *counts {
	return &counts{
		cfg:   c,
		begun: time.Now(),
		turns: meter.NewCounter("thinkd_turns_total", "Turns that are over.", "effort", "error", "provider", "stop_reason"),
		calls: meter.NewCounter("thinkd_model_calls_total", "Model calls that turns needed, retries not counted.", "provider"),
		again: meter.NewCounter("thinkd_model_calls_again_total", "Model calls made once more, after a repair or a wait.", "provider"),
		tokens: meter.NewCounter("thinkd_tokens_total", "Tokens of turns that are over. Those of kind cached and cache_write are part of input,"+
			" those of kind reasoning part of output.", "kind", "provider"),
		seconds: meter.NewHistogram("thinkd_turn_seconds", "s", "How long turns took.",
			[]float64{0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}, "provider"),
	}
}

// exported adds a count of what was sent to a collector, and of what was dropped.
func (m *counts) exported() *meter.Counter {
	m.items = otlp.NewItems("thinkd_telemetry_items_total")
	return m.items
}

// text is the answer to a scrape.
func (m *counts) text() string {
	gauge := func(name, help string, read func() float64) meter.Metric {
		return meter.Gauge{Name: "thinkd_" + name, Help: help, Read: read}
	}
	list := []meter.Metric{m.turns, m.calls, m.again, m.tokens, m.seconds,
		gauge("turns_running", "Sessions in which a turn runs.", func() float64 { return float64(m.cfg.State.Running()) }),
		gauge("clients", "Connections that are served.", func() float64 { return float64(m.cfg.State.Clients()) }),
		gauge("store_read_only", "1 while nothing can be stored.", func() float64 {
			if m.cfg.State.ReadOnly() {
				return 1
			}
			return 0
		})}
	if m.items != nil {
		list = append(list, m.items)
	}
	return meter.Text(list...) + meter.Runtime() + meter.Process(m.begun)
}

// ended counts a turn.
func (m *counts) ended(r agent.Report) {
	id := r.Model.Provider
	if _, known := m.cfg.Vendor(id); !known {
		id = "unknown"
	}
	kind := ""
	if r.End.Error != nil {
		kind = r.End.Error.Kind
	}
	m.turns.Add(1, string(r.Reasoning.Effective), kind, id, string(r.End.StopReason))
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
