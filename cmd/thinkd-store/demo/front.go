package demo

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// front is the address for clients: it passes each connection on to a node, to one after another. A node that refuses is passed over.
type front struct {
	listener net.Listener
	nodes    []string

	mu   sync.Mutex
	next int
}

const (
	dialTime       = time.Second
	maxConnections = 256 // a client more waits until another one leaves
)

// run ends with ctx, and with it all connections.
func (f *front) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { f.listener.Close() })
	defer stop()
	var serving sync.WaitGroup
	defer serving.Wait()
	places := make(chan struct{}, maxConnections)
	for {
		c, err := f.listener.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return c.Close()
		}
		serving.Go(func() { // ends with either end of the connection, or with ctx
			f.serve(ctx, c)
			<-places
		})
	}
}

// serve connects a client with a node until either hangs up. A client whom no node takes sees the end of its connection, and tries again.
func (f *front) serve(ctx context.Context, client net.Conn) {
	defer client.Close()
	node := f.dial(ctx)
	if node == nil {
		return
	}
	defer node.Close()
	stop := context.AfterFunc(ctx, func() {
		client.Close()
		node.Close()
	})
	defer stop()
	var passing sync.WaitGroup
	passing.Go(func() { // ends when either is closed
		_, _ = io.Copy(node, client) // an error is the end of one of them, which the other sees
		node.Close()
	})
	_, _ = io.Copy(client, node)
	client.Close()
	passing.Wait()
}

// dial is a connection to the node whose turn it is, or to the next one that accepts it; nil: none does.
func (f *front) dial(ctx context.Context) net.Conn {
	f.mu.Lock()
	first := f.next
	f.next++
	f.mu.Unlock()
	d := net.Dialer{Timeout: dialTime}
	for i := range f.nodes {
		if c, err := d.DialContext(ctx, "tcp", f.nodes[(first+i)%len(f.nodes)]); err == nil {
			return c
		}
	}
	return nil
}
