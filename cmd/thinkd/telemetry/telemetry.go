package telemetry

import (
	"io"
	"net/http"

	"github.com/thinkd/thinkd/agent/report"
	"github.com/thinkd/thinkd/cmd/thinkd/telemetry/scrape"
)

// Telemetry counts what a daemon does. Its methods are safe for concurrent use. Turn, Call and Tool do not block.
type Telemetry struct {
	counts   *counts
	exported *pipeline // nil: nothing is exported
	spans    *spans    // nil like exported
}

// Open starts counting and, if the config or the environment names a collector, exporting. Close stops both. The SDK's own messages
// go to the log of the last one that was opened: the SDK has one place for them in a process.
func Open(c Config) *Telemetry {
	t := &Telemetry{counts: newCounts(c)}
	if s, ok := (environment{c.Endpoint, c.Getenv, c.Log}).settings(); ok {
		t.exported = startPipeline(c, s, t.counts.exported)
		t.spans = newSpans(c, t.exported.tracer(), t.exported.meter())
	}
	return t
}

// Exports reports whether a collector is configured. Without one, Call and Tool have nothing to do and must not be called.
func (t *Telemetry) Exports() bool { return t.exported != nil }

// Turn counts a turn that has ended. It is for agent.Config.Ended.
func (t *Telemetry) Turn(r report.Turn) {
	t.counts.ended(r)
	if t.spans != nil {
		t.spans.turn(r)
	}
}

// Call records a model call that has ended. It is for agent.Config.Called, and only if Exports.
func (t *Telemetry) Call(r report.Call) { t.spans.call(r) }

// Tool records a tool call that has ended. It is for agent.Config.Ran, and only if Exports.
func (t *Telemetry) Tool(r report.Tool) { t.spans.tool(r) }

// Close sends what is queued, for at most two seconds, and stops exporting. Call it when no turn runs any more. Handler still works.
func (t *Telemetry) Close() {
	if t.exported != nil {
		t.exported.close()
	}
}

// maxScrapes is how many scrapes are answered in parallel. Others get 503.
const maxScrapes = 4

// Handler answers scrapes in the text format of Prometheus.
func (t *Telemetry) Handler() http.Handler {
	slots := make(chan struct{}, maxScrapes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			http.Error(w, "others are being answered", http.StatusServiceUnavailable)
			return
		}
		text, err := t.counts.text(r.Context())
		if err != nil {
			http.Error(w, "the metrics cannot be collected", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", scrape.ContentType)
		io.WriteString(w, text) // an error means that the client is gone
	})
}
