package network

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
)

// Config says how clients on the network come in.
type Config struct {
	Log           *slog.Logger  // required
	Authenticator Authenticator // required
	Logins        *Logins       // of browsers, for listeners that only TLS reaches; nil: there is no /login
	Endpoints     []Endpoint

	Port        int      // of the listener
	TLS         bool     // the listener's own
	BehindProxy bool     // a proxy that speaks TLS stands in front: its names are https
	Names       []string // of the listener, besides those of loopback
	Hosts       []string // names, with a port or without, by which clients may call besides
	Origins     []string // of pages that may connect, besides our own: scheme://host[:port]

	// Refused is called with the address of each client that shows a token or a login's cookie that does not let it in; nil: nobody
	// needs to know. It is called by many requests in parallel.
	Refused func(from string)

	Pages map[string]http.Handler // by path; they hold nothing secret and need no principal

	// Ready is why a client that came now would not be served well, in words for the operator; nil: it would. A Ready
	// that is nil is always so. Durability is a word about the store that /readyz shows; nil: there is none. Metrics answers reads of /metrics; nil: there is no such route. Both need a principal.
	Ready      func() error
	Durability func() string
	Metrics    http.Handler
}

// Endpoint is a path at which clients connect with a WebSocket.
type Endpoint struct {
	Path  string
	Limit int // bytes of a message

	// IDHeader is the header of the handshake's answer that names the connection, as a draft of ACP has it; empty: none.
	IDHeader string
	// Cookie says that pages may connect with the cookie of a login.
	Cookie bool

	// Serve is one life of a client. It ends with ctx, which is that of the lease, and closes the frames.
	Serve func(ctx context.Context, l *auth.Lease, f conn.Frames) error
}
