package conntest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Socket is a client of a WebSocket that knows bytes only, so that it can break rules.
type Socket struct {
	t    testing.TB
	Conn net.Conn
	In   *bufio.Reader
}

// Token is shown in the handshake.
const Token = "Zm9ydHktdGhyZWUgY2hhcmFjdGVycyBvZiBiYXNlNjQ"

const handshake = "GET /rpc HTTP/1.1\r\nHost: thinkd.test:0\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: thinkd.v1, thinkd.token." + Token + "\r\n" +
	"Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\r\n"

// Upgrade shakes hands, the request being written by say.
func Upgrade(t testing.TB, conn net.Conn, say func(w io.Writer, request string) error) *Socket {
	t.Helper()
	t.Cleanup(func() { conn.Close() })
	c := &Socket{t, conn, bufio.NewReader(conn)}
	if err := say(conn, handshake); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(c.In, nil)
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

// AtOnce writes a request with one call.
func AtOnce(w io.Writer, request string) error {
	_, err := io.WriteString(w, request)
	return err
}

// Dial connects and shakes hands.
func Dial(t testing.TB, addr net.Addr) *Socket {
	t.Helper()
	return DialAs(t, addr, Token)
}

// DialAs is Dial with another token.
func DialAs(t testing.TB, addr net.Addr, token string) *Socket {
	t.Helper()
	conn, err := net.Dial(addr.Network(), addr.String())
	if err != nil {
		t.Fatal(err)
	}
	return Upgrade(t, conn, func(w io.Writer, request string) error {
		return AtOnce(w, strings.Replace(request, Token, token, 1))
	})
}

// Bits and opcodes of RFC 6455, section 5.2.
const (
	Fin, RSV1, RSV2, RSV3                             = 0x80, 0x40, 0x20, 0x10
	More, Text, Binary, Closing, PingFrame, PongFrame = 0x0, 0x1, 0x2, 0x8, 0x9, 0xa
)

// Frame is a masked frame, as a client sends it.
func Frame(head byte, payload string) string {
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

// CloseFrame is a masked close.
func CloseFrame(code uint16, reason string) string {
	return Frame(Fin|Closing, string(binary.BigEndian.AppendUint16(nil, code))+reason)
}

// Receive is the next frame of the server.
func (c *Socket) Receive() (head byte, payload string, err error) {
	var start [2]byte
	if _, err := io.ReadFull(c.In, start[:]); err != nil {
		return 0, "", err
	}
	n := uint64(start[1])
	switch n {
	case 126:
		var length uint16
		err = binary.Read(c.In, binary.BigEndian, &length)
		n = uint64(length)
	case 127:
		err = binary.Read(c.In, binary.BigEndian, &n)
	}
	if err != nil {
		return 0, "", err
	}
	body := make([]byte, n)
	_, err = io.ReadFull(c.In, body)
	return start[0], string(body), err
}

// Rest is what the server says until it closes: texts and pongs as they are, and its code. It is answered as it must.
// After so many frames the client closes itself.
func (c *Socket) Rest(enough int) (said []string) {
	c.t.Helper()
	for {
		if len(said) == enough {
			c.Conn.Write([]byte(CloseFrame(1000, "bye"))) // it may have hung up
		}
		head, payload, err := c.Receive()
		switch {
		case err != nil:
			return append(said, "cut: "+err.Error())
		case head == Fin|Closing:
			c.Conn.Write([]byte(Frame(head, payload))) // it may have hung up
			code := uint16(1005)
			if len(payload) >= 2 {
				code = binary.BigEndian.Uint16([]byte(payload))
			}
			return append(said, fmt.Sprintf("close %d", code))
		case head == Fin|Text:
			said = append(said, payload)
		case head == Fin|PongFrame:
			said = append(said, "pong "+payload)
		default:
			said = append(said, fmt.Sprintf("frame %x %q", head, payload))
		}
	}
}

// Send sends frames.
func (c *Socket) Send(frames string) {
	c.t.Helper()
	if err := AtOnce(c.Conn, frames); err != nil {
		c.t.Fatal(err)
	}
}

// ClosedAfter waits for the close and says when it came. The client answers pings if the caller says so.
func (c *Socket) ClosedAfter(answer bool) (time.Duration, string) {
	begin := time.Now()
	for {
		head, payload, err := c.Receive()
		switch {
		case err != nil:
			return time.Since(begin), "cut: " + err.Error()
		case head == Fin|Closing:
			return time.Since(begin), fmt.Sprintf("close %d %s", binary.BigEndian.Uint16([]byte(payload)), payload[2:])
		case head == Fin|PingFrame && answer:
			if err := AtOnce(c.Conn, Frame(Fin|PongFrame, payload)); err != nil {
				return time.Since(begin), "cut: " + err.Error()
			}
		}
	}
}
