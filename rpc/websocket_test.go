package rpc

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
)

const testToken = "Zm9ydHktdGhyZWUgY2hhcmFjdGVycyBvZiBiYXNlNjQ"

// testHTTP serves s to whoever has testToken, under the name of a listener that has not been made yet.
func testHTTP(t testing.TB, s *Server, c HTTPConfig) *HTTP {
	t.Helper()
	c.Token = provider.NewSecret(testToken)
	if c.Port == 0 {
		c.Hosts = append(c.Hosts, "thinkd.test")
	}
	h := s.HTTP(c)
	t.Cleanup(h.Close)
	return h
}

// listen puts a handler on a port of loopback.
func listenOn(t testing.TB, h *HTTP) net.Addr {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.Listener.Addr()
}

// raw is a client that knows bytes only, so that it can break rules.
type rawSocket struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
}

const handshake = "GET /rpc HTTP/1.1\r\nHost: thinkd.test:0\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: thinkd.v1, thinkd.token." + testToken + "\r\n" +
	"Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\r\n"

// upgrade shakes hands, the request being written by say.
func upgrade(t testing.TB, conn net.Conn, say func(w io.Writer, request string) error) *rawSocket {
	t.Helper()
	t.Cleanup(func() { conn.Close() })
	c := &rawSocket{t, conn, bufio.NewReader(conn)}
	if err := say(conn, handshake); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(c.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{answer.Status, answer.Header.Get("Sec-WebSocket-Accept"), answer.Header.Get("Sec-WebSocket-Protocol"), answer.Header.Get("Sec-WebSocket-Extensions")}
	want := []string{"101 Switching Protocols", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "thinkd.v1", ""} // RFC 6455, section 1.3
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	return c
}

func atOnce(w io.Writer, request string) error {
	_, err := io.WriteString(w, request)
	return err
}

func dialRaw(t testing.TB, addr net.Addr) *rawSocket {
	t.Helper()
	conn, err := net.Dial(addr.Network(), addr.String())
	if err != nil {
		t.Fatal(err)
	}
	return upgrade(t, conn, atOnce)
}

// Bits and opcodes of RFC 6455, section 5.2.
const (
	fin, rsv1, rsv2, rsv3                    = 0x80, 0x40, 0x20, 0x10
	more, text, bin, closing, ping10, pong11 = 0x0, 0x1, 0x2, 0x8, 0x9, 0xa
)

// frame is a masked frame, as a client sends it.
func frame(head byte, payload string) string {
	var b bytes.Buffer
	b.WriteByte(head)
	switch n := len(payload); {
	case n < 126:
		b.WriteByte(0x80 | byte(n))
	case n < 1<<16:
		b.WriteByte(0x80 | 126)
		binary.Write(&b, binary.BigEndian, uint16(n))
	default:
		b.WriteByte(0x80 | 127)
		binary.Write(&b, binary.BigEndian, uint64(n))
	}
	mask := []byte{1, 2, 3, 4}
	b.Write(mask)
	for i := range len(payload) {
		b.WriteByte(payload[i] ^ mask[i%4])
	}
	return b.String()
}

func closeFrame(code uint16, reason string) string {
	return frame(fin|closing, string(binary.BigEndian.AppendUint16(nil, code))+reason)
}

// receive is the next frame of the server.
func (c *rawSocket) receive() (head byte, payload string, err error) {
	var start [2]byte
	if _, err := io.ReadFull(c.in, start[:]); err != nil {
		return 0, "", err
	}
	n := uint64(start[1])
	switch n {
	case 126:
		var length uint16
		err = binary.Read(c.in, binary.BigEndian, &length)
		n = uint64(length)
	case 127:
		err = binary.Read(c.in, binary.BigEndian, &n)
	}
	if err != nil {
		return 0, "", err
	}
	body := make([]byte, n)
	_, err = io.ReadFull(c.in, body)
	return start[0], string(body), err
}

// rest is what the server says until it closes: texts and pongs as they are, and its code. It is answered as it must.
// After so many frames the client closes itself.
func (c *rawSocket) rest(enough int) (said []string) {
	c.t.Helper()
	for {
		if len(said) == enough {
			c.conn.Write([]byte(closeFrame(1000, "bye"))) // it may have hung up
		}
		head, payload, err := c.receive()
		switch {
		case err != nil:
			return append(said, "cut: "+err.Error())
		case head == fin|closing:
			c.conn.Write([]byte(frame(head, payload))) // it may have hung up
			code := uint16(1005)
			if len(payload) >= 2 {
				code = binary.BigEndian.Uint16([]byte(payload))
			}
			return append(said, fmt.Sprintf("close %d", code))
		case head == fin|text:
			said = append(said, payload)
		case head == fin|pong11:
			said = append(said, "pong "+payload)
		default:
			said = append(said, fmt.Sprintf("frame %x %q", head, payload))
		}
	}
}

func TestWebSocketFrames(t *testing.T) {
	const limit = 2000
	one := pingWith("1")
	pong1 := fmt.Sprintf(pong, "1")
	over := fmt.Sprintf(tooLargeAnswer, limit)
	fits := pingWith(`"` + strings.Repeat("x", 1000) + `"`)
	fitsPong := fmt.Sprintf(pong, `"`+strings.Repeat("x", 1000)+`"`)
	const manyEmpty = 1_000_000
	cases := []struct {
		name, send string
		want       []string
	}{
		{"a message", frame(fin|text, one), []string{pong1, "close 1000"}},
		{"two in one packet", frame(fin|text, one) + frame(fin|text, one), []string{pong1, pong1, "close 1000"}},
		{"length in 16 bits", frame(fin|text, fits), []string{fitsPong, "close 1000"}},
		{"a batch", frame(fin|text, "["+one+"]"), []string{"[" + pong1 + "]", "close 1000"}},
		{"white space around it", frame(fin|text, "\n "+one+"\r\n"), []string{pong1, "close 1000"}},
		{"fragments", frame(text, one[:10]) + frame(more, one[10:20]) + frame(fin|more, one[20:]), []string{pong1, "close 1000"}},
		{"empty fragments", frame(text, "") + frame(more, "") + frame(more, one) + frame(fin|more, ""), []string{pong1, "close 1000"}},
		{"a character in two fragments", frame(text, `{"jsonrpc":"2.0","id":"`+"\xc3") + frame(fin|more, "\xa9"+`","method":"ping"}`),
			[]string{fmt.Sprintf(pong, `"é"`), "close 1000"}},
		{"a ping between fragments", frame(text, one[:10]) + frame(fin|ping10, "!") + frame(fin|more, one[10:]), []string{"pong !", pong1, "close 1000"}},
		{"pongs nobody asked for", strings.Repeat(frame(fin|pong11, "1"), 20) + frame(fin|text, one), []string{pong1, "close 1000"}},
		{"many empty fragments", frame(text, "") + strings.Repeat(frame(more, ""), manyEmpty) + frame(fin|more, one), []string{pong1, "close 1000"}},
		{"nothing", frame(fin|text, "") + frame(fin|text, one), []string{parseError, pong1, "close 1000"}},
		{"no JSON", frame(fin|text, "{") + frame(fin|text, one), []string{parseError, pong1, "close 1000"}},
		{"two values", frame(fin|text, one+one), []string{parseError, "close 1000"}},
		{"no JSON, again and again", strings.Repeat(frame(fin|text, "{"), 30), append(strings.Split(strings.Repeat(parseError+"\n", maxMalformed-1)+parseError, "\n"), "close 1008")},

		{"binary", frame(fin|bin, one), []string{"close 1003"}},
		{"binary in fragments", frame(bin, one) + frame(fin|more, one), []string{"close 1003"}},
		{"not UTF-8", frame(fin|text, one) + frame(fin|text, `"`+"\xff"+`"`), []string{pong1, "close 1007"}},
		{"half a character", frame(fin|text, "\xc3"), []string{"close 1007"}},
		{"a surrogate", frame(fin|text, "\xed\xa0\x80"), []string{"close 1007"}},
		{"too large", frame(fin|text, one) + frame(fin|text, strings.Repeat("x", limit+1)), []string{pong1, over, "close 1009"}},
		{"as large as it may be", frame(fin|text, one+strings.Repeat(" ", limit-len(one))), []string{pong1, "close 1000"}},
		{"too large, more behind it", frame(fin|text, strings.Repeat("x", 100*limit)) + frame(fin|text, one), []string{over, "close 1009"}},
		{"too large in fragments", frame(text, "") + strings.Repeat(frame(more, strings.Repeat("x", 500)), 5), []string{over, "close 1009"}},
		{"a terabyte announced", "\x81\xff\x00\x00\x01\x00\x00\x00\x00\x00\x01\x02\x03\x04" + strings.Repeat("x", 2*limit), []string{over, "close 1009"}},
		{"more than a number holds announced", "\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02\x03\x04", []string{"close 1002"}},

		{"not masked", "\x81\x02{}", []string{"close 1002"}},
		{"not masked, a ping", "\x89\x00", []string{"close 1002"}},
		{"reserved bit 1", frame(fin|rsv1|text, one), []string{"close 1002"}},
		{"reserved bit 2", frame(fin|rsv2|text, one), []string{"close 1002"}},
		{"reserved bit 3", frame(fin|rsv3|text, one), []string{"close 1002"}},
		{"reserved bit on a ping", frame(fin|rsv1|ping10, ""), []string{"close 1002"}},
		{"reserved data opcode", frame(fin|0x3, one), []string{"close 1002"}},
		{"reserved control opcode", frame(fin|0xb, ""), []string{"close 1002"}},
		{"a fragment of nothing", frame(fin|more, one), []string{"close 1002"}},
		{"a message within another", frame(text, one) + frame(fin|text, one), []string{"close 1002"}},
		{"a ping in fragments", frame(ping10, ""), []string{"close 1002"}},
		{"a large ping", frame(fin|ping10, strings.Repeat("x", 126)), []string{"close 1002"}},
		{"a close of one byte", frame(fin|closing, "x"), []string{"close 1002"}},
		{"a close with a code that is none", closeFrame(1005, ""), []string{"close 1002"}},
		{"a close without a code", frame(fin|closing, ""), []string{"close 1005"}},
		{"a close with a code of its own", closeFrame(4321, "bye"), []string{"close 4321"}},
		{"a flood of pings", strings.Repeat(frame(fin|ping10, ""), 1000),
			append(strings.Split(strings.Repeat("pong \n", maxControl-1)+"pong ", "\n"), "close 1008")},
		{"a flood of pongs", strings.Repeat(frame(fin|pong11, ""), 1000), []string{"close 1008"}},
	}
	addr := listenOn(t, testHTTP(t, testServer(t, Config{MessageBytes: limit}), HTTPConfig{Hosts: []string{"thinkd.test:0"}, Port: 1}))
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			c := dialRaw(t, addr)
			var sent sync.WaitGroup
			sent.Go(testgo.Guard(t, func() { io.WriteString(c.conn, tc.send) })) // an error is the server's close; ends with the connection
			enough := len(tc.want) - 1
			if tc.want[enough] != "close 1000" {
				enough = -1
			}
			got := c.rest(enough)
			c.conn.Close()
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
		c := upgrade(t, conn, slowly)
		if err := slowly(conn, frame(fin|text, one)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{pong1, "close 1000"}, c.rest(1)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("first message with the handshake", func(t *testing.T) {
		conn, err := net.Dial(addr.Network(), addr.String())
		if err != nil {
			t.Fatal(err)
		}
		c := upgrade(t, conn, func(w io.Writer, request string) error { return atOnce(w, request+frame(fin|text, fits)) })
		if diff := cmp.Diff([]string{fitsPong, "close 1000"}, c.rest(1)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("gone without a word", func(t *testing.T) {
		for _, begun := range []string{"", frame(text, one), frame(fin|text, one)[:20], "\x81"} {
			c := dialRaw(t, addr)
			if err := atOnce(c.conn, begun); err != nil {
				t.Fatal(err)
			}
			c.conn.(*net.TCPConn).CloseWrite()
			if diff := cmp.Diff([]string{"cut: EOF"}, c.rest(-1)); diff != "" {
				t.Errorf("after %q: %s", begun, diff)
			}
		}
	})
}

// A large answer comes in frames that leave room for others, and is the same.
func TestWebSocketLargeAnswer(t *testing.T) {
	addr := listenOn(t, testHTTP(t, testServer(t, Config{}), HTTPConfig{Hosts: []string{"thinkd.test:0"}, Port: 1}))
	c := dialRaw(t, addr)
	const times = 500_000
	if err := atOnce(c.conn, frame(fin|text, request(1, "echo", fmt.Sprintf(`{"text":"0123456789","times":%d}`, times)))); err != nil {
		t.Fatal(err)
	}
	var whole strings.Builder
	for frames := 0; ; frames++ {
		head, payload, err := c.receive()
		if err != nil {
			t.Fatal(err)
		}
		if want := byte(text); frames == 0 && head != want || frames > 0 && head&^fin != more || len(payload) > fragment {
			t.Fatalf("frame %d: head %x, %d bytes", frames, head, len(payload))
		}
		whole.WriteString(payload)
		if head&fin != 0 {
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
	c := &gathered{Conn: counted}
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
func inBubble(t *testing.T, s *Server, f func(t *testing.T, h *HTTP, c *rawSocket)) {
	synctest.Test(t, func(t *testing.T) {
		h := s.HTTP(HTTPConfig{Token: provider.NewSecret(testToken), Port: 1, Hosts: []string{"thinkd.test:0"}})
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
		f(t, h, upgrade(t, ours, atOnce))
	})
}

func (c *rawSocket) send(t *testing.T, frames string) {
	t.Helper()
	if err := atOnce(c.conn, frames); err != nil {
		t.Fatal(err)
	}
}

// closedAfter waits for the close and says when it came. The client answers pings where it is told to.
func (c *rawSocket) closedAfter(answer bool) (time.Duration, string) {
	begin := time.Now()
	for {
		head, payload, err := c.receive()
		switch {
		case err != nil:
			return time.Since(begin), "cut: " + err.Error()
		case head == fin|closing:
			return time.Since(begin), fmt.Sprintf("close %d %s", binary.BigEndian.Uint16([]byte(payload)), payload[2:])
		case head == fin|ping10 && answer:
			if err := atOnce(c.conn, frame(fin|pong11, payload)); err != nil {
				return time.Since(begin), "cut: " + err.Error()
			}
		}
	}
}

func TestWebSocketSlowMessage(t *testing.T) {
	inBubble(t, testServer(t, Config{}), func(t *testing.T, _ *HTTP, c *rawSocket) {
		var drip sync.WaitGroup
		drip.Go(testgo.Guard(t, func() { // a byte a second, in fragments and with all else in order; ends with the pipe, awaited below
			head := byte(text)
			for atOnce(c.conn, frame(head, " ")) == nil {
				head = more
				time.Sleep(time.Second)
			}
		}))
		after, why := c.closedAfter(false)
		if after != messageTime || why != "close 1008 the message was not whole in 30s" {
			t.Errorf("after %v: %s", after, why)
		}
		c.conn.Close()
		drip.Wait()
	})
}

func TestWebSocketSilentClient(t *testing.T) {
	inBubble(t, testServer(t, Config{}), func(t *testing.T, _ *HTTP, c *rawSocket) {
		after, why := c.closedAfter(false)
		if after != 3*pingEvery || why != "close 1008 2 pings were not answered" {
			t.Errorf("after %v: %s", after, why)
		}
	})
}

func TestWebSocketIdleClient(t *testing.T) {
	inBubble(t, testServer(t, Config{}), func(t *testing.T, h *HTTP, c *rawSocket) {
		const long = time.Hour + time.Second // no ping is on its way then: a pipe has no room for two
		time.AfterFunc(long, func() { c.conn.Write([]byte(closeFrame(1000, ""))) })
		if after, why := c.closedAfter(true); after != long || why != "close 1000 " {
			t.Errorf("after %v: %s", after, why)
		}
	})
}

// A client that takes nothing is cut off. One that wakes up just then reads why.
func TestWebSocketStalledClient(t *testing.T) {
	prompt := frame(fin|text, request(1, "echo", `{"text":"0123456789","times":100000}`))
	t.Run("for ever", func(t *testing.T) {
		inBubble(t, testServer(t, Config{}), func(t *testing.T, h *HTTP, c *rawSocket) {
			c.send(t, prompt)
			stalled := time.Now()
			h.running.Wait()
			if after := time.Since(stalled); after < stallLimit || after > stallLimit+closeTime {
				t.Errorf("after %v", after)
			}
		})
	})
	t.Run("and wakes up", func(t *testing.T) {
		inBubble(t, testServer(t, Config{}), func(t *testing.T, h *HTTP, c *rawSocket) {
			c.send(t, prompt)
			time.Sleep(stallLimit + closeTime/2)
			if _, why := c.closedAfter(true); why != "close 1013 the client took nothing for 10s" {
				t.Error(why)
			}
		})
	})
	t.Run("slow, but there, and pinging", func(t *testing.T) {
		inBubble(t, testServer(t, Config{}), func(t *testing.T, h *HTTP, c *rawSocket) {
			c.send(t, prompt)
			c.in = bufio.NewReaderSize(&slowly{c.conn}, pieceSize/2)
			head, first, err := c.receive()
			if err != nil || head != text || len(first) != fragment {
				t.Fatalf("head %x, %d bytes, %v", head, len(first), err)
			}
			c.send(t, frame(fin|ping10, "!"))
			for { // the pong comes between the fragments, not behind them
				head, payload, err := c.receive()
				if head == fin|pong11 && payload == "!" {
					return
				}
				if err != nil || head != more && head != fin|ping10 { // the server asks as well
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

// What ends with the daemon ends with 1001, after what was still to be told, and takes no more requests.
func TestWebSocketEndOfDaemon(t *testing.T) {
	inBubble(t, testServer(t, Config{}), func(t *testing.T, h *HTTP, c *rawSocket) {
		c.send(t, frame(fin|text, request(1, "follow", `{"session_id":"a","updates":3}`)))
		if _, got, err := c.receive(); err != nil || got != fmt.Sprintf(pong, "1") {
			t.Fatal(got, err)
		}
		closed := make(chan struct{})
		testgo.Go(t, func() { // as the daemon ends; awaited below
			defer close(closed)
			if err := h.server.Drain(t.Context()); err != nil {
				t.Error(err)
			}
			h.Close()
		})
		time.Sleep(time.Millisecond)
		got := c.rest(-1)
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
		{"an answer not taken", frame(fin|text, request(1, "echo", `{"text":"0123456789","times":100000}`)), true, drainLimit + closeTime},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, testServer(t, Config{}), func(t *testing.T, h *HTTP, c *rawSocket) {
				c.send(t, tc.begin)
				synctest.Wait()
				if !tc.deaf {
					testgo.Go(t, func() { io.Copy(io.Discard, c.in) }) // ends with the pipe
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

func TestWebSocketTokenReplaced(t *testing.T) {
	inBubble(t, testServer(t, Config{}), func(t *testing.T, h *HTTP, c *rawSocket) {
		h.SetToken(provider.NewSecret(testToken)) // the same: nothing happens
		c.send(t, frame(fin|text, pingWith("1")))
		if _, got, err := c.receive(); err != nil || got != fmt.Sprintf(pong, "1") {
			t.Fatal(got, err)
		}
		h.SetToken(provider.NewSecret("b3RoZXI"))
		if after, why := c.closedAfter(true); after != 0 || why != "close 4001 the token was replaced" {
			t.Errorf("after %v: %s", after, why)
		}
		c.conn.Write([]byte(closeFrame(4001, "")))
	})
}

// Who came with a token that is void is gone within half a second, whatever it does, and gets nothing of what waits.
func TestWebSocketTokenReplacedBehindTheBack(t *testing.T) {
	const large = 1_000_000
	for _, tc := range []struct {
		name, begin string
		reads       func(io.Reader) io.Reader // nil: nothing
	}{
		{"silent", "", func(r io.Reader) io.Reader { return r }},
		{"in a large message", "\x81\xff\x00\x00\x00\x00\x00\x10\x00\x00\x01\x02\x03\x04xxxx", func(r io.Reader) io.Reader { return r }},
		{"an answer not taken", frame(fin|text, request(1, "echo", fmt.Sprintf(`{"text":"0123456789","times":%d}`, large/10))), nil},
		{"an answer taken slowly", frame(fin|text, request(1, "echo", fmt.Sprintf(`{"text":"0123456789","times":%d}`, large/10))),
			func(r io.Reader) io.Reader { return &slowly{r} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, testServer(t, Config{}), func(t *testing.T, h *HTTP, c *rawSocket) {
				c.send(t, tc.begin)
				synctest.Wait()
				var got int64
				var reading sync.WaitGroup
				if tc.reads != nil {
					reading.Go(testgo.Guard(t, func() { got, _ = io.Copy(io.Discard, tc.reads(c.in)) })) // ends with the pipe
				}
				replaced := time.Now()
				h.SetToken(provider.NewSecret("b3RoZXI"))
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
