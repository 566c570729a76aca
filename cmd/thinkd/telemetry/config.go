package telemetry

import (
	"log/slog"
	"net/http"
)

// Config is what the daemon knows of itself.
type Config struct {
	Version  string
	Endpoint string              // of the collector, from the config file; empty: the environment names it
	Getenv   func(string) string // for the variables of exporters; the SDK reads the process's environment
	Log      *slog.Logger

	// Vendor is the vendor of a configured provider. ok is false for all other ids.
	Vendor func(provider string) (vendor string, ok bool)
	State  State

	transport http.RoundTripper // of the exporters, in tests; nil: their own
}

// State is the daemon at the moment. Each scrape calls its functions, so only a daemon that is open may serve Handler.
type State struct {
	Running  func() int  // sessions in which a turn runs
	Clients  func() int  // connections
	ReadOnly func() bool // nothing can be stored
}

const (
	scopeName = "github.com/thinkd/thinkd"

	// conventions is the version of the semantic conventions whose words are used: the last release that has those for generative AI.
	conventions = "https://opentelemetry.io/schemas/1.41.0"
)
