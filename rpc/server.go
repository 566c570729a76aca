package rpc

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/failure"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
)

// Config is what a [Server] depends on.
type Config struct {
	Log     *slog.Logger // required
	Version string       // of the program

	MessageBytes int // the largest message, in both directions; 0: 8 MiB

	Listening    func() string            // where browsers find the page; nil or empty: nowhere
	Sessions     func(Principal) Sessions // those of a principal; [AgentsOf] makes it. It costs nothing: it is called for each request
	Catalog      agent.Catalog            // of all models
	Blobs        session.Blobs            // where images and documents are kept; nil: in the log
	Router       Router                   // nil: all sessions are served here
	Providers    func() []ProviderStatus  // in catalog order
	Settings     *registry.Settings       // what clients set for all sessions
	DefaultModel func() session.ModelRef  // of a session whose client names none

	Tools Tools

	// DefaultsChanged is called after a client has set the defaults of a provider. nil: nobody needs to know.
	DefaultsChanged func(provider string)

	// Refresh asks the hosts of all providers for their lists of models, or of one, and puts what they tell in force. nil:
	// it cannot.
	Refresh func(ctx context.Context, provider string) (registry.Refresh, error)

	// SetKey keeps a key for a provider of Providers; the zero one removes what there is, a login too. nil: it cannot.
	SetKey func(provider string, key provider.Secret) error

	// Login leads a person through the login to a provider whose status has Login; show is called once. It ends with ctx.
	Login func(ctx context.Context, provider string, show func(LoginPrompt)) error
}

const defaultMessageBytes = 8 << 20

// Server serves clients with the native methods. It is safe for concurrent use and holds nothing that must be closed:
// connections end with their contexts.
type Server struct {
	config  Config
	methods []method.Method[*client]
	byName  map[string]method.Method[*client]
	private map[string]method.Method[*client] // of the unix socket alone
	acp     map[string]method.Method[*client] // of the Agent Client Protocol, in place of all others
	busy    busy
	clients atomic.Int64 // connected
	editors editors
	out     wire.Encoder
}

// NewServer makes a server of the native protocol.
func NewServer(config Config) *Server { return newServer(config, nativeMethods()) }

func newServer(config Config, methods []method.Method[*client]) *Server {
	if config.Router == nil {
		config.Router = localRouter{}
	}
	if config.MessageBytes == 0 {
		config.MessageBytes = defaultMessageBytes
	}
	s := &Server{config: config, methods: methods, out: wire.Encoder{Blobs: config.Blobs, Limit: config.MessageBytes}, byName: make(map[string]method.Method[*client]), private: make(map[string]method.Method[*client])}
	for _, m := range methods {
		s.byName[m.Name] = m
	}
	for _, m := range localMethods() {
		s.private[m.Name] = m
	}
	s.acp = acpTable(s.byName)
	return s
}

// Serve is one life of a client. It returns nil at the end of the client's input, the cause when ctx has ended, the
// error of a read or write that failed (a client that hangs up while it is written to), or why we ended the connection.
// Then nothing of the connection is left running. What waits when the end comes has five seconds to be written.
//
// Closing the pipe must end a Read and a Write under way; Serve closes it.
func (s *Server) Serve(ctx context.Context, pipe io.ReadWriteCloser) error {
	return s.ServeFrames(ctx, conn.NewByteFrames(pipe, s.MessageBytes()))
}

// ServeFrames is [Server.Serve] for frames. A message of them has at most [Server.MessageBytes].
func (s *Server) ServeFrames(ctx context.Context, f conn.Frames) error {
	return s.newClient(ctx, f).serve()
}

// ServeEditor is [Server.ServeFrames] for a client that speaks the Agent Client Protocol. A message has at most
// [Server.EditorMessageBytes].
func (s *Server) ServeEditor(ctx context.Context, f conn.Frames) error {
	c := s.newClient(ctx, f)
	c.beEditor(false)
	return c.serve()
}

// MessageBytes is how large a message may be, in bytes.
func (s *Server) MessageBytes() int { return s.config.MessageBytes }

// native is the protocol of a connection that did not ask for another.
var native = conn.Protocol{Cancel: "$/cancelRequest", CancelID: "id", Urgent: "session/cancel"}

func (s *Server) newClient(ctx context.Context, f conn.Frames) *client {
	return &client{server: s, principal: Operator(), followed: make(map[session.ID]followed),
		conn: conn.New(ctx, f, conn.Config{Log: s.config.Log, Limit: s.config.MessageBytes, Protocol: native})}
}

// serve is the connection's life.
func (c *client) serve() error {
	s := c.server
	s.clients.Add(1)
	defer s.clients.Add(-1)
	err := c.conn.Serve(c.handle)
	c.running.Wait()
	c.unfollowAll()
	c.stopListening()
	if c.editor != nil {
		c.editor.leave()
	}

	s.config.Log.Debug("client gone", keyCause, context.Cause(c.conn.Context()), "dropped_responses", c.conn.Dropped())
	return err
}

// Clients counts the connections that are served now, whichever way they came.
func (s *Server) Clients() int { return int(s.clients.Load()) }

// Drain returns when all that their sessions had to say is on its way to all clients and no answer is late any more, or with
// the cause of ctx's end. It is for the end of the daemon: the agents have been closed, so that each subscription ends
// after its last update, and the connections have not.
func (s *Server) Drain(ctx context.Context) error {
	select {
	case <-s.busy.idle():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// busy counts what runs for all clients together.
type busy struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when n is 0 again; nil: nobody waits
}

func (b *busy) add(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n += n; b.n == 0 && b.none != nil {
		close(b.none)
		b.none = nil
	}
}

// idle is closed when nothing runs.
func (b *busy) idle() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.none == nil {
		b.none = make(chan struct{})
	}
	none := b.none
	if b.n == 0 {
		close(none)
		b.none = nil
	}
	return none
}

// run starts a late answer or a sender. It ends with the connection's context; serve waits for it.
func (c *client) run(f func()) {
	c.server.busy.add(1)
	c.running.Go(func() {
		defer c.server.busy.add(-1)
		f()
	})
}

// Keys of log records.
const (
	keyCause  = "cause"
	keyMethod = "method"
	keyError  = "err"
)

// client is a connection as the methods see it. They run one after another on the connection's reading goroutine and
// must not wait for anything but a store; whoever waits is late. So what only methods touch needs no
// lock.
type client struct {
	server    *Server
	conn      *conn.Conn
	principal Principal
	running   sync.WaitGroup // late answers and senders; they end with the connection's context, and serve waits for them

	greeted  bool                 // initialize was called
	confirms bool                 // it said there that it can ask a person
	name     string               // that the client gave itself there
	logins   map[string]*loginRun // the last one to each provider

	local     *Local       // nil: this connection is not the unix socket's
	sameUser  bool         // it is, or is that of a client behind a door: what it asks for, its user could do without us
	listening func() error // ends what daemon/listen began; nil: nothing

	editor *editor // nil: the client speaks the native protocol

	followsMu sync.Mutex
	followed  map[session.ID]followed
}

// method finds what answers a request.
func (c *client) method(name string) (m method.Method[*client], ok bool) {
	if c.editor != nil {
		m, ok = c.server.acp[name]
		return m, ok
	}
	if m, ok = c.server.byName[name]; !ok && c.local != nil {
		m, ok = c.server.private[name]
	}
	return m, ok
}

// handle runs one request.
func (c *client) handle(call *conn.Call) {
	m, ok := c.method(call.Method())
	reply := func(value any, err error) { c.answer(call, value, err) }
	late := func() (method.Outcome, error) {
		return method.Outcome{}, conn.InvalidRequest("%s answers late and cannot be part of a batch", m.Name)
	}
	out, err := failure.Guard(func() (method.Outcome, error) {
		switch {
		case !ok:
			return method.Outcome{}, conn.ErrMethodNotFound
		case m.Late && call.InBatch():
			return late()
		}
		if err := c.admit(call.Context(), m, call.Params()); err != nil {
			return method.Outcome{}, err
		}
		return m.Begin(call.Context(), c, call.Params(), reply)
	})
	switch {
	case err != nil:
		reply(nil, err)
	case out.Finish != nil && call.InBatch():
		reply(late())
	case out.Finish != nil:
		c.run(func() {
			value, err := failure.Guard(func() (any, error) { return out.Finish(call.Context()) })
			reply(value, err)
		})
	case !out.Replies:
		reply(out.Value, nil)
	}
}

// answer gives a call its answer.
func (c *client) answer(call *conn.Call, value any, err error) {
	var message []byte
	if err == nil {
		message, err = failure.Guard(func() ([]byte, error) { return call.Result(value) })
	}
	if err != nil {
		refused := c.errorOf(call.Context(), call.Method(), err)
		if c.editor != nil {
			refused = ACPError(refused)
		}
		message, err = call.Failure(refused)
	}
	if err == nil {
		err = call.Send(message)
	}
	if err != nil { // the connection has ended: nobody waits for the answer
		c.server.config.Log.Debug("answer not sent", keyMethod, call.Method(), keyError, err)
	}
	if f, ok := value.(follower); ok {
		f.answered()
	}
}

// follower is a result of a late answer that updates follow: answered lets them come, and is called when the answer is
// on its way, or can no more be.
type follower interface{ answered() }

// errorOf is the error that the client gets. What is not meant for it goes to the log under a reference. ctx is that of
// the request.
func (c *client) errorOf(ctx context.Context, method string, err error) *conn.Error {
	if e := failure.OfRequest(ctx, err); e != nil {
		return e
	}
	return failure.Internal(c.server.config.Log.With(keyMethod, method), "a request", err)
}
