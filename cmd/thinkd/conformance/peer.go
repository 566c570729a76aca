package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Dial opens a connection to the server: its messages are lines.
type Dial func(ctx context.Context) (io.ReadWriteCloser, error)

// failure is what a check panics with: that the server violates the protocol, or does not answer.
type failure struct{ text string }

func failf(format string, args ...any) { panic(failure{fmt.Sprintf(format, args...)}) }

// A peer is one connection of a check. Its methods panic with a failure.
type peer struct {
	ctx    context.Context
	conn   io.ReadWriteCloser
	lines  chan []byte    // closed when the connection ends
	notes  []gjson.Result // notifications that came before the response for which the peer waited
	nextID int
	closed bool
}

// newPeer reads the connection until it ends, which the caller brings about with close.
func newPeer(ctx context.Context, conn io.ReadWriteCloser) *peer {
	p := &peer{ctx: ctx, conn: conn, lines: make(chan []byte, 16), nextID: 1}
	go func() { // ends with the connection, which close closes, or with ctx
		defer close(p.lines)
		in := bufio.NewReader(conn)
		for {
			line, err := in.ReadBytes('\n')
			if line = bytes.TrimSpace(line); len(line) > 0 {
				select {
				case p.lines <- line:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return p
}

// close may be called more than once.
func (p *peer) close() {
	if !p.closed {
		p.closed = true
		p.conn.Close()
	}
}

// write sends a text and a line end.
func (p *peer) write(text string) {
	if _, err := io.WriteString(p.conn, text+"\n"); err != nil {
		failf("the connection ended: %v", err)
	}
}

// read is the next message, whatever it is.
func (p *peer) read() gjson.Result {
	select {
	case line, ok := <-p.lines:
		if !ok {
			failf("the server closed the connection")
		}
		if !gjson.ValidBytes(line) {
			failf("the server sent a line that is not JSON: %.200s", line)
		}
		return gjson.ParseBytes(line)
	case <-p.ctx.Done():
		failf("no message in time")
	}
	return gjson.Result{}
}

// response is the next message that is no notification. Notifications are kept for note.
func (p *peer) response() gjson.Result {
	for {
		m := p.read()
		if !m.IsArray() && m.Get("method").Exists() {
			p.notes = append(p.notes, m)
			continue
		}
		return m
	}
}

// note is the params of the next notification with one of the names. Others are skipped.
func (p *peer) note(names ...string) gjson.Result {
	for {
		var m gjson.Result
		if len(p.notes) > 0 {
			m, p.notes = p.notes[0], p.notes[1:]
		} else if m = p.read(); !m.Get("method").Exists() {
			failf("a response without a request: %.200s", m.Raw)
		}
		for _, name := range names {
			if m.Get("method").String() == name {
				return m.Get("params")
			}
		}
	}
}

// send makes a request and does not wait.
func (p *peer) send(method string, params any) (id string) {
	text, err := json.Marshal(params)
	if err != nil {
		panic(err) // a fault of the check
	}
	id = strconv.Itoa(p.nextID)
	p.nextID++
	p.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, text))
	return id
}

// ask makes a request and returns its response.
func (p *peer) ask(method string, params any) gjson.Result {
	id := p.send(method, params)
	r := p.response()
	if r.Get("id").Raw != id {
		failf("%s: the response has the id %s, want %s", method, r.Get("id").Raw, id)
	}
	if r.Get("jsonrpc").String() != "2.0" || r.Get("result").Exists() == r.Get("error").Exists() {
		failf("%s: no response of JSON-RPC 2.0: %.200s", method, r.Raw)
	}
	return r
}

// call makes a request that must succeed, and returns its result.
func (p *peer) call(method string, params any) gjson.Result {
	r := p.ask(method, params)
	if e := r.Get("error"); e.Exists() {
		failf("%s failed: %.300s", method, e.Raw)
	}
	return r.Get("result")
}

// refused makes a request that must fail with a code, and returns the data of the error.
func (p *peer) refused(method string, params any, code int64) gjson.Result {
	r := p.ask(method, params)
	if e := r.Get("error"); !e.Exists() || e.Get("code").Int() != code {
		failf("%s: %.300s, want the error %d", method, r.Raw, code)
	}
	return r.Get("error.data")
}

// isULID reports whether an id has the form of protocol.md.
func isULID(id string) bool {
	return len(id) == 26 && id[0] <= '7' && strings.Trim(id, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == ""
}
