package dispatch

import (
	"context"

	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// Router says whether a request about a session is answered here. It is asked before each method that names a session, when the
// right to call the method has been checked and before the params are decoded. The id may be that of no session.
//
// Route returns nil for a session that this daemon serves. Any other error is the answer to the request. Calls come from all
// connections in parallel, on their reading goroutines, so Route must not wait.
//
// A router cannot send a request on to another daemon. That takes more than a name of one: the request's frame, which a
// conn.Call does not keep, and a way for the other daemon's answers and updates into this connection's queue.
type Router interface {
	Route(ctx context.Context, p method.Principal, method string, id session.ID) error
}

// localRouter is the router of a daemon that serves all sessions itself.
type localRouter struct{}

func (localRouter) Route(context.Context, method.Principal, string, session.ID) error { return nil }
