package link

import (
	"context"
	"log/slog"
	"time"

	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// Nodes knows the other nodes of the cluster, and where sessions are.
type Nodes interface {
	// Serving returns the node that serves a session of a principal, and the address of its links. here: this node does, or there is no such session.
	// Each call finds it anew, so what it returns is no older than the call. An error is the answer to the request.
	Serving(ctx context.Context, p method.Principal, id session.ID) (n Node, address string, here bool, err error)

	// Present reports whether a run of another node is present.
	Present(n Node) bool
}

// Config is what both ends of links depend on.
type Config struct {
	Nodes    Nodes
	Identity *Identity
	Run      uint64        // the number of this run of the node
	Limit    int           // bytes of a message
	Wait     time.Duration // how long a request waits for a session whose node cannot be reached; 0: not at all
	Log      *slog.Logger
	Now      func() time.Time // by which grants expire: the clock of the wall
}

// look is how often the ends of links look whether the other node is present, its certificate is accepted, and the grant has not expired.
const look = 250 * time.Millisecond
