package rpc

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/thinkd/thinkd/rpc/acp"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/dispatch"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/wire"
)

// NewServer makes a server of the native protocol.
func NewServer(config Config) *Server { return newServer(config, nativeMethods()) }

func newServer(config Config, methods []method.Method[*client]) *Server {
	if config.MessageBytes == 0 {
		config.MessageBytes = conn.DefaultMessageBytes
	}
	s := &Server{Server: dispatch.NewServer(config.Log, config.Router, config.Meter, config.Auditor, sharerOf(config)), config: config, methods: methods, out: wire.Encoder{Blobs: config.Blobs, Limit: config.MessageBytes}, byName: make(map[string]method.Method[*client]), known: make(map[string]func() method.Known), private: make(map[string]method.Method[*client])}
	s.crowd = s.Clients
	for _, m := range methods {
		s.byName[m.Name] = m
		s.known[m.Name] = sync.OnceValue(func() method.Known { return method.KnownOf(m.Params, newSchemaSet()) })
	}
	for _, m := range slices.Concat(localMethods(), userMethods()) {
		s.private[m.Name] = m
	}
	s.editors = acp.NewServer(acp.Config{Config: &s.config.Config, Version: config.Version, Encoder: s.out, Logout: s.logout, Login: s.editorLogin})
	return s
}

// editorLogin is the daemon's login as editors have it.
func (s *Server) editorLogin(ctx context.Context, id string, show func(url, code string, expires time.Duration)) error {
	return s.config.Login(ctx, id, func(p LoginPrompt) { show(p.URL, p.Code, p.Expires) })
}

// sharerOf is nil if nothing is shared.
func sharerOf(c Config) dispatch.Sharer {
	if c.Shares == nil {
		return nil // a nil *share.Shares would be a sharer that is no nil
	}
	return c.Shares
}

// Document returns the OpenRPC document that rpc.discover returns in a daemon of this build. version is the program's.
func Document(version string) ([]byte, error) { return describe(nativeMethods(), version) }

// native is the protocol of a connection that did not ask for another.
var native = conn.Protocol{Cancel: "$/cancelRequest", CancelID: "id", Urgent: "session/cancel"}

func (s *Server) newClient(ctx context.Context, p method.Principal, f conn.Frames) *client {
	connection := conn.New(ctx, f, conn.Config{Log: s.config.Log, Limit: s.config.MessageBytes, Protocol: native})
	c := &client{Client: s.NewClient(connection, p), Caller: s.config.Of(p, false), server: s}
	c.Speak(c)
	return c
}

// Serve serves one connection until its end. It returns nil at the end of the client's input, and the cause when ctx has ended. It
// returns the error of a failed read or write (for example if a client hangs up), or the reason why we ended the connection.
// Then nothing of the connection is left running. Messages that are queued at the end have five seconds to be written.
//
// Closing the pipe must end a Read and a Write under way; Serve closes it.
func (s *Server) Serve(ctx context.Context, pipe io.ReadWriteCloser) error {
	return s.newClient(ctx, method.Operator(), conn.NewByteFrames(pipe, s.MessageBytes())).Serve()
}

// ServeFrames is like [Server.Serve], for frames of the principal of a lease. The frames limit a message to [Server.MessageBytes].
func (s *Server) ServeFrames(ctx context.Context, l *auth.Lease, f conn.Frames) error {
	return s.leased(ctx, l, f).Serve()
}

func (s *Server) leased(ctx context.Context, l *auth.Lease, f conn.Frames) *client {
	c := s.newClient(ctx, l.Principal(), f)
	c.Lease = l
	c.Origin.From, c.Origin.Token = l.Origin()
	return c
}

// ServeEditor is [Server.ServeFrames] for a client that speaks the Agent Client Protocol. A message has at most
// [Server.EditorMessageBytes].
func (s *Server) ServeEditor(ctx context.Context, l *auth.Lease, f conn.Frames) error {
	c := s.leased(ctx, l, f)
	c.beEditor()
	return c.Serve()
}

// ServeLink is [Server.ServeFrames] for a client of another node. dialect is the word for the client's protocol, see [dispatch.Client].
func (s *Server) ServeLink(ctx context.Context, l *auth.Lease, dialect string, f conn.Frames) error {
	c := s.leased(ctx, l, f)
	c.Linked()
	l.Replaced(func(g auth.Grant) { c.SetRights(g.Principal.Rights) })
	if dialect == door.ProtocolACP {
		c.beEditor()
	}
	return c.Serve()
}

// ServeLocal is [Server.Serve] with the methods of local besides the protocol's.
func (s *Server) ServeLocal(ctx context.Context, pipe io.ReadWriteCloser, local *Local) error {
	c := s.newClient(ctx, method.Operator(), conn.NewByteFrames(pipe, s.MessageBytes()))
	c.local, c.SameUser = local, local != nil
	c.Origin.From = "socket"
	return c.Serve()
}
