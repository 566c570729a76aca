package jettest

import (
	"net"
	"sync"
	"testing"

	"github.com/thinkd/thinkd/provider/testgo"
)

// Proxy is a TCP connection in front of a server, which a test can break.
type Proxy struct {
	t        testing.TB
	to       string
	listener net.Listener

	pumps sync.WaitGroup

	mu    sync.Mutex
	pairs map[net.Conn]net.Conn // by the end of the client
	lost  bool                  // bytes for the client are thrown away
	down  bool                  // connections end at once
}

// NewProxy makes a proxy of an address. It ends with the test.
func NewProxy(t testing.TB, to string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{t: t, to: to, listener: l, pairs: make(map[net.Conn]net.Conn)}
	ended := testgo.Go(t, p.accept) // ends with the listener
	t.Cleanup(func() {
		l.Close()
		<-ended
		p.Cut()
		p.pumps.Wait()
	})
	return p
}

// URL is what clients connect to.
func (p *Proxy) URL() string { return "nats://" + p.listener.Addr().String() }

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.to)
		if err != nil { // the server is down
			client.Close()
			continue
		}
		if !p.add(client, server) {
			client.Close()
			server.Close()
			continue
		}
		p.pumps.Go(testgo.Guard(p.t, func() { p.pump(server, client, nil) })) // both end with the connections
		p.pumps.Go(testgo.Guard(p.t, func() { p.pump(client, server, p.deaf) }))
	}
}

func (p *Proxy) add(client, server net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.down {
		p.pairs[client] = server
	}
	return !p.down
}

func (p *Proxy) deaf() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

func (p *Proxy) pump(to, from net.Conn, drop func() bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && (drop == nil || !drop()) {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil { // one end is over, so the other one ends too
			return
		}
	}
}

// LoseAnswers throws away what the server sends, until Cut: the server gets and stores what clients send, and they do not know.
func (p *Proxy) LoseAnswers() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost = true
}

// Refuse ends all connections, and each new one, for good.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	p.down = true
	p.mu.Unlock()
	p.Cut()
}

// Cut ends all connections. New ones are whole.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost = false
	for client, server := range p.pairs {
		client.Close()
		server.Close()
	}
	clear(p.pairs)
}
