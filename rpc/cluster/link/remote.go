package link

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/dispatch"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// remote is another node, as one client uses it: a link, and what was forwarded over it.
//
//	Forward ──► out ──► write ══► the node       calls[number]
//	Pass or Notify ◄──── read ◄══ the node
//
// read passes messages on in the order in which they come, and waits while the client is slow. So the other node waits too: its updates stay where they
// merge. out is a bounded queue, so that what the client sends waits in the client when the other node is slow.
type remote struct {
	config  *Config
	client  dispatch.Routed
	node    Node
	address string
	out     *conn.Queue
	ctx     context.Context
	end     context.CancelCauseFunc

	mu      sync.Mutex
	peer    *peer         // nil: not connected yet
	met     bool          // the node may have received a request
	opened  chan struct{} // closed when the link is open, or will not be
	last    uint64
	calls   map[uint64]pending
	follows map[session.ID]uint64 // the number of the last update of each session that the client follows there
	over    error                 // why nothing more is forwarded; nil: it is
	failed  error                 // why the link was never open; nil: it was, or may be
}

// newRemote makes a remote that ends with the client's connection. The caller runs it.
func newRemote(c *Config, client dispatch.Routed, n Node, address string) *remote {
	m := &remote{config: c, client: client, node: n, address: address, out: conn.NewQueue(), opened: make(chan struct{}), calls: make(map[uint64]pending), follows: make(map[session.ID]uint64)}
	m.ctx, m.end = context.WithCancelCause(client.Context())
	return m
}

// pending is a request without its answer.
type pending struct {
	call    *conn.Call
	fail    method.Reply
	session session.ID
	uncover func() bool // stops waiting for the client to cancel it
}

// Forward is that of dispatch.Remote.
func (m *remote) Forward(call *conn.Call, id session.ID, fail method.Reply) error {
	m.mu.Lock()
	if err := m.over; err != nil {
		m.mu.Unlock()
		return err
	}
	m.last++
	number := m.last
	if !call.IsNotification() {
		uncover := context.AfterFunc(call.Context(), func() { m.cancel(call, number) })
		m.calls[number] = pending{call, fail, id, uncover}
	}
	m.mu.Unlock()
	err := m.out.Put(m.ctx, conn.Answer, call.Forward(number))
	switch {
	case err == nil && call.IsNotification():
		return call.Pass(nil)
	case err != nil && (call.IsNotification() || m.take(number).call != nil): // else the end of the remote has answered it
		return m.lost(err)
	}
	return nil
}

// cancel tells the node that the client has cancelled a request.
func (m *remote) cancel(call *conn.Call, number uint64) {
	if errors.Is(context.Cause(call.Context()), conn.ErrCancelled) {
		_ = m.out.Put(m.ctx, conn.Answer, cancel(m.client.Dialect(), number)) // a remote that has ended answers the request itself
	}
}

// take removes a request that has its answer.
func (m *remote) take(number uint64) pending {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.calls[number]
	delete(m.calls, number)
	if ok {
		p.uncover()
	}
	return p
}

// Times of connections. A node that is gone is found by its heartbeats before TCP finds it.
const (
	dialTime      = 2 * time.Second
	handshakeTime = 5 * time.Second
	dialTries     = 3
	dialPause     = 300 * time.Millisecond
	aliveTime     = 5 * time.Second
	socketBuffer  = 64 << 10 // what is in the sockets is not merged any more
	readBuffer    = 16 << 10
)

// run is the life of the remote. drop is called at its end, when nothing more is forwarded.
func (m *remote) run(drop func()) {
	m.end(m.serve())
	m.settle(context.Cause(m.ctx), drop)
}

func (m *remote) serve() error {
	c, err := m.connect()
	if err != nil {
		return err
	}
	frames := conn.NewHeaderFrames(c, m.config.Limit, readBuffer)
	stop := context.AfterFunc(m.ctx, func() { hangUp(c, frames) })
	defer stop()
	defer hangUp(c, frames)
	if err := m.greet(frames); err != nil {
		return err
	}
	m.mu.Lock()
	m.met = true
	m.mu.Unlock()
	close(m.opened)
	var writing sync.WaitGroup
	writing.Go(func() { // ends when out is closed below
		if err := m.write(frames); err != nil {
			m.end(err)
		}
	})
	err = m.read(frames)
	m.end(err)
	hangUp(c, frames)
	m.out.Close()
	writing.Wait()
	return err
}

var errSilent = errors.New("the node does not answer")

// greet opens the link. Until the node has answered, it has received no request.
func (m *remote) greet(frames *conn.ByteFrames) error {
	late := time.AfterFunc(handshakeTime, func() { m.end(errSilent) })
	defer late.Stop()
	err := frames.Write([][]byte{m.hello()})
	if err != nil {
		return err
	}
	message, err := frames.Read()
	if err != nil {
		return err
	}
	if message[0] == letterBye {
		return readBye(message)
	}
	return readControl(message, letterMet, new(met))
}

// connect makes a connection to the node. It tries several times: a node that has just started hears of this one a little later.
func (m *remote) connect() (c *tls.Conn, err error) {
	for try := range dialTries {
		if try > 0 {
			select {
			case <-time.After(dialPause):
			case <-m.ctx.Done():
				return nil, context.Cause(m.ctx)
			}
		}
		if c, err = m.dial(); err == nil {
			return c, nil
		}
		m.config.Log.Debug("link", "node", m.node.Name, "err", err)
	}
	m.config.Log.Warn("no link to a node", "node", m.node.Name, "address", m.address, "err", err)
	return nil, err
}

func (m *remote) dial() (*tls.Conn, error) {
	ctx, cancel := context.WithTimeout(m.ctx, dialTime)
	defer cancel()
	id := m.config.Identity
	tcp, err := (&net.Dialer{KeepAliveConfig: keepAlive}).DialContext(ctx, "tcp", m.address)
	if err != nil {
		return nil, err
	}
	if err := small(tcp); err != nil {
		return nil, errors.Join(err, tcp.Close())
	}
	c := tls.Client(tcp, id.config(m.node.Name))
	if err := c.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, tcp.Close())
	}
	p, err := id.peerOf(c, x509.ExtKeyUsageServerAuth)
	if err != nil {
		return nil, errors.Join(err, tcp.Close())
	}
	m.mu.Lock()
	m.peer = p
	m.mu.Unlock()
	return c, nil
}

var keepAlive = net.KeepAliveConfig{Enable: true, Idle: aliveTime, Interval: aliveTime, Count: 3}

// small makes the buffers of a socket small.
func small(c net.Conn) error {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil
	}
	return errors.Join(tcp.SetReadBuffer(socketBuffer), tcp.SetWriteBuffer(socketBuffer))
}

// hangUpTime is how long the end of a connection may take, so that revoked clients are gone within a second.
const hangUpTime = 250 * time.Millisecond

// hangUp closes a connection. Nobody waits for an error: what is lost is known from the answers that did not come.
func hangUp(c *tls.Conn, frames *conn.ByteFrames) {
	_ = c.NetConn().SetWriteDeadline(time.Now().Add(hangUpTime))
	_ = frames.Close(nil)
}

func (m *remote) write(frames *conn.ByteFrames) error {
	for {
		messages := m.out.Take()
		if messages == nil {
			return nil
		}
		if err := frames.Write(messages); err != nil {
			return err
		}
		m.out.Written()
	}
}

// read passes on what the node sends, until the link ends.
func (m *remote) read(frames *conn.ByteFrames) error {
	for {
		message, err := frames.Read()
		if err != nil {
			return err
		}
		if isControl(message) {
			return readBye(message)
		}
		if err := m.pass(message); err != nil {
			return err
		}
	}
}

// pass gives the client what the node sends it.
func (m *remote) pass(message []byte) error {
	number, rest, ok := conn.PassedNumber(message)
	if !ok {
		m.note(message)
		return m.client.Notify(m.ctx, bytes.Clone(message))
	}
	if number == 0 {
		return nil // the answer to the repeated initialize, which the client has from its edge
	}
	p := m.take(number)
	if p.call == nil {
		return fmt.Errorf("the node answers request %d, which it has not been sent", number)
	}
	if bytes.HasPrefix(rest, []byte(`,"result":`)) {
		m.answered(p, rest)
	}
	return p.call.Pass(rest)
}

// answered takes note of the sessions that the client follows.
func (m *remote) answered(p pending, rest []byte) {
	switch p.call.Method() {
	case "session/attach", "session/load", "session/resume":
		seq := gjson.GetBytes(append([]byte{'{'}, rest[1:]...), "result.seq").Uint()
		m.mu.Lock()
		m.follows[p.session] = seq
		m.mu.Unlock()
	case "session/prompt":
		if m.client.Dialect() == door.ProtocolACP { // it follows the session, if the editor did not before
			m.mu.Lock()
			m.follows[p.session] = 0
			m.mu.Unlock()
		}
	case "session/detach", "session/close", "session/delete":
		m.unfollow(p.session)
	}
}

func (m *remote) unfollow(id session.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.follows, id)
}

// The beginnings of notifications, which are as rpc/wire and rpc/door write them. What is read of them stands before the text of an update, which is
// not scanned.
var (
	staleStart  = []byte(`{"jsonrpc":"2.0","method":"stale"`)
	changeStart = []byte(`{"jsonrpc":"2.0","method":"session_update"`)
)

// note takes note of a notification about a session that the client follows.
func (m *remote) note(message []byte) {
	if m.client.Dialect() == door.ProtocolACP { // its updates have no numbers
		if id, ok := door.StaleInACP(message); ok {
			m.unfollow(session.ID(id))
		}
		return
	}
	id := session.ID(gjson.GetBytes(message, "params.session_id").Str)
	if !m.following(id) {
		return
	}
	if bytes.HasPrefix(message, staleStart) || bytes.HasPrefix(message, changeStart) && gjson.GetBytes(message, "params.deleted").Bool() {
		m.unfollow(id)
		return
	}
	if seq := gjson.GetBytes(message, "params.seq"); seq.Exists() {
		m.mu.Lock()
		m.follows[id] = seq.Uint()
		m.mu.Unlock()
	}
}

// following reports whether the client follows a session there.
func (m *remote) following(id session.ID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.follows[id]
	return ok
}

// doomed is why the link must end.
func (m *remote) doomed() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !m.config.Nodes.Present(m.node):
		return errGone
	case m.peer != nil:
		return m.peer.accepted()
	}
	return nil
}

// unreachable waits for the link, and reports whether the node cannot be reached. A node that refuses the link can be.
func (m *remote) unreachable(ctx context.Context) bool {
	select {
	case <-m.opened:
	case <-ctx.Done():
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return unreachable(m.failed)
}

// unreachable reports whether a link was not opened because no node answers at the address, so that the session may soon be elsewhere. A proxy may hang
// up there, or another program have got the port. The alerts of TLS are refusals by a node: Go's operations for them are "remote error" and
// "local error".
func unreachable(cause error) bool {
	if op, ok := errors.AsType[*net.OpError](cause); ok && (op.Op == "dial" || op.Op == "read" || op.Op == "write") {
		return true
	}
	if _, other := errors.AsType[tls.RecordHeaderError](cause); other {
		return true
	}
	for _, silence := range []error{io.EOF, io.ErrUnexpectedEOF, errGone, errSilent, context.DeadlineExceeded, os.ErrDeadlineExceeded} {
		if errors.Is(cause, silence) {
			return true
		}
	}
	return false
}

// hello opens a link for the client.
func (m *remote) hello() []byte {
	return control(letterHello, hello{Version: version, Run: m.config.Run, Dialect: m.client.Dialect(), Grant: newGrant(m.client.Grant())})
}

// lost is the answer to a request that was not answered.
func (m *remote) lost(cause error) error {
	m.mu.Lock()
	met := m.met
	m.mu.Unlock()
	if met {
		return &conn.Error{Code: conn.CodeClosing, Unknown: true, Message: "the node that serves the session has ended; whether it did this is not known"}
	}
	if refused, ok := errors.AsType[*refusal](cause); ok {
		m.config.Log.Warn("a node refuses a link", "node", m.node.Name, "why", refused.why)
	}
	return &conn.Error{Code: conn.CodeClosing, Kind: "unreachable", Message: "the node that serves the session cannot be reached",
		Data: map[string]any{"node": m.node.Name, "retry_after_ms": againSoon.Milliseconds()}}
}

// againSoon is when a client tries again that was refused because of another node.
const againSoon = time.Second

// settle answers what the node left unanswered, and tells the client what it has to attach to again.
func (m *remote) settle(cause error, drop func()) {
	m.out.Close()
	lost := m.lost(cause)
	m.mu.Lock()
	m.over = lost
	if !m.met {
		m.failed = cause
		defer close(m.opened) // when nobody finds this remote any more
	}
	calls, follows := m.calls, m.follows
	m.calls, m.follows = nil, make(map[session.ID]uint64)
	m.mu.Unlock()
	drop()
	client := m.client
	if m.revoked(cause) && client.Context().Err() == nil {
		client.End(cause) // the same grant let the client in here
	}
	for _, p := range calls {
		p.uncover()
		p.fail(nil, lost)
	}
	if client.Dialect() == door.ProtocolACP {
		m.tellEditor(calls, follows)
		return
	}
	for id, seq := range follows {
		if client.Notify(client.Context(), door.Stale(string(id), seq)) != nil {
			return // the client has gone
		}
	}
}

// revoked reports whether the grant of the client has ended, by what the other node says. That it has expired counts only if the clock of this node says so
// too: the other one may be ahead, and the client must not lose all its sessions for that.
func (m *remote) revoked(cause error) bool {
	if !errors.Is(cause, conn.ErrExpired) {
		return errors.Is(cause, conn.ErrRevoked)
	}
	expires := m.client.Grant().Expires
	if now := m.config.Now(); now.Before(expires) {
		m.config.Log.Warn("a node says that the token of a client has expired, and the clock of this node does not: look at the clocks of both", "node", m.node.Name, "left", expires.Sub(now))
		return false
	}
	return true
}

// tellEditor says in each session that the editor follows that it gets no further updates. Where a prompt waited, the error of the prompt has said so.
func (m *remote) tellEditor(calls map[uint64]pending, follows map[session.ID]uint64) {
	for _, p := range calls {
		if p.call.Method() == "session/prompt" {
			delete(follows, p.session)
		}
	}
	for id := range follows {
		message := door.ACPStale(string(id), "the node that served this session has ended, or cannot be reached")
		if m.client.Notify(m.client.Context(), message) != nil {
			return // the client has gone
		}
	}
}
