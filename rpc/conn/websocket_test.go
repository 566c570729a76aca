package conn

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/conntest"
)

// sockets serves WebSockets, until Close or revoke.
type sockets struct {
	server  *server
	ctx     context.Context
	end     context.CancelCauseFunc
	running sync.WaitGroup
}

func newSockets(s *server) *sockets {
	h := &sockets{server: s}
	h.ctx, h.end = context.WithCancelCause(context.Background())
	return h
}

func (h *sockets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, err := AcceptWebSocket(w, r, "thinkd.v1", h.server.limit)
	if err != nil {
		return
	}
	h.running.Go(testgo.Guard(h.server.t, func() { _ = h.server.serve(h.ctx, f) })) // ends with the client or the context; Close waits
}

// Close ends all connections as the daemon does, and returns when nothing of them is left.
func (h *sockets) Close() {
	h.end(ErrClosing)
	h.running.Wait()
}

// revoke ends all connections since their token is void.
func (h *sockets) revoke() { h.end(ErrRevoked) }

// listen serves s on a port of loopback.
func listen(t testing.TB, s *server) net.Addr {
	t.Helper()
	h := newSockets(s)
	t.Cleanup(h.Close)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.Listener.Addr()
}

func TestWebSocketFrames(t *testing.T) {
	const limit = 2000
	one := conntest.Ping("1")
	pong1 := fmt.Sprintf(conntest.Pong, "1")
	over := fmt.Sprintf(conntest.TooLarge, limit)
	fits := conntest.Ping(`"` + strings.Repeat("x", 1000) + `"`)
	fitsPong := fmt.Sprintf(conntest.Pong, `"`+strings.Repeat("x", 1000)+`"`)
	const manyEmpty = 1_000_000
	cases := []struct {
		name, send string
		want       []string
	}{
		{"a message", conntest.Frame(conntest.Fin|conntest.Text, one), []string{pong1, "close 1000"}},
		{"two in one packet", conntest.Frame(conntest.Fin|conntest.Text, one) + conntest.Frame(conntest.Fin|conntest.Text, one), []string{pong1, pong1, "close 1000"}},
		{"length in 16 bits", conntest.Frame(conntest.Fin|conntest.Text, fits), []string{fitsPong, "close 1000"}},
		{"a batch", conntest.Frame(conntest.Fin|conntest.Text, "["+one+"]"), []string{"[" + pong1 + "]", "close 1000"}},
		{"white space around it", conntest.Frame(conntest.Fin|conntest.Text, "\n "+one+"\r\n"), []string{pong1, "close 1000"}},
		{"fragments", conntest.Frame(conntest.Text, one[:10]) + conntest.Frame(conntest.More, one[10:20]) + conntest.Frame(conntest.Fin|conntest.More, one[20:]), []string{pong1, "close 1000"}},
		{"empty fragments", conntest.Frame(conntest.Text, "") + conntest.Frame(conntest.More, "") + conntest.Frame(conntest.More, one) + conntest.Frame(conntest.Fin|conntest.More, ""), []string{pong1, "close 1000"}},
		{"a character in two fragments", conntest.Frame(conntest.Text, `{"jsonrpc":"2.0","id":"`+"\xc3") + conntest.Frame(conntest.Fin|conntest.More, "\xa9"+`","method":"ping"}`),
			[]string{fmt.Sprintf(conntest.Pong, `"é"`), "close 1000"}},
		{"a ping between fragments", conntest.Frame(conntest.Text, one[:10]) + conntest.Frame(conntest.Fin|conntest.PingFrame, "!") + conntest.Frame(conntest.Fin|conntest.More, one[10:]), []string{"pong !", pong1, "close 1000"}},
		{"pongs nobody asked for", strings.Repeat(conntest.Frame(conntest.Fin|conntest.PongFrame, "1"), 20) + conntest.Frame(conntest.Fin|conntest.Text, one), []string{pong1, "close 1000"}},
		{"many empty fragments", conntest.Frame(conntest.Text, "") + strings.Repeat(conntest.Frame(conntest.More, ""), manyEmpty) + conntest.Frame(conntest.Fin|conntest.More, one), []string{pong1, "close 1000"}},
		{"nothing", conntest.Frame(conntest.Fin|conntest.Text, "") + conntest.Frame(conntest.Fin|conntest.Text, one), []string{conntest.ParseError, pong1, "close 1000"}},
		{"no JSON", conntest.Frame(conntest.Fin|conntest.Text, "{") + conntest.Frame(conntest.Fin|conntest.Text, one), []string{conntest.ParseError, pong1, "close 1000"}},
		{"two values", conntest.Frame(conntest.Fin|conntest.Text, one+one), []string{conntest.ParseError, "close 1000"}},
		{"no JSON, again and again", strings.Repeat(conntest.Frame(conntest.Fin|conntest.Text, "{"), 30), append(strings.Split(strings.Repeat(conntest.ParseError+"\n", MaxMalformed-1)+conntest.ParseError, "\n"), "close 1008")},

		{"binary", conntest.Frame(conntest.Fin|conntest.Binary, one), []string{"close 1003"}},
		{"binary in fragments", conntest.Frame(conntest.Binary, one) + conntest.Frame(conntest.Fin|conntest.More, one), []string{"close 1003"}},
		{"not UTF-8", conntest.Frame(conntest.Fin|conntest.Text, one) + conntest.Frame(conntest.Fin|conntest.Text, `"`+"\xff"+`"`), []string{pong1, "close 1007"}},
		{"half a character", conntest.Frame(conntest.Fin|conntest.Text, "\xc3"), []string{"close 1007"}},
		{"a surrogate", conntest.Frame(conntest.Fin|conntest.Text, "\xed\xa0\x80"), []string{"close 1007"}},
		{"too large", conntest.Frame(conntest.Fin|conntest.Text, one) + conntest.Frame(conntest.Fin|conntest.Text, strings.Repeat("x", limit+1)), []string{pong1, over, "close 1009"}},
		{"as large as it may be", conntest.Frame(conntest.Fin|conntest.Text, one+strings.Repeat(" ", limit-len(one))), []string{pong1, "close 1000"}},
		{"too large, more behind it", conntest.Frame(conntest.Fin|conntest.Text, strings.Repeat("x", 100*limit)) + conntest.Frame(conntest.Fin|conntest.Text, one), []string{over, "close 1009"}},
		{"too large in fragments", conntest.Frame(conntest.Text, "") + strings.Repeat(conntest.Frame(conntest.More, strings.Repeat("x", 500)), 5), []string{over, "close 1009"}},
		{"a terabyte announced", "\x81\xff\x00\x00\x01\x00\x00\x00\x00\x00\x01\x02\x03\x04" + strings.Repeat("x", 2*limit), []string{over, "close 1009"}},
		{"more than a number holds announced", "\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02\x03\x04", []string{"close 1002"}},

		{"not masked", "\x81\x02{}", []string{"close 1002"}},
		{"not masked, a ping", "\x89\x00", []string{"close 1002"}},
		{"reserved bit 1", conntest.Frame(conntest.Fin|conntest.RSV1|conntest.Text, one), []string{"close 1002"}},
		{"reserved bit 2", conntest.Frame(conntest.Fin|conntest.RSV2|conntest.Text, one), []string{"close 1002"}},
		{"reserved bit 3", conntest.Frame(conntest.Fin|conntest.RSV3|conntest.Text, one), []string{"close 1002"}},
		{"reserved bit on a ping", conntest.Frame(conntest.Fin|conntest.RSV1|conntest.PingFrame, ""), []string{"close 1002"}},
		{"reserved data opcode", conntest.Frame(conntest.Fin|0x3, one), []string{"close 1002"}},
		{"reserved control opcode", conntest.Frame(conntest.Fin|0xb, ""), []string{"close 1002"}},
		{"a fragment of nothing", conntest.Frame(conntest.Fin|conntest.More, one), []string{"close 1002"}},
		{"a message within another", conntest.Frame(conntest.Text, one) + conntest.Frame(conntest.Fin|conntest.Text, one), []string{"close 1002"}},
		{"a ping in fragments", conntest.Frame(conntest.PingFrame, ""), []string{"close 1002"}},
		{"a large ping", conntest.Frame(conntest.Fin|conntest.PingFrame, strings.Repeat("x", 126)), []string{"close 1002"}},
		{"a close of one byte", conntest.Frame(conntest.Fin|conntest.Closing, "x"), []string{"close 1002"}},
		{"a close with a code that is none", conntest.CloseFrame(1005, ""), []string{"close 1002"}},
		{"a close without a code", conntest.Frame(conntest.Fin|conntest.Closing, ""), []string{"close 1005"}},
		{"a close with a code of its own", conntest.CloseFrame(4321, "bye"), []string{"close 4321"}},
		{"a flood of pings", strings.Repeat(conntest.Frame(conntest.Fin|conntest.PingFrame, ""), 1000),
			append(strings.Split(strings.Repeat("pong \n", maxControl-1)+"pong ", "\n"), "close 1008")},
		{"a flood of pongs", strings.Repeat(conntest.Frame(conntest.Fin|conntest.PongFrame, ""), 1000), []string{"close 1008"}},
	}
	addr := listen(t, testServer(t, limit))
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			c := conntest.Dial(t, addr)
			var sent sync.WaitGroup
			sent.Go(testgo.Guard(t, func() { io.WriteString(c.Conn, tc.send) })) // an error is the server's close; ends with the connection
			enough := len(tc.want) - 1
			if tc.want[enough] != "close 1000" {
				enough = -1
			}
			got := c.Rest(enough)
			c.Conn.Close()
			sent.Wait()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%.2000s", diff)
			}
		})
	}

	t.Run("byte by byte", func(t *testing.T) {
		conn, err := net.Dial(addr.Network(), addr.String())
		if err != nil {
			t.Fatal(err)
		}
		slowly := func(w io.Writer, request string) error {
			_, err := io.CopyBuffer(struct{ io.Writer }{w}, iotest.OneByteReader(strings.NewReader(request)), make([]byte, 1))
			return err
		}
		c := conntest.Upgrade(t, conn, slowly)
		if err := slowly(conn, conntest.Frame(conntest.Fin|conntest.Text, one)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{pong1, "close 1000"}, c.Rest(1)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("first message with the handshake", func(t *testing.T) {
		conn, err := net.Dial(addr.Network(), addr.String())
		if err != nil {
			t.Fatal(err)
		}
		c := conntest.Upgrade(t, conn, func(w io.Writer, request string) error {
			return conntest.AtOnce(w, request+conntest.Frame(conntest.Fin|conntest.Text, fits))
		})
		if diff := cmp.Diff([]string{fitsPong, "close 1000"}, c.Rest(1)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("gone without a word", func(t *testing.T) {
		for _, begun := range []string{"", conntest.Frame(conntest.Text, one), conntest.Frame(conntest.Fin|conntest.Text, one)[:20], "\x81"} {
			c := conntest.Dial(t, addr)
			if err := conntest.AtOnce(c.Conn, begun); err != nil {
				t.Fatal(err)
			}
			c.Conn.(*net.TCPConn).CloseWrite()
			if diff := cmp.Diff([]string{"cut: EOF"}, c.Rest(-1)); diff != "" {
				t.Errorf("after %q: %s", begun, diff)
			}
		}
	})
}

// A large answer comes in frames that leave room for others, and is the same.
func TestWebSocketLargeAnswer(t *testing.T) {
	addr := listen(t, testServer(t, 0))
	c := conntest.Dial(t, addr)
	const times = 500_000
	if err := conntest.AtOnce(c.Conn, conntest.Frame(conntest.Fin|conntest.Text, conntest.Request(1, "echo", fmt.Sprintf(`{"text":"0123456789","times":%d}`, times)))); err != nil {
		t.Fatal(err)
	}
	var whole strings.Builder
	for frames := 0; ; frames++ {
		head, payload, err := c.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if want := byte(conntest.Text); frames == 0 && head != want || frames > 0 && head&^conntest.Fin != conntest.More || len(payload) > fragment {
			t.Fatalf("frame %d: head %x, %d bytes", frames, head, len(payload))
		}
		whole.WriteString(payload)
		if head&conntest.Fin != 0 {
			break
		}
	}
	if want := `{"jsonrpc":"2.0","id":1,"result":{"text":"` + strings.Repeat("0123456789", times) + `"}}`; whole.String() != want {
		t.Errorf("got %d bytes, want %d", whole.Len(), len(want))
	}
}

// Many updates are few writes.
func TestWebSocketGathersFrames(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	counted := &counter{Conn: theirs}
	c := &socket{Conn: counted}
	c.idle.L = &c.mu
	read := make(chan int)
	testgo.Go(t, func() { // ends with the pipe
		n, _ := io.Copy(io.Discard, ours)
		read <- int(n)
	})
	c.hold()
	for range 1000 {
		c.Write([]byte("12345678"))
		if err := c.flushAbove(pieceSize); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.flush(); err != nil {
		t.Fatal(err)
	}
	c.release()
	theirs.Close()
	if got := <-read; got != 8000 || counted.writes != 1 {
		t.Errorf("%d bytes in %d writes", got, counted.writes)
	}
}

type counter struct {
	net.Conn
	writes int
}

func (c *counter) Write(p []byte) (int, error) {
	c.writes++
	return c.Conn.Write(p)
}

// pipes is a listener whose connections have no buffer, and live in a synctest bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

// inBubble runs f with a raw client of a server in a bubble, where nothing may be left of both.
func inBubble(t *testing.T, s *server, f func(t *testing.T, h *sockets, c *conntest.Socket)) {
	synctest.Test(t, func(t *testing.T) {
		h := newSockets(s)
		l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		server := &http.Server{Handler: h}
		served := make(chan error)
		testgo.Go(t, func() { served <- server.Serve(l) }) // server.Close ends it; awaited below
		ours, theirs := net.Pipe()
		defer func() {
			ours.Close()
			if err := server.Close(); err != nil {
				t.Error(err)
			}
			if err := <-served; !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
			h.Close()
		}()
		l.conns <- theirs
		f(t, h, conntest.Upgrade(t, ours, conntest.AtOnce))
	})
}

func TestWebSocketSlowMessage(t *testing.T) {
	inBubble(t, testServer(t, 0), func(t *testing.T, _ *sockets, c *conntest.Socket) {
		var drip sync.WaitGroup
		drip.Go(testgo.Guard(t, func() { // a byte a second, in fragments and with all else in order; ends with the pipe, awaited below
			head := byte(conntest.Text)
			for conntest.AtOnce(c.Conn, conntest.Frame(head, " ")) == nil {
				head = conntest.More
				time.Sleep(time.Second)
			}
		}))
		after, why := c.ClosedAfter(false)
		if after != messageTime || why != "close 1008 the message was not whole in 30s and 1s for each 16 KiB" {
			t.Errorf("after %v: %s", after, why)
		}
		c.Conn.Close()
		drip.Wait()
	})
}

// A large message over a slow connection arrives. If its client falls silent before the end, it has the time for what came, and no more.
func TestWebSocketSlowConnection(t *testing.T) {
	const seconds = 100
	frame := conntest.Frame(conntest.Fin|conntest.Text, strings.Repeat(" ", seconds*messageRate)+conntest.Ping("1"))
	// slow sends part of the frame while the client reads.
	slow := func(t *testing.T, part string, read func(t *testing.T, c *conntest.Socket)) {
		inBubble(t, testServer(t, 0), func(t *testing.T, _ *sockets, c *conntest.Socket) {
			sent := testgo.Go(t, func() { // ends with the part or with the connection; awaited below
				for piece := range slices.Chunk([]byte(part), messageRate) {
					if conntest.AtOnce(c.Conn, string(piece)) != nil {
						return
					}
					time.Sleep(time.Second)
				}
			})
			read(t, c)
			c.Conn.Close()
			<-sent
		})
	}
	t.Run("arrives", func(t *testing.T) {
		slow(t, frame, func(t *testing.T, c *conntest.Socket) {
			head, got, err := c.Receive()
			for err == nil && head == conntest.Fin|conntest.PingFrame {
				head, got, err = c.Receive()
			}
			if err != nil || got != fmt.Sprintf(conntest.Pong, "1") {
				t.Error(got, err)
			}
		})
	})
	t.Run("stops", func(t *testing.T) {
		slow(t, frame[:len(frame)-messageRate/2], func(t *testing.T, c *conntest.Socket) {
			after, why := c.ClosedAfter(false)
			if after != messageTime+(seconds-1)*time.Second || !strings.HasPrefix(why, "close 1008 the message was not whole") {
				t.Errorf("after %v: %s", after, why)
			}
		})
	})
}

func TestWebSocketSilentClient(t *testing.T) {
	inBubble(t, testServer(t, 0), func(t *testing.T, _ *sockets, c *conntest.Socket) {
		after, why := c.ClosedAfter(false)
		if after != 3*pingEvery || why != "close 1008 2 pings were not answered" {
			t.Errorf("after %v: %s", after, why)
		}
	})
}

func TestWebSocketIdleClient(t *testing.T) {
	inBubble(t, testServer(t, 0), func(t *testing.T, h *sockets, c *conntest.Socket) {
		const long = time.Hour + time.Second // no ping is on its way then: a pipe has no room for two
		time.AfterFunc(long, func() { c.Conn.Write([]byte(conntest.CloseFrame(1000, ""))) })
		if after, why := c.ClosedAfter(true); after != long || why != "close 1000 " {
			t.Errorf("after %v: %s", after, why)
		}
	})
}

// A client that takes nothing is cut off. One that wakes up just then reads why.
func TestWebSocketStalledClient(t *testing.T) {
	prompt := conntest.Frame(conntest.Fin|conntest.Text, conntest.Request(1, "echo", `{"text":"0123456789","times":100000}`))
	t.Run("for ever", func(t *testing.T) {
		inBubble(t, testServer(t, 0), func(t *testing.T, h *sockets, c *conntest.Socket) {
			c.Send(prompt)
			stalled := time.Now()
			h.running.Wait()
			if after := time.Since(stalled); after < stallLimit || after > stallLimit+closeTime {
				t.Errorf("after %v", after)
			}
		})
	})
	t.Run("and wakes up", func(t *testing.T) {
		inBubble(t, testServer(t, 0), func(t *testing.T, h *sockets, c *conntest.Socket) {
			c.Send(prompt)
			time.Sleep(stallLimit + closeTime/2)
			if _, why := c.ClosedAfter(true); why != "close 1013 the client took nothing for 10s" {
				t.Error(why)
			}
		})
	})
	t.Run("slow, but there, and pinging", func(t *testing.T) {
		inBubble(t, testServer(t, 0), func(t *testing.T, h *sockets, c *conntest.Socket) {
			c.Send(prompt)
			c.In = bufio.NewReaderSize(&slowly{c.Conn}, pieceSize/2)
			head, first, err := c.Receive()
			if err != nil || head != conntest.Text || len(first) != fragment {
				t.Fatalf("head %x, %d bytes, %v", head, len(first), err)
			}
			c.Send(conntest.Frame(conntest.Fin|conntest.PingFrame, "!"))
			for { // the pong comes between the fragments, not behind them
				head, payload, err := c.Receive()
				if head == conntest.Fin|conntest.PongFrame && payload == "!" {
					return
				}
				if err != nil || head != conntest.More && head != conntest.Fin|conntest.PingFrame { // the server asks as well
					t.Fatalf("head %x, %d bytes, %v", head, len(payload), err)
				}
			}
		})
	})
}

// slowly takes a little every few seconds.
type slowly struct{ io.Reader }

func (s *slowly) Read(p []byte) (int, error) {
	time.Sleep(stallLimit / 3)
	return s.Reader.Read(p)
}

// A daemon that shuts down sends what is still pending, closes the connection with 1001, and takes no more requests.
func TestWebSocketEndOfDaemon(t *testing.T) {
	inBubble(t, testServer(t, 0), func(t *testing.T, h *sockets, c *conntest.Socket) {
		c.Send(conntest.Frame(conntest.Fin|conntest.Text, conntest.Request(1, "follow", `{"session_id":"a","updates":3}`)))
		if _, got, err := c.Receive(); err != nil || got != fmt.Sprintf(conntest.Pong, "1") {
			t.Fatal(got, err)
		}
		closed := make(chan struct{})
		testgo.Go(t, func() { // as the daemon ends; awaited below
			defer close(closed)
			synctest.Wait() // the updates are on their way
			h.Close()
		})
		time.Sleep(time.Millisecond)
		got := c.Rest(-1)
		tick := `{"jsonrpc":"2.0","method":"tick","params":{"session_id":"a","n":%d}}`
		want := []string{fmt.Sprintf(tick, 0), fmt.Sprintf(tick, 1), fmt.Sprintf(tick, 2), "close 1001"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		<-closed
	})
}

// A client that answers no close, or takes nothing at all, holds the end up for a bounded time.
func TestWebSocketEndWithoutAnswer(t *testing.T) {
	for _, tc := range []struct {
		name, begin string
		deaf        bool
		most        time.Duration
	}{
		{"silent", "", false, closeTime},
		{"in a large message", "\x81\xff\x00\x00\x00\x00\x00\x10\x00\x00\x01\x02\x03\x04xxxx", false, closeTime},
		{"an answer not taken", conntest.Frame(conntest.Fin|conntest.Text, conntest.Request(1, "echo", `{"text":"0123456789","times":100000}`)), true, DrainLimit + closeTime},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, testServer(t, 0), func(t *testing.T, h *sockets, c *conntest.Socket) {
				c.Send(tc.begin)
				synctest.Wait()
				if !tc.deaf {
					testgo.Go(t, func() { io.Copy(io.Discard, c.In) }) // ends with the pipe
				}
				start := time.Now()
				h.Close()
				if after := time.Since(start); after > tc.most {
					t.Errorf("it took %v", after)
				}
			})
		})
	}
}

func TestWebSocketRevoked(t *testing.T) {
	inBubble(t, testServer(t, 0), func(t *testing.T, h *sockets, c *conntest.Socket) {
		c.Send(conntest.Frame(conntest.Fin|conntest.Text, conntest.Ping("1")))
		if _, got, err := c.Receive(); err != nil || got != fmt.Sprintf(conntest.Pong, "1") {
			t.Fatal(got, err)
		}
		h.revoke()
		if after, why := c.ClosedAfter(true); after != 0 || why != "close 4001 the token was replaced" {
			t.Errorf("after %v: %s", after, why)
		}
		c.Conn.Write([]byte(conntest.CloseFrame(4001, "")))
	})
}

// Who came with a token that is void is gone within half a second, whatever it does, and gets nothing of what waits.
func TestWebSocketRevokedInMidst(t *testing.T) {
	const large = 1_000_000
	for _, tc := range []struct {
		name, begin string
		reads       func(io.Reader) io.Reader // nil: nothing
	}{
		{"silent", "", func(r io.Reader) io.Reader { return r }},
		{"in a large message", "\x81\xff\x00\x00\x00\x00\x00\x10\x00\x00\x01\x02\x03\x04xxxx", func(r io.Reader) io.Reader { return r }},
		{"an answer not taken", conntest.Frame(conntest.Fin|conntest.Text, conntest.Request(1, "echo", fmt.Sprintf(`{"text":"0123456789","times":%d}`, large/10))), nil},
		{"an answer taken slowly", conntest.Frame(conntest.Fin|conntest.Text, conntest.Request(1, "echo", fmt.Sprintf(`{"text":"0123456789","times":%d}`, large/10))),
			func(r io.Reader) io.Reader { return &slowly{r} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, testServer(t, 0), func(t *testing.T, h *sockets, c *conntest.Socket) {
				c.Send(tc.begin)
				synctest.Wait()
				var got int64
				var reading sync.WaitGroup
				if tc.reads != nil {
					reading.Go(testgo.Guard(t, func() { got, _ = io.Copy(io.Discard, tc.reads(c.In)) })) // ends with the pipe
				}
				replaced := time.Now()
				h.revoke()
				h.running.Wait()
				if after := time.Since(replaced); after > 2*revokeLimit {
					t.Errorf("gone after %v", after)
				}
				reading.Wait()
				if got > large/4 {
					t.Errorf("%d bytes came", got)
				}
			})
		})
	}
}
