package otlp

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// Endpoint is where one signal is sent, and how.
type Endpoint struct {
	URL     string
	Headers map[string]provider.Secret // they carry keys
	JSON    bool                       // otherwise Protocol Buffers
	Gzip    bool
	Timeout time.Duration // of one request; 0: 10 s
}

// Config is what an exporter needs.
type Config struct {
	Endpoint
	Signal       string                          // traces or metrics, for the log
	Version      string                          // of this program, for the collector
	Count        func(outcome string, items int) // counts spans or data points; it must not block
	RoundTripper http.RoundTripper               // nil: the exporter makes its own
	Log          *slog.Logger
}

// The outcomes of a span or a data point.
const (
	Sent        = "sent"
	Refused     = "refused"     // the collector's answer was an error that lasts
	Rejected    = "rejected"    // the collector accepted other items of the same request
	Unreachable = "unreachable" // no answer, or only answers that ask for a retry, until the exporter gave up
)
