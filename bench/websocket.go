package main

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// webSocket is the client's end of a connection to a trusted server. It reads a frame in place in the buffer, which a general library
// cannot do.
type webSocket struct {
	conn net.Conn
	in   *bufio.Reader
	long []byte // a message of more than one frame, or of a frame larger than the buffer
}

// dialWebSocket connects to a page's address with the token in its fragment.
func dialWebSocket(page string) (*webSocket, error) {
	u, err := url.Parse(page)
	if err != nil {
		return nil, err
	}
	token := u.Fragment[strings.LastIndexByte(u.Fragment, '=')+1:]
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		return nil, err
	}
	w := &webSocket{conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}
	key := base64.StdEncoding.EncodeToString([]byte("sixteen bytes it"))
	fmt.Fprintf(conn, "GET /rpc HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\nSec-WebSocket-Protocol: thinkd.v1\r\nAuthorization: Bearer %s\r\n\r\n", u.Host, key, token)
	resp, err := http.ReadResponse(w.in, nil)
	if err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
		err = fmt.Errorf("the upgrade is answered with %s", resp.Status)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return w, nil
}

// What a frame's first byte says (RFC 6455, section 5.2).
const (
	final     = 0x80
	opcode    = 0x0f
	opText    = 1
	opClose   = 8
	opPing    = 9
	opPong    = 10
	masked    = 0x80
	length16  = 126
	length64  = 127
	maskBytes = 4
)

// next is the next message.
func (w *webSocket) next() ([]byte, error) {
	w.long = w.long[:0]
	for {
		first, payload, err := w.frame()
		if err != nil {
			return nil, err
		}
		switch first & opcode {
		case opClose:
			return nil, fmt.Errorf("the connection is closed: %q", payload)
		case opPing:
			if err := w.write(opPong, payload); err != nil {
				return nil, err
			}
			continue
		case opPong:
			continue
		}
		if first&final != 0 && len(w.long) == 0 {
			return payload, nil
		}
		w.long = append(w.long, payload...)
		if first&final != 0 {
			return w.long, nil
		}
	}
}

// frame is one frame; what it carries lies in the buffer where it fits.
func (w *webSocket) frame() (first byte, payload []byte, err error) {
	head, err := w.in.Peek(2)
	if err != nil {
		return 0, nil, err
	}
	first = head[0]
	size, skip := int(head[1]), 2
	switch size {
	case length16:
		skip = 4
	case length64:
		skip = 10
	}
	if head, err = w.in.Peek(skip); err != nil {
		return 0, nil, err
	}
	switch skip {
	case 4:
		size = int(binary.BigEndian.Uint16(head[2:]))
	case 10:
		size = int(binary.BigEndian.Uint64(head[2:]))
	}
	w.in.Discard(skip) // it is in the buffer
	if size > w.in.Size() {
		payload = make([]byte, size)
		_, err = io.ReadFull(w.in, payload)
		return first, payload, err
	}
	payload, err = w.in.Peek(size)
	w.in.Discard(len(payload))
	return first, payload, err
}

// write sends a frame. A client masks what it sends, with any key: here one that changes nothing.
func (w *webSocket) write(op byte, payload []byte) error {
	out := []byte{final | op}
	switch size := len(payload); {
	case size < length16:
		out = append(out, masked|byte(size))
	case size < 1<<16:
		out = binary.BigEndian.AppendUint16(append(out, masked|length16), uint16(size))
	default:
		out = binary.BigEndian.AppendUint64(append(out, masked|length64), uint64(size))
	}
	out = append(out, make([]byte, maskBytes)...)
	_, err := w.conn.Write(append(out, payload...))
	return err
}
