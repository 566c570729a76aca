package sim

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
)

// Listener serves a Server through the real HTTP stack over connections in memory, without a port. Its methods may be called
// from any goroutine. The caller has to call Close.
type Listener struct {
	http   *http.Server
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
	served sync.WaitGroup // the accept loop and the connections
}

// Listen starts to serve in memory. It starts an accept loop, which Close stops and waits for.
func (s *Server) Listen() *Listener {
	l := &Listener{accept: make(chan net.Conn), closed: make(chan struct{})}
	l.http = &http.Server{
		Handler:   s,
		ErrorLog:  slog.NewLogLogger(s.config.Log.Handler(), slog.LevelDebug),
		ConnState: l.state,
	}
	l.served.Go(func() {
		if err := l.http.Serve(pipes{l}); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			s.config.Log.Error("simulator in memory", "err", err)
		}
	})
	return l
}

// state counts the open connections. They begin on the accept loop and end when their last handler has returned.
// http.Server.Close does not see a connection that is accepted while it runs, so that one is closed here.
func (l *Listener) state(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		l.served.Add(1)
		select {
		case <-l.closed:
			c.Close() // a net.Pipe returns no error
		default:
		}
	case http.StateClosed:
		l.served.Done()
	}
}

// DialContext opens a connection to the server. It ignores network and address. Its type is that of
// http.Transport.DialContext.
func (l *Listener) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.accept <- server:
		return client, nil
	case <-l.closed:
		return nil, errors.Join(net.ErrClosed, client.Close(), server.Close())
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), client.Close(), server.Close())
	}
}

// Transport returns a new transport that reaches this server under every host name, by plain HTTP. Its idle connections end
// with Close or with its own CloseIdleConnections.
func (l *Listener) Transport() *http.Transport {
	return &http.Transport{DialContext: l.DialContext}
}

// Close closes all connections, which ends all answers, and returns after their handlers have returned. Later calls wait too
// and return nil.
func (l *Listener) Close() error {
	var err error
	l.once.Do(func() {
		close(l.closed)
		err = l.http.Close()
	})
	l.served.Wait()
	return err
}

// pipes is the net.Listener of a Listener. Its Close does nothing: Listener.Close closes the channel.
type pipes struct{ l *Listener }

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.l.accept:
		return c, nil
	case <-p.l.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return address{} }

type address struct{}

func (address) Network() string { return "memory" }
func (address) String() string  { return "simulator" }
