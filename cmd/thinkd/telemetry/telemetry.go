package telemetry

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/cmd/thinkd/telemetry/meter"
)

// Config is what the daemon knows of itself.
type Config struct {
	Version  string
	Endpoint string // of the collector, from the config file; empty: the environment names it
	Getenv   func(string) string
	Log      *slog.Logger

	// Vendor is the vendor of a configured provider. ok is false for all other ids.
	Vendor func(provider string) (vendor string, ok bool)
	State  State
}

// State is the daemon at the moment. Each scrape calls its functions, so only a daemon that is open may serve Handler.
type State struct {
	Running  func() int  // sessions in which a turn runs
	Clients  func() int  // connections
	ReadOnly func() bool // nothing can be stored
}

// Telemetry counts what a daemon does. Its methods are safe for concurrent use, and none of Turn, Call and Tool waits.
type Telemetry struct {
	counts *counts
	spans  *spans // nil: nothing is exported
}

// Open starts counting and, if the config or the environment names a collector, exporting. Close stops both.
func Open(c Config) *Telemetry {
	t := &Telemetry{counts: newCounts(c)}
	if settings, ok := (otelSettings{c.Endpoint, c.Getenv, c.Version, c.Log}).config(); ok {
		t.spans = startSpans(c, settings, t.counts.exported())
	}
	return t
}

// Exports reports whether a collector is configured. Without one, Call and Tool have nothing to do and need not be called.
func (t *Telemetry) Exports() bool { return t.spans != nil }

// Turn counts a turn that has ended. It is for agent.Config.Ended.
func (t *Telemetry) Turn(r agent.Report) {
	t.counts.ended(r)
	if t.spans != nil {
		t.spans.turn(r)
	}
}

// Call records a model call that has ended. It is for agent.Config.Called, and only if Exports.
func (t *Telemetry) Call(r agent.CallReport) { t.spans.call(r) }

// Tool records a tool call that has ended. It is for agent.Config.Ran, and only if Exports.
func (t *Telemetry) Tool(r agent.ToolReport) { t.spans.tool(r) }

// flushTime is how long Close waits for a collector.
const flushTime = 2 * time.Second

// Close sends what is queued, for at most two seconds, and stops exporting. Call it once nothing runs any more.
func (t *Telemetry) Close() {
	if t.spans == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	t.spans.exporter.Close(ctx)
}

// maxScrapes is how many scrapes are answered in parallel. Others get 503.
const maxScrapes = 4

// Handler answers scrapes in the text format of Prometheus.
func (t *Telemetry) Handler() http.Handler {
	slots := make(chan struct{}, maxScrapes)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			http.Error(w, "others are being answered", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", meter.ContentType)
		io.WriteString(w, t.counts.text()) // an error means that the client is gone
	})
}
