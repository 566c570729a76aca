package sim

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
)

// Listener serves a Server over connections in memory: the real HTTP stack without a port. Close it.
type Listener struct {
	http   *http.Server
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
	served sync.WaitGroup // the accept loop and the connections
}

// Listen starts serving in memory. The accept loop that it starts is stopped and awaited by Close.
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

// state counts connections: they begin on the accept loop and end when their last handler has returned. One that was
// accepted while http.Server.Close went over the others is closed here.
func (l *Listener) state(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		l.served.Add(1)
		select {
		case <-l.closed:
			c.Close() // a pipe: no error
		default:
		}
	case http.StateClosed:
		l.served.Done()
	}
}

// DialContext opens a connection to the server; network and address do not matter. It fits http.Transport.
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

// Transport is a new client side: every host is this server, by plain HTTP. Its idle connections end with Close or
// with its own CloseIdleConnections.
func (l *Listener) Transport() *http.Transport {
	return &http.Transport{DialContext: l.DialContext}
}

// Close ends all connections and with them the answers that are on their way, and returns when their handlers have.
// Closing twice is closing once.
func (l *Listener) Close() error {
	var err error
	l.once.Do(func() {
		close(l.closed)
		err = l.http.Close()
	})
	l.served.Wait()
	return err
}

// pipes is the net.Listener of a Listener. It leaves the channel `closed` to Close, its only closer.
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
