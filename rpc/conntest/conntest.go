// Package conntest has what the tests of connections share: clients, and what they send and get. It knows no server.
package conntest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider/testgo"
)

// Answers that many cases share, with a verb for each part that differs.
const (
	Pong       = `{"jsonrpc":"2.0","id":%s,"result":{}}`
	ParseError = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`
	Invalid    = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"Invalid Request"}}`
	Refused    = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"Invalid Request","data":{"detail":"%s","kind":"invalid_request"}}}`
	NotFound   = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`
	BadParams  = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"%s","data":{"kind":"invalid_params"}}}`
	BadMember  = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"%s","data":{"field":"%s","kind":"invalid_params"}}}`
	Cancelled  = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32800,"message":"the request was cancelled","data":{"kind":"cancelled"}}}`
	TooLarge   = `{"jsonrpc":"2.0","id":null,"error":{"code":1007,"message":"the message is larger than %d bytes","data":{"kind":"too_large","limit":%[1]d}}}`
)

// Ping is a request with an id, written as in a message.
func Ping(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }

// Request is a request with params, written as in a message.
func Request(id any, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":%q,"params":%s}`, id, method, params)
}

// CancelRequest cancels the request with an id, written as in a message.
func CancelRequest(id string) string {
	return `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":` + id + `}}`
}

// Framing is one of the two ways in which messages lie in bytes.
type Framing struct {
	Name string
	Wrap func(message string) string
}

// Framings are both of them.
var Framings = []Framing{
	{"lines", func(m string) string { return m + "\n" }},
	{"headers", func(m string) string { return "Content-Length: " + strconv.Itoa(len(m)) + "\r\n\r\n" + m }},
}

// All wraps several messages.
func (f Framing) All(messages ...string) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(f.Wrap(m))
	}
	return b.String()
}

// Transcript is a connection whose client sends everything at once and leaves, and whose answers are kept.
type Transcript struct {
	io.Reader
	mu  sync.Mutex
	out bytes.Buffer
}

// NewTranscript is a connection whose client sends input.
func NewTranscript(input io.Reader) *Transcript { return &Transcript{Reader: input} }

// Write keeps an answer.
func (c *Transcript) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Write(p)
}

// String is what was written so far.
func (c *Transcript) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.String()
}

// Close does nothing.
func (c *Transcript) Close() error { return nil }

// Peer is a client that alternately sends and reads. The test's goroutine uses it.
type Peer struct {
	Conn   net.Conn
	Served chan error // how serving it ended

	t  *testing.T
	in *json.Decoder
}

// Connect serves one client over an in-memory pipe. The test calls HangUp.
func Connect(t *testing.T, serve func(net.Conn) error) *Peer {
	ours, theirs := net.Pipe()
	return ConnectOver(t, ours, theirs, serve)
}

// ConnectOver is Connect over a given pipe: its end for the client, and that to serve.
func ConnectOver(t *testing.T, ours, theirs net.Conn, serve func(net.Conn) error) *Peer {
	p := &Peer{t: t, Conn: ours, in: json.NewDecoder(ours), Served: make(chan error, 1)}
	testgo.Go(t, func() { p.Served <- serve(theirs) }) // HangUp waits
	return p
}

// Send sends lines.
func (p *Peer) Send(lines ...string) {
	p.t.Helper()
	if _, err := p.Conn.Write([]byte(strings.Join(lines, "\n") + "\n")); err != nil {
		p.t.Fatalf("send: %v", err)
	}
}

// Receive is the next message.
func (p *Peer) Receive() string {
	p.t.Helper()
	message, err := p.Next()
	if err != nil {
		p.t.Fatalf("receive: %v", err)
	}
	return message
}

// Next is the next message, or how the connection ended: io.EOF, or io.ErrUnexpectedEOF within a message.
func (p *Peer) Next() (string, error) {
	var message json.RawMessage
	err := p.in.Decode(&message)
	return string(message), err
}

// Expect fails the test unless the next message is want.
func (p *Peer) Expect(want string) {
	p.t.Helper()
	if got := p.Receive(); got != want {
		p.t.Fatalf("got  %s\nwant %s", got, want)
	}
}

// HangUp closes the client's end and is how serving it ended.
func (p *Peer) HangUp() error {
	p.Conn.Close()
	return <-p.Served
}

// Log is a log that can be read while it is written.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// WithoutRefs blanks the references of internal errors, which are random. Lengths stay as they are.
func WithoutRefs(answers string) string {
	const ref = `"ref":"`
	var b strings.Builder
	for {
		before, after, found := strings.Cut(answers, ref)
		b.WriteString(before)
		if !found || len(after) < 26 {
			return b.String()
		}
		b.WriteString(ref + strings.Repeat("-", 26))
		answers = after[26:]
	}
}

// Messages splits what was written; each message is the answers in it.
func Messages(t *testing.T, output string) [][]gjson.Result {
	var list [][]gjson.Result
	for output != "" {
		var message string
		if rest, headers := strings.CutPrefix(output, "Content-Length: "); headers {
			digits, body, ok := strings.Cut(rest, "\r\n\r\n")
			n, err := strconv.Atoi(digits)
			if !ok || err != nil || n < 0 || n > len(body) {
				t.Fatalf("not a header: %.100q", output)
			}
			message, output = body[:n], body[n:]
		} else {
			var ok bool
			if message, output, ok = strings.Cut(output, "\n"); !ok {
				t.Fatalf("a line without its end: %.100q", message)
			}
		}
		if !json.Valid([]byte(message)) {
			t.Fatalf("not JSON: %.100q", message)
		}
		if message[0] == '[' {
			list = append(list, gjson.Parse(message).Array())
		} else {
			list = append(list, []gjson.Result{gjson.Parse(message)})
		}
	}
	return list
}
