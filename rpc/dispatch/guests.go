package dispatch

import (
	"context"
	"sync"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/session"
)

// guest is a connection of a user.
type guest struct {
	owner  session.Owner
	conn   *conn.Conn
	revoke func(session.ID) // see [Client.Revoke]
	gone   chan struct{}    // closed when nothing of the connection runs any more
}

// guests are the connections of users, so that those of one user can be ended. Connections of the operator are not among them. The
// zero value has none.
type guests struct {
	mu     sync.Mutex
	here   map[*guest]bool
	barred map[session.Owner]int // how many times
}

// enter is called before a connection is served, and leave when it is over. ok is false if the owner is barred.
func (g *guests) enter(o session.Owner, c *conn.Conn, revoke func(session.ID)) (leave func(), ok bool) {
	if o == session.Operator {
		return func() {}, true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.barred[o] > 0 {
		return nil, false
	}
	if g.here == nil {
		g.here = make(map[*guest]bool)
	}
	one := &guest{o, c, revoke, make(chan struct{})}
	g.here[one] = true
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.here, one)
		close(one.gone)
	}, true
}

// unshare ends what the connections of an owner follow of a session of somebody else.
func (g *guests) unshare(o session.Owner, id session.ID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for one := range g.here {
		if one.owner == o {
			one.revoke(id)
		}
	}
}

// expel ends the connections of an owner and waits for them. Others are not let in until readmit.
func (g *guests) expel(ctx context.Context, o session.Owner) (readmit func(), err error) {
	g.mu.Lock()
	if g.barred == nil {
		g.barred = make(map[session.Owner]int)
	}
	g.barred[o]++
	var leaving []chan struct{}
	for one := range g.here {
		if one.owner == o {
			one.conn.End(conn.ErrRevoked)
			leaving = append(leaving, one.gone)
		}
	}
	g.mu.Unlock()
	readmit = sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.barred[o]--; g.barred[o] == 0 {
			delete(g.barred, o)
		}
	})
	for _, gone := range leaving {
		select {
		case <-gone:
		case <-ctx.Done():
			return readmit, context.Cause(ctx)
		}
	}
	return readmit, nil
}
