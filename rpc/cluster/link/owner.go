package link

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
)

// Owner serves the links from other nodes to sessions of this one.
type Owner struct {
	Config

	// Confirm returns the grant of an API token by its id, as this node knows it. ok is false if this node knows no such token.
	Confirm func(id string) (g auth.Grant, ok bool)

	// Serve serves a client whose principal is that of the lease. It ends with ctx, and closes the frames. dialect is the word for the client's
	// protocol, see [dispatch.Client].
	Serve func(ctx context.Context, l *auth.Lease, dialect string, f conn.Frames) error
}

// maxOpening is how many links may be on their way at once: between a connection and its hello.
const maxOpening = 256

// acceptPause is how long Run waits after a connection that could not be accepted.
const acceptPause = 100 * time.Millisecond

// Run accepts links until ctx ends, or the listener is closed. When it returns, nothing of the links is left running.
func (o *Owner) Run(ctx context.Context, l net.Listener) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var running sync.WaitGroup
	defer running.Wait()
	accepted := &accepted{nodes: o.Nodes, list: make(map[*served]struct{})}
	running.Go(func() { accepted.watch(ctx) })
	defer stop(conn.ErrClosing)
	closing := context.AfterFunc(ctx, func() { _ = l.Close() }) // Accept returns its error
	defer closing()
	opening := make(chan struct{}, maxOpening)
	for {
		c, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if c != nil {
				return c.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // for want of file descriptors, say
			o.Log.Warn("a link was refused", "err", err)
			select {
			case <-time.After(acceptPause):
			case <-ctx.Done():
			}
			continue
		}
		opening <- struct{}{}
		running.Go(func() { // ends with ctx, or with the link
			o.serve(ctx, c, accepted, sync.OnceFunc(func() { <-opening }))
		})
	}
}

// serve serves one connection. opened is called when it is known what it is.
func (o *Owner) serve(ctx context.Context, tcp net.Conn, accepted *accepted, opened func()) {
	defer opened()
	s, err := o.open(ctx, tcp)
	if err != nil {
		o.Log.Warn("a link was refused", "from", tcp.RemoteAddr().String(), "err", err)
		if s == nil {
			_ = tcp.Close()
			return
		}
		_ = s.frames.Close(err) // which tells the other node why
		return
	}
	opened()
	if err := s.frames.Write([][]byte{control(letterMet, met{})}); err != nil {
		s.close(err)
		_ = s.frames.Close(err)
		return
	}
	lease := auth.NewLease(ctx, s.grant, nil)
	defer lease.Close()
	s.lease = lease
	accepted.enter(s)
	defer accepted.leave(s)
	err = o.Serve(lease.Context(), lease, s.hello.Dialect, s)
	s.close(nil)
	o.Log.Debug("link ended", "node", s.edge.Name, "err", err)
}

// served is a link, as the frames of its client.
type served struct {
	owner *Owner
	edge  Node
	peer  *peer
	hello hello
	lease *auth.Lease

	frames *closer

	mu    sync.Mutex
	grant auth.Grant
	end   context.CancelCauseFunc // of grant
}

// open makes a link of a connection. If s is not nil in addition to an error, the peer is a node, which gets the error.
func (o *Owner) open(ctx context.Context, tcp net.Conn) (s *served, err error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	if t, ok := tcp.(*net.TCPConn); ok {
		if err := errors.Join(t.SetKeepAliveConfig(keepAlive), small(t)); err != nil {
			return nil, err
		}
	}
	c := tls.Server(tcp, o.Identity.config(""))
	if err := c.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	p, err := o.Identity.peerOf(c, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return nil, err
	}
	s = &served{owner: o, peer: p, frames: &closer{conn: tcp, ByteFrames: conn.NewHeaderFrames(c, o.Limit, readBuffer)}}
	s.frames.SetLimit(maxControl)
	stop := context.AfterFunc(ctx, func() { _ = tcp.Close() }) // which ends the read
	message, err := s.frames.Read()
	if !stop() {
		err = errors.Join(context.Cause(ctx), err)
	}
	if err == nil {
		err = s.greet(message)
	}
	s.frames.SetLimit(o.Limit)
	return s, err
}

// greet reads the hello of an edge.
func (s *served) greet(message []byte) error {
	if err := readControl(message, letterHello, &s.hello); err != nil {
		return err
	}
	s.edge = Node{s.peer.name, s.hello.Run}
	switch {
	case s.hello.Version != version:
		return &refusal{fmt.Sprintf("it speaks version %d of links, and not %d", version, s.hello.Version)}
	case s.hello.Dialect != "" && s.hello.Dialect != door.ProtocolACP:
		return &refusal{"it knows no such protocol"}
	case !s.owner.Nodes.Present(s.edge):
		return &refusal{"it hears no heartbeats of the node " + s.edge.Name}
	}
	g, end, err := s.confirm(s.hello.Grant)
	s.grant, s.end = g, end
	return err
}

// confirm makes a grant of what an edge says. This node decides itself how long it is valid. If there is no error, the caller calls end.
func (s *served) confirm(w grant) (g auth.Grant, end context.CancelCauseFunc, err error) {
	if g, err = w.read(); err != nil {
		return g, nil, &refusal{err.Error()}
	}
	if !g.Expires.IsZero() && !s.owner.Now().Before(g.Expires) {
		return g, nil, conn.ErrExpired
	}
	valid := context.Background()
	if g.ID != "" {
		known, ok := s.owner.Confirm(g.ID)
		if !ok || known.Principal.Owner != g.Principal.Owner {
			return g, nil, &refusal{"it does not know the API token of the client"}
		}
		valid, g.Principal.Rights = known.Valid, both(known.Principal.Rights, g.Principal.Rights)
	}
	g.Valid, end = context.WithCancelCause(valid)
	return g, end, nil
}

// both are the rights that are in two lists.
func both[R comparable](a, b []R) (list []R) {
	for _, r := range a {
		for _, other := range b {
			if r == other {
				list = append(list, r)
			}
		}
	}
	return list
}

// Read is that of [conn.Frames]. Messages of the edge itself are not the client's.
func (s *served) Read() ([]byte, error) {
	for {
		message, err := s.frames.Read()
		if err != nil || !isControl(message) {
			return message, err
		}
		if err := s.renew(message); err != nil {
			return nil, err
		}
	}
}

// renew takes a grant in place of the one before.
func (s *served) renew(message []byte) error {
	var w grant
	if err := readControl(message, letterGrant, &w); err != nil {
		return err
	}
	g, end, err := s.confirm(w)
	if err != nil {
		return err
	}
	if err := s.lease.Replace(g); err != nil {
		end(nil)
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(nil) // of the grant before, for whose end nobody waits any more
	s.grant, s.end = g, end
	return nil
}

// Write is that of [conn.Frames].
func (s *served) Write(messages [][]byte) error { return s.frames.Write(messages) }

// SetLimit changes the largest size of a message.
func (s *served) SetLimit(limit int) { s.frames.SetLimit(min(limit, s.owner.Limit)) }

// Close is that of [conn.Frames].
func (s *served) Close(cause error) error { return s.frames.Close(cause) }

// doomed is why a link must end.
func (s *served) doomed() error {
	if !s.owner.Nodes.Present(s.edge) {
		return errGone
	}
	return s.peer.accepted()
}

// look ends the link if it must end.
func (s *served) look(now time.Time) {
	err := s.doomed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if expires := s.grant.Expires; !expires.IsZero() && !now.Before(expires) {
		err = conn.ErrExpired
	}
	if err != nil {
		s.end(err)
	}
}

// close ends the grant.
func (s *served) close(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(cause)
}

// accepted are the links that are served.
type accepted struct {
	nodes Nodes
	mu    sync.Mutex
	list  map[*served]struct{}
}

func (a *accepted) enter(s *served) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list[s] = struct{}{}
}

func (a *accepted) leave(s *served) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.list, s)
}

// watch ends links until ctx ends.
func (a *accepted) watch(ctx context.Context) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		a.mu.Lock()
		for s := range a.list {
			s.look(s.owner.Now())
		}
		a.mu.Unlock()
	}
}

// closer tells the other node why it closes a connection.
type closer struct {
	*conn.ByteFrames
	conn    net.Conn // below TLS
	writing sync.Mutex
}

// Write is that of [conn.Frames].
func (c *closer) Write(messages [][]byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.ByteFrames.Write(messages)
}

// Close is that of [conn.Frames]. A write under way ends, and the other node does not hear why.
func (c *closer) Close(cause error) error {
	err := c.conn.SetWriteDeadline(time.Now().Add(hangUpTime))
	if err == nil && c.writing.TryLock() {
		if !errors.Is(cause, io.EOF) {
			err = c.ByteFrames.Write([][]byte{control(letterBye, byeOf(cause))})
		}
		c.writing.Unlock()
	}
	return errors.Join(err, c.ByteFrames.Close(nil))
}
