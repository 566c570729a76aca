// Package otlp sends spans and metrics to a collector of OpenTelemetry, as OTLP in JSON over HTTP (opentelemetry.io:
// "OTLP Specification").
//
// A Span is told when it is over, with its times; an Exporter takes it in without waiting and sends it with others.
// Metrics are what histograms have counted: an Exporter sends all of it now and then, counts from its start on, so a
// collector that missed one misses nothing.
//
// A collector that is down, slow, or refuses, hurts nobody: what waits is bounded, what does not fit or is not taken is
// dropped and counted, and the log has one line when that begins and one when it is over. Nothing that a collector says
// is trusted: its answers are read up to a bound, its redirects are not followed.
//
// The official exporters do the same and more, and cost 8 MB of program, most of it gRPC, for everybody who does not use
// them; docs/reliability.md has the figures.
package otlp

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/telemetry/meter"
	"github.com/thinkd/thinkd/provider"
)

// Config is what an Exporter sends, and where.
type Config struct {
	Traces, Metrics Endpoint // without a URL: not sent

	Resource     []Attribute // whose they are
	Scope        Scope
	Histograms   []*meter.Histogram // the metrics; names and labels are sent as they are
	Interval     time.Duration      // between metrics, default 60 s
	Delay        time.Duration      // for which a span waits for others, default 5 s
	Items        *meter.Counter     // see NewItems
	RoundTripper http.RoundTripper  // nil: of its own
	Log          *slog.Logger
}

// Endpoint is where one signal is sent.
type Endpoint struct {
	URL     string
	Headers map[string]provider.Secret // they carry keys
	Gzip    bool
	Timeout time.Duration // of one request, default 10 s
}

// Scope says what made the spans and metrics, and by which conventions.
type Scope struct {
	Name, Version, SchemaURL string
}

// NewItems is for Config.Items, which counts spans and data points: signal is traces or metrics.
func NewItems(name string) *meter.Counter {
	return meter.NewCounter(name, "Spans and data points for the collector of telemetry, by what became of them.", "outcome", "signal")
}

// What became of a span or a data point.
const (
	Sent        = "sent"
	QueueFull   = "queue_full"  // too many waited
	Refused     = "refused"     // the collector's answer was an error that lasts
	Rejected    = "rejected"    // it took the others of the same request
	Unreachable = "unreachable" // no answer, or one to try again, until it was given up
)

const (
	maxQueue = 2048 // spans that wait: about 4 MiB at most
	maxBatch = 512  // spans in a request
)

// Exporter sends until it is closed. Its methods are safe for concurrent use.
type Exporter struct {
	cfg     Config
	client  *http.Client
	spans   chan Span
	closing chan struct{} // closed: what waits is sent, and nothing is tried again
	close   sync.Once

	ctx     context.Context // of all requests
	stop    context.CancelFunc
	running sync.WaitGroup
}

// Start begins to send; Close ends it, and waits.
func Start(cfg Config) *Exporter {
	if cfg.Interval <= 0 {
		cfg.Interval = time.Minute
	}
	if cfg.Delay <= 0 {
		cfg.Delay = 5 * time.Second
	}
	e := &Exporter{cfg: cfg, spans: make(chan Span, maxQueue), closing: make(chan struct{}), client: newClient(cfg.RoundTripper)}
	e.ctx, e.stop = context.WithCancel(context.Background())
	if cfg.Traces.URL != "" {
		e.running.Go(e.sendSpans)
	}
	if cfg.Metrics.URL != "" {
		e.running.Go(e.sendMetrics)
	}
	return e
}

// Span takes in a span that is over. It never waits; where there is no room the span is dropped.
func (e *Exporter) Span(s Span) {
	if e.cfg.Traces.URL == "" {
		return
	}
	select {
	case e.spans <- s:
	default:
		e.count("traces", QueueFull, 1)
	}
}

// Close sends what waits, once, and ends. When ctx is over, what is left is dropped. Spans that are told from then on
// may be lost.
func (e *Exporter) Close(ctx context.Context) {
	e.close.Do(func() { close(e.closing) })
	late := context.AfterFunc(ctx, e.stop)
	defer late()
	e.running.Wait()
	e.stop()
	e.client.CloseIdleConnections()
}

// sendSpans sends them by and by. It ends when the exporter is closed and nothing waits.
func (e *Exporter) sendSpans() {
	line := line{Exporter: e, signal: "traces", to: e.cfg.Traces}
	for {
		batch, last := e.gather()
		if len(batch) > 0 {
			line.deliver(e.encodeSpans(batch), len(batch))
		}
		if last {
			return
		}
	}
}

// gather waits for a span, and for those that come soon after it. last: no more will come.
func (e *Exporter) gather() (batch []Span, last bool) {
	var soon <-chan time.Time
	for len(batch) < maxBatch {
		select {
		case s := <-e.spans:
			if batch = append(batch, s); soon == nil {
				soon = time.After(e.cfg.Delay)
			}
		case <-soon:
			return batch, false
		case <-e.closing:
			for len(batch) < maxBatch {
				select {
				case s := <-e.spans:
					batch = append(batch, s)
				default:
					return batch, true
				}
			}
		}
	}
	return batch, false
}

// sendMetrics sends them at each interval, and at the end.
func (e *Exporter) sendMetrics() {
	line := line{Exporter: e, signal: "metrics", to: e.cfg.Metrics}
	tick := time.NewTicker(e.cfg.Interval)
	defer tick.Stop()
	for last := false; !last; {
		select {
		case <-tick.C:
		case <-e.closing:
			last = true
		}
		if body, points := e.encodeMetrics(time.Now()); points > 0 {
			line.deliver(body, points)
		}
	}
}

func (e *Exporter) count(signal, outcome string, items int) {
	if items > 0 {
		e.cfg.Items.Add(float64(items), outcome, signal)
	}
}
