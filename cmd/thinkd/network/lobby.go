package network

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Bounds of TCP connections that have not shown the token. One that becomes a WebSocket has, and counts no more.
const (
	maxGuests     = 128             // at once; further ones wait in the system's queue
	maxPeerGuests = 16              // of one address that are read from at once; further ones wait
	headersTime   = 2 * time.Second // for the headers of a request, for its place among those of its address, and until the next request
)

// lobby is a listener that bounds connections until the server hands them over. A burst of clients waits for its turn. A peer
// that sends nothing loses its connections after headersTime, and takes no more than maxPeerGuests places from others.
type lobby struct {
	net.Listener
	proxied bool // all connections come from a proxy, which is no peer

	places chan struct{} // a token for each connection
	closed chan struct{}
	once   sync.Once

	mu    sync.Mutex
	peers map[netip.Addr]*peer
}

// peer is an address with connections in the lobby.
type peer struct {
	guests int           // guarded by the lobby's mu
	places chan struct{} // a token for each that is read from
}

// guest is a connection in the lobby, until left is closed.
type guest struct {
	net.Conn
	lobby *lobby
	peer  *peer

	enter   sync.Once
	placed  bool  // set by enter, as entered is
	entered error // what each Read returns
	leave   sync.Once
	left    chan struct{}
}

func newLobby(l net.Listener, proxied bool) *lobby {
	return &lobby{Listener: l, proxied: proxied, places: make(chan struct{}, maxGuests), closed: make(chan struct{}),
		peers: make(map[netip.Addr]*peer)}
}

// Accept waits for a place, then for a connection.
func (l *lobby) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &guest{Conn: conn, lobby: l, peer: l.meet(conn.RemoteAddr()), left: make(chan struct{})}, nil
}

func (l *lobby) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// address is a peer's; the zero one stands for all that a proxy sends.
func (l *lobby) address(from net.Addr) netip.Addr {
	if tcp, ok := from.(*net.TCPAddr); ok && !l.proxied {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

func (l *lobby) meet(from net.Addr) *peer {
	addr, most := l.address(from), maxPeerGuests
	if l.proxied {
		most = maxGuests
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.peers[addr]
	if p == nil {
		p = &peer{places: make(chan struct{}, most)}
		l.peers[addr] = p
	}
	p.guests++
	return p
}

func (l *lobby) part(from net.Addr, p *peer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.guests--; p.guests == 0 {
		delete(l.peers, l.address(from))
	}
}

// state is for http.Server: a connection that the server hands over leaves the lobby.
func (l *lobby) state(conn net.Conn, now http.ConnState) {
	if now != http.StateHijacked {
		return
	}
	if over, ok := conn.(*tls.Conn); ok {
		conn = over.NetConn()
	}
	if g, ok := conn.(*guest); ok {
		g.depart()
	}
}

var errCrowded = errors.New("the peer has too many connections that have not shown the token")

// Read waits first until few enough connections of the peer are read from.
func (g *guest) Read(p []byte) (int, error) {
	g.enter.Do(func() {
		late := time.NewTimer(headersTime)
		defer late.Stop()
		select {
		case g.peer.places <- struct{}{}:
			g.placed = true
		case <-late.C:
			g.entered = errCrowded
		case <-g.left:
			g.entered = net.ErrClosed
		}
	})
	if g.entered != nil {
		return 0, g.entered
	}
	return g.Conn.Read(p)
}

// CloseWrite is for WebSockets, which end their direction first.
func (g *guest) CloseWrite() error {
	if half, ok := g.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

func (g *guest) Close() error {
	err := g.Conn.Close()
	g.depart()
	return err
}

// depart gives the places back, once.
func (g *guest) depart() {
	g.leave.Do(func() {
		close(g.left)
		g.enter.Do(func() {}) // waits for a Read that is about to enter
		if g.placed {
			<-g.peer.places
		}
		g.lobby.part(g.RemoteAddr(), g.peer)
		<-g.lobby.places
	})
}
