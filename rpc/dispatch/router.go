package dispatch

import (
	"context"
	"encoding/json"

	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// Router decides where the requests about sessions are answered: by this daemon, or by another node of a cluster.
type Router interface {
	// Routes returns the routes of a connection that begins to be served.
	Routes(c Routed) Routes
}

// Routed is a client, as its routes know it.
type Routed interface {
	Now() method.Principal
	Grant() auth.Grant
	Dialect() string
	Context() context.Context
	End(cause error)
	Notify(ctx context.Context, message []byte) error
}

// Routes are those of one connection. They keep what another node must know of the client: its initialize, and its grant. The methods are
// called on the reading goroutine of the connection, except Renewed and Close.
type Routes interface {
	// Route returns the node that answers a request about a session; nil: this daemon does. Any error is the answer to the request.
	// It is called for each request that names a session, when the right to call the method has been checked and before the
	// params are decoded. The id may be that of no session. Route waits for a store, and some seconds for a session whose node has just died. Other
	// requests of the client and its updates wait meanwhile.
	Route(ctx context.Context, method string, id session.ID) (Remote, error)

	// Greeted takes the params of the client's initialize, which are valid until it returns.
	Greeted(params json.RawMessage)

	// Response takes a client's response to a request that this daemon has not sent. It is valid until Response returns.
	Response(frame []byte)

	// Renewed takes the client's new grant. It is called on any goroutine.
	Renewed(g auth.Grant)

	// Close is called when the connection has ended. When it returns, nothing of the routes is left running.
	Close()
}

// Remote is another node, as one client uses it.
type Remote interface {
	// Forward has the node answer a client's call about a session, by [conn.Call.Pass]. If the node does not, fail answers. The call's params are
	// valid until Forward returns. An error is the answer too.
	Forward(call *conn.Call, id session.ID, fail method.Reply) error
}
