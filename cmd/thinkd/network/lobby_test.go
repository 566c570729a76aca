package network

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/provider/testgo"
)

// street is a listener of pipes.
type street struct {
	conns    chan net.Conn
	closed   chan struct{}
	accepted atomic.Int64
}

func (s *street) Accept() (net.Conn, error) {
	select {
	case conn := <-s.conns:
		s.accepted.Add(1)
		return conn, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s *street) Close() error   { close(s.closed); return nil }
func (s *street) Addr() net.Addr { return &net.TCPAddr{} }

// from is a pipe with an address.
type from struct {
	net.Conn
	addr net.Addr
}

func (f from) RemoteAddr() net.Addr { return f.addr }

// lobbyBench is a server in a bubble. At /stay it hands the connection over, as it does with a WebSocket.
type lobbyBench struct {
	t      *testing.T
	street *street
	lobby  *lobby
}

func newLobbyBench(t *testing.T, proxied bool) *lobbyBench {
	b := &lobbyBench{t: t, street: &street{conns: make(chan net.Conn, 1000), closed: make(chan struct{})}}
	b.lobby = newLobby(b.street, proxied)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/stay" {
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, err = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n\r\n")
		}
		if err != nil {
			t.Error(err)
		}
	})
	server := newHTTPServer(handler, b.lobby, nil, discard)
	served := make(chan error)
	testgo.Go(t, func() { served <- server.Serve(b.lobby) }) // Close ends it; awaited at the end
	t.Cleanup(func() {
		if err := errors.Join(server.Close(), <-served); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return b
}

// connect comes from an address, and says something, maybe nothing.
func (b *lobbyBench) connect(host int, text string) net.Conn {
	ours, theirs := net.Pipe()
	b.t.Cleanup(func() { ours.Close() })
	b.street.conns <- from{theirs, &net.TCPAddr{IP: net.IPv4(10, 0, 0, byte(host)), Port: 1000}}
	if text != "" {
		testgo.Go(b.t, func() { io.WriteString(ours, text) }) // ends with the pipe
	}
	return ours
}

// answered tells how a connection was answered; empty: not yet.
func (b *lobbyBench) answered(conn net.Conn) string {
	said := make(chan string, 1)
	testgo.Go(b.t, func() { // ends with the answer or the deadline below
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			said <- ""
			return
		}
		said <- answer.Status
	})
	synctest.Wait()
	select {
	case word := <-said:
		return word
	default:
		conn.SetReadDeadline(time.Now()) // a pipe of ours always takes it
		word := <-said
		conn.SetReadDeadline(time.Time{})
		return word
	}
}

func (b *lobbyBench) want(what string, conn net.Conn, status string) {
	b.t.Helper()
	if got := b.answered(conn); got != status {
		b.t.Errorf("%s: answered %q, want %q", what, got, status)
	}
}

const request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

// A peer that sends nothing takes 16 places for 2 s, and none of others.
func TestHostilePeer(t *testing.T) {
	testgo.Cost(t)
	synctest.Test(t, func(t *testing.T) {
		b := newLobbyBench(t, false)
		begun := time.Now()
		var silent []net.Conn
		for range maxPeerGuests {
			silent = append(silent, b.connect(1, ""))
		}
		synctest.Wait()
		late := b.connect(1, request)
		b.want("one too many of the peer", late, "")
		b.want("another peer", b.connect(2, request), "200 OK")
		silent[0].Close()
		b.want("once there is a place", late, "200 OK")
		for _, conn := range silent[1:] {
			if _, err := io.Copy(io.Discard, conn); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(begun); took != headersTime {
			t.Errorf("they were waited for for %v", took)
		}
		synctest.Wait()
		if n := len(b.lobby.peers); n != 0 || len(b.lobby.places) != 1 { // the one is for the next
			t.Errorf("%d peers and %d places are left", n, len(b.lobby.places))
		}
	})
}

// All that have not shown the token are 128; those that have do not count, and those that come later wait.
func TestHostileConnections(t *testing.T) {
	testgo.Cost(t)
	synctest.Test(t, func(t *testing.T) {
		b := newLobbyBench(t, false)
		stay := "GET /stay HTTP/1.1\r\nHost: x\r\n\r\n"
		for host := range 2 * maxGuests / maxPeerGuests {
			for range maxPeerGuests {
				b.want("one that stays", b.connect(host, stay), "101 Switching Protocols")
			}
		}
		var silent []net.Conn
		for host := range maxGuests / maxPeerGuests {
			for range maxPeerGuests {
				silent = append(silent, b.connect(host, ""))
			}
		}
		late := b.connect(100, request)
		b.want("one too many", late, "")
		if n := b.street.accepted.Load(); n != 3*maxGuests {
			t.Errorf("%d connections were accepted", n)
		}
		silent[0].Close()
		b.want("once there is a place", late, "200 OK")
	})
}

// Behind a proxy all connections have one address: only their number is bounded.
func TestHostileProxied(t *testing.T) {
	testgo.Cost(t)
	synctest.Test(t, func(t *testing.T) {
		b := newLobbyBench(t, true)
		for range maxGuests - 1 {
			b.connect(1, "")
		}
		synctest.Wait()
		b.want("the last place", b.connect(1, request), "200 OK")
	})
}

// A real connection is handed over with its half-close, with TLS and without.
func TestLobbyHandsOver(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	guests := newLobby(l, false)
	defer guests.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	theirs, err := guests.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	guests.state(theirs, http.StateHijacked)
	if len(guests.peers) != 0 || len(guests.places) != 0 {
		t.Errorf("%d peers and %d places are left", len(guests.peers), len(guests.places))
	}
	half, ok := theirs.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		t.Fatal("its direction cannot be ended")
	}
	if _, err := fmt.Fprint(conn, "hello"); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(conn); err != nil || len(rest) != 0 {
		t.Errorf("%q, %v", rest, err)
	}
	text := make([]byte, 5)
	if _, err := io.ReadFull(theirs, text); err != nil || string(text) != "hello" {
		t.Errorf("%q, %v", text, err)
	}
}
