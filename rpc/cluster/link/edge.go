package link

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/dispatch"
	"github.com/thinkd/thinkd/session"
)

// Edge serves clients of this node whose sessions other nodes have. It is a [dispatch.Router].
type Edge struct {
	config Config

	ctx     context.Context
	stop    context.CancelCauseFunc
	running sync.WaitGroup

	mu      sync.Mutex
	remotes map[*remote]struct{}
}

// NewEdge makes an edge. Its owner calls Close.
func NewEdge(c Config) *Edge {
	e := &Edge{config: c, remotes: make(map[*remote]struct{})}
	e.ctx, e.stop = context.WithCancelCause(context.Background())
	e.running.Go(e.watch) // ends with ctx
	return e
}

// Close ends all links. The connections of clients have ended before.
func (e *Edge) Close() {
	e.stop(conn.ErrClosing)
	e.running.Wait()
}

// watch ends the links to nodes that are gone.
func (e *Edge) watch() {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-e.ctx.Done():
			return
		}
		e.mu.Lock()
		for m := range e.remotes {
			if err := m.doomed(); err != nil {
				m.end(err)
			}
		}
		e.mu.Unlock()
	}
}

// Routes is that of [dispatch.Router].
func (e *Edge) Routes(c dispatch.Routed) dispatch.Routes {
	return &routes{edge: e, client: c}
}

// routes are those of one client.
type routes struct {
	edge    *Edge
	client  dispatch.Routed
	running sync.WaitGroup // remotes

	mu      sync.Mutex
	greeted []byte // the client's initialize; nil: it has not called it
	remotes map[Node]*remote
}

// WaitTime is for [Config.Wait]. A node that was killed counts as present for 5 s, and then another one claims its sessions.
const WaitTime = 10 * time.Second

// movePause is how long Route waits before it asks again where a session is.
const movePause = 200 * time.Millisecond

// Route is that of [dispatch.Routes]. A session that the client follows over a link is asked for there: the node has the session as long as the
// client follows it. While the node that has the session cannot be reached, Route asks again where it is: nothing was sent there, and the client could
// only do the same.
func (r *routes) Route(ctx context.Context, _ string, id session.ID) (dispatch.Remote, error) {
	for _, m := range r.all() {
		if m.following(id) {
			return m, nil
		}
	}
	late := time.NewTimer(r.edge.config.Wait)
	defer late.Stop()
	for {
		n, address, here, err := r.edge.config.Nodes.Serving(ctx, r.client.Now(), id)
		if here && err == nil {
			return nil, nil
		}
		_, moving := errors.AsType[*session.ElsewhereError](err)
		var m *remote
		if err == nil {
			m = r.remote(n, address)
			moving = m.unreachable(ctx)
		}
		if !moving {
			return remoteOf(m), err
		}
		select {
		case <-time.After(movePause):
		case <-late.C:
			return remoteOf(m), err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-r.edge.ctx.Done():
			return nil, conn.ErrClosing
		}
	}
}

// remoteOf keeps a missing remote from being an interface that is not nil.
func remoteOf(m *remote) dispatch.Remote {
	if m == nil {
		return nil
	}
	return m
}

// remote is the link to a node. It is opened if there is none.
func (r *routes) remote(n Node, address string) *remote {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.remotes[n]
	if m != nil {
		return m
	}
	m = newRemote(&r.edge.config, r.client, n, address)
	if r.greeted != nil {
		_ = m.out.Put(m.ctx, conn.Answer, r.greeted) // the queue is empty
	}
	if r.remotes == nil {
		r.remotes = make(map[Node]*remote)
	}
	r.remotes[n] = m
	r.edge.mu.Lock()
	r.edge.remotes[m] = struct{}{}
	r.edge.mu.Unlock()
	r.running.Go(func() { // ends with the client's connection; Close waits
		closing := context.AfterFunc(r.edge.ctx, func() { m.end(conn.ErrClosing) })
		defer closing()
		m.run(func() { r.drop(m) })
	})
	return m
}

// drop forgets a link that has ended.
func (r *routes) drop(m *remote) {
	r.edge.mu.Lock()
	delete(r.edge.remotes, m)
	r.edge.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.remotes[m.node] == m {
		delete(r.remotes, m.node)
	}
}

// all are the links that there are.
func (r *routes) all() (list []*remote) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.remotes {
		list = append(list, m)
	}
	return list
}

// send sends a message over all links. It waits while a node is slow. A link that has ended needs no message.
func (r *routes) send(message []byte) {
	for _, m := range r.all() {
		_ = m.out.Put(m.ctx, conn.Answer, message)
	}
}

// Greeted is that of [dispatch.Routes].
func (r *routes) Greeted(params json.RawMessage) {
	message := greeting(params)
	r.mu.Lock()
	r.greeted = message
	r.mu.Unlock()
	r.send(message)
}

// Response is that of [dispatch.Routes]. The ids of the requests of nodes are random, so that the one node that has sent it knows it.
func (r *routes) Response(frame []byte) {
	r.send(bytes.Clone(bytes.TrimSpace(frame)))
}

// Renewed is that of [dispatch.Routes].
func (r *routes) Renewed(g auth.Grant) { r.send(control(letterGrant, newGrant(g))) }

// Close is that of [dispatch.Routes]. The client's connection has ended, and with it the links.
func (r *routes) Close() { r.running.Wait() }
