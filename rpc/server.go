package rpc

import (
	"context"
	"io"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/acp"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/dispatch"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
)

// Config is what a [Server] depends on.
type Config struct {
	service.Config
	Version string // of the program

	MessageBytes int // the largest message, in both directions; 0: conn.DefaultMessageBytes

	Listening func() string   // where browsers find the page; nil or empty: nowhere
	Blobs     session.Blobs   // where images and documents are kept; nil: in the log
	Router    dispatch.Router // nil: all sessions are served here

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

const keyError = "err" // of log records

// Server serves clients with the native methods. It is safe for concurrent use and holds nothing that must be closed:
// connections end with their contexts.
type Server struct {
	*dispatch.Server
	config  Config
	methods []method.Method[*client]
	byName  map[string]method.Method[*client]
	private map[string]method.Method[*client] // of the unix socket alone
	editors *acp.Server
	crowd   func() int // counts the clients; tests pretend that there are more
	out     wire.Encoder
}

// NewServer makes a server of the native protocol.
func NewServer(config Config) *Server { return newServer(config, nativeMethods()) }

func newServer(config Config, methods []method.Method[*client]) *Server {
	if config.MessageBytes == 0 {
		config.MessageBytes = conn.DefaultMessageBytes
	}
	s := &Server{Server: dispatch.NewServer(config.Log, config.Router), config: config, methods: methods, out: wire.Encoder{Blobs: config.Blobs, Limit: config.MessageBytes}, byName: make(map[string]method.Method[*client]), private: make(map[string]method.Method[*client])}
	s.crowd = s.Clients
	for _, m := range methods {
		s.byName[m.Name] = m
	}
	for _, m := range localMethods() {
		s.private[m.Name] = m
	}
	s.editors = acp.NewServer(acp.Config{Config: &s.config.Config, Version: config.Version, Encoder: s.out})
	return s
}

// Serve is one life of a client. It returns nil at the end of the client's input, the cause when ctx has ended, the
// error of a read or write that failed (a client that hangs up while it is written to), or why we ended the connection.
// Then nothing of the connection is left running. What waits when the end comes has five seconds to be written.
//
// Closing the pipe must end a Read and a Write under way; Serve closes it.
func (s *Server) Serve(ctx context.Context, pipe io.ReadWriteCloser) error {
	return s.ServeFrames(ctx, method.Operator(), conn.NewByteFrames(pipe, s.MessageBytes()))
}

// ServeFrames is [Server.Serve] for frames of a principal. A message of them has at most [Server.MessageBytes].
func (s *Server) ServeFrames(ctx context.Context, p method.Principal, f conn.Frames) error {
	return s.newClient(ctx, p, f).Serve()
}

// ServeEditor is [Server.ServeFrames] for a client that speaks the Agent Client Protocol. A message has at most
// [Server.EditorMessageBytes].
func (s *Server) ServeEditor(ctx context.Context, p method.Principal, f conn.Frames) error {
	c := s.newClient(ctx, p, f)
	c.beEditor()
	return c.Serve()
}

// beEditor makes it a client that speaks the Agent Client Protocol. Nothing else may run on the connection yet.
func (c *client) beEditor() *acp.Editor { return c.server.editors.Begin(c.Client, c.Caller, c.Method) }

// Editors is the server of the clients that speak the Agent Client Protocol.
func (s *Server) Editors() *acp.Server { return s.editors }

// EditorMessageBytes is how large a message of an editor may be, in bytes.
func (s *Server) EditorMessageBytes() int { return s.editors.MessageBytes() }

// MessageBytes is how large a message may be, in bytes.
func (s *Server) MessageBytes() int { return s.config.MessageBytes }

// native is the protocol of a connection that did not ask for another.
var native = conn.Protocol{Cancel: "$/cancelRequest", CancelID: "id", Urgent: "session/cancel"}

func (s *Server) newClient(ctx context.Context, p method.Principal, f conn.Frames) *client {
	connection := conn.New(ctx, f, conn.Config{Log: s.config.Log, Limit: s.config.MessageBytes, Protocol: native})
	c := &client{Client: s.NewClient(connection, p), Caller: s.config.Of(p, false), server: s}
	c.Speak(c)
	return c
}

// client is a connection that speaks the native protocol, or did so before it became an editor.
type client struct {
	*dispatch.Client
	service.Caller
	server *Server

	greeted  bool                 // initialize was called
	confirms bool                 // it said there that it can ask a person
	name     string               // that the client gave itself there
	logins   map[string]*loginRun // the last one to each provider

	local     *Local // nil: this connection is not the unix socket's
	listening bool   // daemon/listen began what ends with the connection
}

// Method makes it a [dispatch.Protocol].
func (c *client) Method(name string) (method.Bound, bool) {
	m, ok := c.server.byName[name]
	if !ok && c.local != nil {
		m, ok = c.server.private[name]
	}
	return m.For(c), ok
}

// Failure is an error as it is.
func (c *client) Failure(e *conn.Error) *conn.Error { return e }
