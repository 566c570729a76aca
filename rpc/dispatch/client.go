package dispatch

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/failure"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// Protocol is what a client speaks.
type Protocol interface {
	// Method finds what answers a request of this client. It is called on the reading goroutine.
	Method(name string) (m method.Bound, ok bool)

	// Failure is an error as the protocol has it. It is called on any goroutine.
	Failure(e *conn.Error) *conn.Error

	// Ignored lists the members of params that a method does not know, and says whether the request fails because of them. The
	// params are valid JSON. It is called on the reading goroutine.
	Ignored(m method.Bound, params []byte) (ignored method.Ignored, fails bool)
}

// Client is a connection as its methods see it. They run one after another on the connection's reading goroutine and
// must not wait for anything but a store: what waits answers late. So what only methods touch needs no lock.
type Client struct {
	Conn      *conn.Conn
	Principal method.Principal // for whom its requests are made, with the rights that it began with
	Origin    Origin           // where the connection is from; set before Serve
	Lease     *auth.Lease      // nil: the connection is the operator's as long as it lasts

	rights   atomic.Pointer[[]method.Right] // in place of those of Principal; nil: they are the same
	server   *Server
	protocol Protocol
	dialect  string         // a word for the protocol that it speaks; empty: the native one
	linked   bool           // another node serves the client, and has it here for some of its sessions
	routes   Routes         // nil: this daemon serves all sessions of the client
	running  sync.WaitGroup // late answers and senders; they end with the connection's context, and Serve waits for them
	atEnd    []func()
	follows
}

// NewClient makes a client of a connection. It begins to be served with [Client.Serve].
func (s *Server) NewClient(c *conn.Conn, p method.Principal) *Client {
	return &Client{Conn: c, Principal: p, server: s}
}

// Speak makes p the client's protocol from the next request on. A method may call it, and nobody else once the client is served.
func (c *Client) Speak(p Protocol) { c.protocol = p }

// SetRights replaces the rights of the client's principal, from the next request on. It may be called on any goroutine.
func (c *Client) SetRights(rights []method.Right) { c.rights.Store(&rights) }

// SetDialect sets the word for the protocol that the client speaks; Dialect returns it. A client whose word is empty speaks the native one.
func (c *Client) SetDialect(word string) { c.dialect = word }
func (c *Client) Dialect() string        { return c.dialect }

// Linked makes it a client of another node, which counts its requests and leaves its sessions to this daemon. It is called before Serve.
func (c *Client) Linked() { c.linked = true }

// Context ends with the connection, and End ends it.
func (c *Client) Context() context.Context { return c.Conn.Context() }
func (c *Client) End(cause error)          { c.Conn.End(cause) }

// Grant is what the client may do, and for how long. Valid is not set if nothing ends it.
func (c *Client) Grant() auth.Grant {
	if c.Lease == nil {
		return auth.Grant{Principal: c.Now(), From: c.Origin.From}
	}
	g := c.Lease.Grant()
	g.From, _ = c.Lease.Origin()
	return g
}

// Renewed takes the client's new grant, from the next request on. It may be called on any goroutine.
func (c *Client) Renewed(g auth.Grant) {
	c.SetRights(g.Principal.Rights)
	if c.routes != nil {
		c.routes.Renewed(g)
	}
}

// Response passes on a client's response to a request that this daemon has not sent.
func (c *Client) Response(frame []byte) {
	if c.routes != nil {
		c.routes.Response(frame)
	}
}

// AtEnd has f called when the connection has ended and nothing of it runs any more. It is for methods.
func (c *Client) AtEnd(f func()) { c.atEnd = append(c.atEnd, f) }

// Serve is the connection's life; see [conn.Conn.Serve] for its error. When it returns, nothing of the connection is left running.
func (c *Client) Serve() error {
	s := c.server
	s.clients.Add(1)
	defer s.clients.Add(-1)
	leave, ok := s.guests.enter(c.Principal.Owner, c.Conn, c.Revoke)
	if ok {
		defer leave()
	} else {
		c.Conn.End(conn.ErrRevoked)
	}
	if s.router != nil && !c.linked {
		c.routes = s.router.Routes(c)
	}
	err := c.Conn.Serve(c.handle)
	if c.routes != nil {
		c.routes.Close()
	}
	c.running.Wait()
	c.unfollowAll()
	for _, f := range c.atEnd {
		f()
	}
	s.log.Debug("client gone", keyCause, context.Cause(c.Conn.Context()), "dropped_responses", c.Conn.Dropped())
	return err
}

// Keys of log records.
const (
	keyCause  = "cause"
	keyMethod = "method"
	keyError  = "err"
)

// Log is where to log what happens to the client.
func (c *Client) Log() *slog.Logger { return c.server.log }

// Run starts a late answer or a sender. It ends with the connection's context; Serve waits for it.
func (c *Client) Run(f func()) {
	c.Hold()
	c.running.Go(func() {
		defer c.Release()
		f()
	})
}

// Hold keeps [Server.Drain] waiting until Release.
func (c *Client) Hold() { c.server.busy.add(1) }

// Release ends one Hold.
func (c *Client) Release() { c.server.busy.add(-1) }

// handle runs one request.
func (c *Client) handle(call *conn.Call) {
	m, ok := c.protocol.Method(call.Method())
	var ignored method.Ignored
	reply := func(value any, err error) { c.answer(call, m, value, err, ignored) }
	late := func() (method.Outcome, error) {
		return method.Outcome{}, conn.InvalidRequest("%s answers late and cannot be part of a batch", m.Name)
	}
	out, err := failure.Guard(func() (method.Outcome, error) {
		switch {
		case !ok:
			return method.Outcome{}, c.unknown()
		case m.Late && call.InBatch():
			return late()
		}
		to, id, err := c.admit(call, m)
		if err != nil {
			return method.Outcome{}, err
		}
		if to != nil {
			return method.Outcome{Replies: true}, to.Forward(call, id, reply)
		}
		var fails bool
		if ignored, fails = c.protocol.Ignored(m, call.Params()); fails {
			return method.Outcome{}, ignored.Refusal()
		}
		ctx := call.Context()
		if m.Late {
			ctx = call.ContextWithID()
		}
		out, err := m.Begin(ctx, call.Params(), reply)
		if err == nil && m.Name == "initialize" && c.routes != nil {
			c.routes.Greeted(call.Params())
		}
		return out, err
	})
	switch {
	case err != nil:
		reply(nil, err)
	case out.Finish != nil && call.InBatch():
		reply(late())
	case out.Finish != nil:
		c.Run(func() {
			value, err := failure.Guard(func() (any, error) { return out.Finish(call.Context()) })
			reply(value, err)
		})
	case !out.Replies:
		reply(out.Value, nil)
	}
}

// Now is the principal with the rights that it has now.
func (c *Client) Now() method.Principal {
	p := c.Principal
	if rights := c.rights.Load(); rights != nil {
		p.Rights = *rights
	}
	return p
}

// May refuses what needs a right beyond that of the method, if the client lacks it. what is the subject of the refusal's sentence.
func (c *Client) May(right method.Right, what string) error { return c.Now().Check(what, right) }

// Guest returns what the client may do with a session of another user; ok is false if the session is not shared with the client's user.
func (c *Client) Guest(id session.ID) (a session.Access, ok bool) {
	if c.server.sharer == nil {
		return "", false
	}
	return c.server.sharer.Access(c.Principal.Owner, id)
}

// admit checks whether a request may run: the right, and what a guest may do. It returns the session that the request
// names, and the node that answers it; nil: this daemon does.
func (c *Client) admit(call *conn.Call, m method.Bound) (to Remote, id session.ID, err error) {
	p := c.Now()
	if meter := c.server.meter; meter != nil && !c.linked {
		if resets, ok := meter.Take(p.Owner); !ok {
			return nil, "", failure.Quota("requests", resets, "you have made too many requests; wait a moment")
		}
	}
	if err := p.Check(m.Name, m.Right); err != nil {
		return nil, "", err
	}
	id, ok := m.SessionOf(call.Params())
	if !ok {
		return nil, "", nil
	}
	if access, shared := c.Guest(id); shared {
		if err := m.Admits(access); err != nil {
			return nil, "", err
		}
	}
	to, err = c.route(call, m, id)
	return to, id, err
}

// unknown is why a method is refused that the table does not have: no right of it could be checked. So it is refused like one that needs the
// highest, and only who administers the daemon learns that it does not exist. Editors always do: their protocol asks for it.
func (c *Client) unknown() error {
	if c.dialect == "" && c.May(method.Admin, "") != nil {
		return &conn.Error{Code: conn.CodeForbidden, Message: "the method does not exist, or needs the right " + method.Admin.String() + ", which this client does not have",
			Data: map[string]any{"right": method.Admin.String()}}
	}
	return conn.ErrMethodNotFound
}

// route returns the node that answers a call; nil: this daemon does.
func (c *Client) route(call *conn.Call, m method.Bound, id session.ID) (Remote, error) {
	if c.routes == nil {
		return nil, nil
	}
	to, err := c.routes.Route(call.Context(), m.Name, id)
	if to != nil && call.InBatch() { // the answer comes among updates, which wait for the end of the batch
		return nil, conn.InvalidRequest("another node serves the session, so that %s cannot be part of a batch", m.Name)
	}
	return to, err
}

// answer gives a call its answer, with what was ignored of its params.
func (c *Client) answer(call *conn.Call, m method.Bound, value any, err error, ignored method.Ignored) {
	var message []byte
	if err == nil {
		message, err = failure.Guard(func() ([]byte, error) { return call.Result(value, ignored.JSON()) })
	}
	var failed *conn.Error
	if err != nil {
		failed = c.ErrorOf(call.Context(), call.Method(), err)
		message, err = call.Failure(c.protocol.Failure(ignored.AddTo(failed)))
	}
	if c.server.auditor != nil {
		c.audit(call, m, message, failed)
	}
	if err == nil {
		err = call.Send(message)
	}
	if err != nil { // the connection has ended: nobody waits for the answer
		c.server.log.Debug("answer not sent", keyMethod, call.Method(), keyError, err)
	}
	if f, ok := value.(Follower); ok {
		f.Answered()
	}
}

// audit records a request with its answer.
func (c *Client) audit(call *conn.Call, m method.Bound, answer []byte, failed *conn.Error) {
	e := Event{Principal: c.Principal, Origin: c.Origin, Method: m.Name, Params: call.Params(), Failure: failed}
	if id, ok := m.SessionOf(call.Params()); ok {
		e.Session = id
	}
	if m.Name != "" && failed == nil {
		e.Made = m.NewSession(answer)
	}
	c.server.auditor.Note(e)
}

// Follower is a result of a late answer that updates follow. Answered lets them come. It is called when the answer is on its way,
// or cannot be sent any more.
type Follower interface{ Answered() }

// ErrorOf is the error that the client gets. What is not meant for it goes to the log under a reference. ctx is that of
// the request.
func (c *Client) ErrorOf(ctx context.Context, method string, err error) *conn.Error {
	if e := failure.OfRequest(ctx, err); e != nil {
		return e
	}
	return failure.Internal(c.server.log.With(keyMethod, method), "a request", err)
}

// Notify sends an update: a whole notification, encoded, which nobody changes any more. Only goroutines that may wait
// call it: it waits while the client is slow and while a request is being handled.
func (c *Client) Notify(ctx context.Context, message []byte) error {
	return c.Conn.Notify(ctx, message)
}

// UpdatesFailed logs why a session's updates ended, and ends the connection: its client would wait for updates for ever.
func (c *Client) UpdatesFailed(id session.ID, err error) {
	failure.Internal(c.server.log.With("session", id), "a session's updates", err) // the client gets no answer
	c.Conn.End(err)
}
