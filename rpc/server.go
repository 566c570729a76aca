package rpc

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
)

// Config is what a [Server] depends on.
type Config struct {
	Log     *slog.Logger // required
	Version string       // of the program

	MessageBytes int // the largest message, in both directions; 0: 8 MiB

	Listening    func() string // where browsers find the page; nil or empty: nowhere
	Sessions     *agent.Group
	Providers    func() []ProviderStatus // in catalog order
	Settings     *registry.Settings      // what clients set for all sessions
	DefaultModel func() session.ModelRef // of a session whose client names none

	Tools Tools

	// Refresh asks the hosts of all providers for their lists of models, or of one, and puts what they tell in force. nil:
	// it cannot.
	Refresh func(ctx context.Context, provider string) (Refresh, error)

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
	methods []method
	byName  map[string]method
	private map[string]method // of the unix socket alone
	acp     map[string]method // of the Agent Client Protocol, in place of all others
	busy    busy
	clients atomic.Int64 // connected
	editors editors
}

// NewServer makes a server of the native protocol.
func NewServer(config Config) *Server { return newServer(config, allMethods()) }

func newServer(config Config, methods []method) *Server {
	if config.MessageBytes == 0 {
		config.MessageBytes = defaultMessageBytes
	}
	s := &Server{config: config, methods: methods, byName: make(map[string]method), private: make(map[string]method)}
	for _, m := range methods {
		s.byName[m.name] = m
	}
	for _, m := range localMethods() {
		s.private[m.name] = m
	}
	s.acp = acpTable(s.byName)
	return s
}

// Serve is one life of a client. It returns nil at the end of the client's input, the cause when ctx has ended, the
// error of a read or write that failed (a client that hangs up while it is written to), or why we ended the connection.
// Then nothing of the connection is left running. What waits when the end comes has five seconds to be written.
//
// Closing conn must end a Read and a Write under way; Serve closes it.
func (s *Server) Serve(ctx context.Context, conn io.ReadWriteCloser) error {
	return s.serve(ctx, newByteFrames(conn, s.config.MessageBytes))
}

func (s *Server) serve(ctx context.Context, f frames) error {
	return s.newClient(ctx, f).serve()
}

func (s *Server) newClient(ctx context.Context, f frames) *client {
	return &client{server: s, stream: newStream(ctx, f, s.config.MessageBytes), followed: make(map[session.ID]followed)}
}

// serve is the connection's life.
func (c *client) serve() error {
	s := c.server
	s.clients.Add(1)
	defer s.clients.Add(-1)
	jsonrpc2.NewConn(c.stream.ctx, c.stream, c, jsonrpc2.SetLogger(libraryLog{s.config.Log}))
	writeErr := c.stream.write() // returns when the stream was closed, and the reader ends then
	<-c.stream.done
	c.running.Wait()
	c.unfollowAll()
	c.stopListening()
	if c.editor != nil {
		c.editor.leave()
	}

	cause := context.Cause(c.stream.ctx)
	s.config.Log.Debug("client gone", keyCause, cause, "dropped_responses", c.stream.responses)
	switch {
	case errors.Is(writeErr, errStalled):
		return writeErr // the reader may have been the first to find the connection closed
	case errors.Is(cause, io.EOF):
		return nil
	}
	return cause
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

// run starts a late answer or a pump. It ends with the stream's context; serve waits for it.
func (c *client) run(f func()) {
	c.server.busy.add(1)
	c.running.Go(func() {
		defer c.server.busy.add(-1)
		f()
	})
}

// ErrClosing is the cause of a context that ends because the daemon does: a connection that can say why says this.
var ErrClosing = errors.New("the daemon is going down")

// Keys of log records.
const (
	keyCause  = "cause"
	keyMethod = "method"
	keyRef    = "ref"
	keyError  = "err"
)

// libraryLog takes what the library has to say, which is why it closed a connection.
type libraryLog struct{ log *slog.Logger }

func (l libraryLog) Printf(format string, args ...any) { l.log.Debug(fmt.Sprintf(format, args...)) }

// client is a connection as the methods see it. They run one after another on the connection's reading goroutine and
// must not wait for anything but a store; whoever waits is late (see defineLate). So what only methods touch needs no
// lock.
type client struct {
	server  *Server
	stream  *Stream
	running sync.WaitGroup // late answers and pumps; they end with the stream's context, and serve waits for them

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
func (c *client) method(name string) (m method, ok bool) {
	if c.editor != nil {
		m, ok = c.server.acp[name]
		return m, ok
	}
	if m, ok = c.server.byName[name]; !ok && c.local != nil {
		m, ok = c.server.private[name]
	}
	return m, ok
}

// Handle runs one request. The library calls it by turns with the stream's ReadObject.
func (c *client) Handle(_ context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	call := c.stream.call(req.ID.Num)
	m, ok := c.method(call.method)
	switch {
	case !ok:
		c.answer(conn, req.ID, call, nil, errMethodNotFound)
	case m.own != nil:
		reply := func(value any, err error) { c.answer(conn, req.ID, call, value, err) }
		if _, err := guard(func() (any, error) { return nil, m.own(call.ctx, c, call.params, reply) }); err != nil {
			reply(nil, err)
		}
	case m.now != nil && !m.waits(c, call.params):
		value, err := guard(func() (any, error) { return m.now(call.ctx, c, call.params) })
		c.answer(conn, req.ID, call, value, err)
	case call.batch != nil:
		c.answer(conn, req.ID, call, nil, refuse("%s answers late and cannot be part of a batch", m.name))
	default:
		finish, err := guard(func() (finish, error) { return m.late(call.ctx, c, call.params) })
		if err != nil {
			c.answer(conn, req.ID, call, nil, err)
			return
		}
		c.run(func() {
			value, err := guard(func() (any, error) { return finish(call.ctx) })
			c.answer(conn, req.ID, call, value, err)
		})
	}
}

// answer gives a call its answer. The library is told with an empty result; the stream has the real one.
func (c *client) answer(conn *jsonrpc2.Conn, id jsonrpc2.ID, call *call, value any, err error) {
	if err == nil {
		call.answer, err = guard(func() ([]byte, error) { return c.stream.result(call.id, value) })
	}
	if err != nil {
		refused := c.errorOf(call, err)
		if c.editor != nil {
			refused = acpError(refused)
		}
		call.answer, err = c.stream.failure(call.id, refused)
	}
	if err == nil {
		null := json.RawMessage("null")
		err = conn.SendResponse(call.ctx, &jsonrpc2.Response{ID: id, Result: &null})
	}
	if err != nil { // the connection has ended: there is nobody to tell
		c.server.config.Log.Debug("answer not sent", keyMethod, call.method, keyError, err)
	}
	if f, ok := value.(follower); ok {
		f.answered()
	}
}

// follower is a result of a late answer that updates follow: answered lets them come, and is called when the answer is
// on its way, or can no more be.
type follower interface{ answered() }

// errorOf is what the client is told. What is not meant for it goes to the log under a reference.
func (c *client) errorOf(call *call, err error) *Error {
	if e := requestError(call.ctx, err); e != nil {
		return e
	}
	ref := rand.Text()
	log := c.server.config.Log.With(keyRef, ref, keyMethod, call.method)
	if p, ok := errors.AsType[*panicError](err); ok {
		log.Error("panic in a method", keyError, p.value, "stack", string(p.stack))
	} else {
		log.Error("request failed", keyError, err)
	}
	return internalError(ref)
}

// panicError is a panic that ended one thing and nothing else.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

func guard[T any](f func() (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p, debug.Stack()}
		}
	}()
	return f()
}
