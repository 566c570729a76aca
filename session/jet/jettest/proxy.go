package jettest

import (
	"bytes"
	"net"
	"regexp"
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

	mu     sync.Mutex
	pairs  map[net.Conn]*pair // by the end of the client
	lost   bool               // bytes for the client are thrown away
	hole   bool               // all bytes are thrown away, and connections stay
	down   bool               // connections end at once
	bait   []byte             // a client that sends it loses its connection, and the server does not get it
	bites  int                // how many connections are to end by the bait
	barred map[string]bool    // names of servers whose routes end at once
}

// pair is a connection of a client, and the one to the server.
type pair struct {
	server net.Conn
	name   string // of a server that is the client here; empty: not known, or no server
}

// NewProxy makes a proxy of an address. It ends with the test.
func NewProxy(t testing.TB, to string) *Proxy {
	t.Helper()
	p := listen(t)
	p.begin(to)
	return p
}

// listen makes a proxy that has an address, and accepts nothing before begin.
func listen(t testing.TB) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &Proxy{t: t, listener: l, pairs: make(map[net.Conn]*pair), barred: make(map[string]bool)}
}

func (p *Proxy) begin(to string) {
	p.to = to
	ended := testgo.Go(p.t, p.accept) // ends with the listener
	p.t.Cleanup(func() {
		p.listener.Close()
		<-ended
		p.Cut()
		p.pumps.Wait()
	})
}

// URL is what clients connect to.
func (p *Proxy) URL() string { return "nats://" + p.Address() }

// Address is that of the proxy.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

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
		p.pumps.Go(testgo.Guard(p.t, func() { p.pump(server, client, client, p.sent) })) // both end with the connections
		p.pumps.Go(testgo.Guard(p.t, func() { p.pump(client, server, client, p.answered) }))
	}
}

func (p *Proxy) add(client, server net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.down {
		p.pairs[client] = &pair{server: server}
	}
	return !p.down
}

// fate is what becomes of bytes.
type fate int

const (
	pass fate = iota
	drop
	end // of the connection
)

func (p *Proxy) answered(net.Conn, []byte) fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost || p.hole {
		return drop
	}
	return pass
}

// serverName finds the name of the server that begins a route: its first messages say it.
var serverName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"server_name":"([^"]*)"`) })

func (p *Proxy) sent(client net.Conn, b []byte) fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.pairs[client]; len(p.barred) > 0 && one != nil && one.name == "" {
		if name := serverName().FindSubmatch(b); name != nil {
			one.name = string(name[1])
			if p.barred[one.name] {
				return end
			}
		}
	}
	switch {
	case p.bites > 0 && bytes.Contains(b, p.bait):
		p.bites--
		return end
	case p.hole:
		return drop
	}
	return pass
}

// pump passes bytes on until one end is over, and then the other one ends too.
func (p *Proxy) pump(to, from, client net.Conn, judge func(client net.Conn, b []byte) fate) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			switch judge(client, buffer[:n]) {
			case pass:
				if _, err := to.Write(buffer[:n]); err != nil {
					return
				}
			case end:
				return
			case drop:
			}
		}
		if err != nil {
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

// Swallow throws away all bytes in both directions, until Cut: connections stay, and new ones are accepted.
func (p *Proxy) Swallow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hole = true
}

// CutAt ends the next n connections over which a client sends the text. The server does not get the bytes that have it.
func (p *Proxy) CutAt(text string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bait, p.bites = []byte(text), n
}

// Bites is how many connections are still to end by CutAt.
func (p *Proxy) Bites() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bites
}

// Refuse ends all connections, and each new one, until Accept.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	p.down = true
	p.mu.Unlock()
	p.Cut()
}

// Accept has new connections go through again.
func (p *Proxy) Accept() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}

// Cut ends all connections. New ones are whole.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost, p.hole = false, false
	for client, one := range p.pairs {
		client.Close()
		one.server.Close()
	}
	clear(p.pairs)
}

// bar ends the connections that a server makes here, and each new one, until it is allowed again.
func (p *Proxy) bar(name string, barred bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.barred[name] = barred
	for client, one := range p.pairs {
		if barred && one.name == name {
			client.Close()
			one.server.Close()
			delete(p.pairs, client)
		}
	}
}
