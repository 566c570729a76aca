package link

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// Node is a run of a node of the cluster.
type Node struct {
	Name string // in its certificate and in its heartbeats
	Run  uint64 // the number of this run
}

// version is that of what two nodes say to each other.
const version = 1

// Bounds of what a link receives.
const (
	maxControl = 64 << 10 // bytes of a hello or a grant
	maxRights  = 32
	maxWord    = 1 << 10 // bytes of a name
)

// The letters with which the messages of the nodes begin. JSON begins with none of them.
const (
	letterHello = 'H'
	letterMet   = 'M' // the answer to a hello, without which nothing is sent
	letterGrant = 'G'
	letterBye   = 'B'
)

// grant is an [auth.Grant] on its way.
type grant struct {
	Name    []byte   `json:"name"`
	Tenant  []byte   `json:"tenant,omitempty"`
	User    []byte   `json:"user,omitempty"`
	Rights  []string `json:"rights"`
	Expires int64    `json:"expires,omitempty"` // Unix milliseconds; 0: it does not expire
	Token   string   `json:"token,omitempty"`   // the id of an API token
	From    string   `json:"from,omitempty"`
}

// hello opens a link.
type hello struct {
	Version int    `json:"version"`
	Run     uint64 `json:"run"`               // of the edge
	Dialect string `json:"dialect,omitempty"` // that the client speaks
	Grant   grant  `json:"grant"`
}

// met is the answer to a hello.
type met struct{}

// bye says why a link ends.
type bye struct {
	Why  string `json:"why"`
	Text string `json:"text,omitempty"` // for logs
}

// Why a link ends.
const (
	whyRevoked = "revoked"
	whyExpired = "expired"
	whyClosing = "closing" // the other node shuts down
	whyRefused = "refused" // the other node does not take the link
	whyOther   = "other"
)

func newGrant(g auth.Grant) grant {
	w := grant{Name: []byte(g.Principal.Name), Tenant: []byte(g.Principal.Owner.Tenant), User: []byte(g.Principal.Owner.User), Token: g.ID, From: g.From, Rights: []string{}}
	for _, r := range g.Principal.Rights {
		w.Rights = append(w.Rights, r.String())
	}
	if !g.Expires.IsZero() {
		w.Expires = g.Expires.UnixMilli()
	}
	return w
}

// read checks a grant. Valid is not set. A right that this version does not know grants nothing here.
func (w grant) read() (g auth.Grant, err error) {
	switch {
	case len(w.Rights) > maxRights:
		return g, fmt.Errorf("%d rights", len(w.Rights))
	case len(w.Name) > maxWord || len(w.Tenant) > maxWord || len(w.User) > maxWord || len(w.Token) > maxWord || len(w.From) > maxWord:
		return g, fmt.Errorf("a name of more than %d bytes", maxWord)
	case len(w.Name) == 0:
		return g, errors.New("a principal without a name")
	case w.Expires < 0:
		return g, errors.New("a negative expiry")
	}
	g = auth.Grant{ID: w.Token, From: w.From, Principal: method.Principal{Name: string(w.Name), Owner: session.Owner{Tenant: string(w.Tenant), User: string(w.User)}}}
	for _, word := range w.Rights {
		if r, ok := method.RightNamed(word); ok {
			g.Principal.Rights = append(g.Principal.Rights, r)
		}
	}
	if w.Expires != 0 {
		g.Expires = time.UnixMilli(w.Expires)
	}
	return g, nil
}

// errGone ends the links of a node that is not present any more.
var errGone = errors.New("the node is gone")

// control encodes a message of the nodes.
func control(letter byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers
	}
	return append([]byte{letter}, text...)
}

// readControl decodes a message of the nodes.
func readControl(message []byte, letter byte, v any) error {
	switch {
	case len(message) > maxControl:
		return fmt.Errorf("a message of %d bytes between nodes", len(message))
	case len(message) == 0 || message[0] != letter:
		return errors.New("another message than expected")
	}
	return json.Unmarshal(message[1:], v)
}

// isControl reports whether a message is one of the nodes.
func isControl(message []byte) bool { return message[0] >= 'A' && message[0] <= 'Z' }

// byeOf says why a link ends.
func byeOf(cause error) bye {
	switch {
	case errors.Is(cause, conn.ErrExpired):
		return bye{Why: whyExpired}
	case errors.Is(cause, conn.ErrRevoked):
		return bye{Why: whyRevoked}
	case errors.Is(cause, conn.ErrClosing):
		return bye{Why: whyClosing}
	case cause == nil || errors.Is(cause, io.EOF):
		return bye{Why: whyOther}
	}
	if text, refused := errors.AsType[*refusal](cause); refused {
		return bye{whyRefused, text.why}
	}
	return bye{Why: whyOther, Text: cause.Error()}
}

// refusal says that a node does not take a link.
type refusal struct{ why string }

func (r *refusal) Error() string { return "the node refuses the link: " + r.why }

// cause is the error that a bye stands for.
func (b bye) cause() error {
	switch b.Why {
	case whyExpired:
		return conn.ErrExpired
	case whyRevoked:
		return conn.ErrRevoked
	case whyClosing:
		return conn.ErrClosing
	case whyRefused:
		return &refusal{b.Text}
	}
	return fmt.Errorf("the node ended the link: %s", b.Text)
}

// readBye is why a link ends, by the message that says so.
func readBye(message []byte) error {
	var b bye
	if err := readControl(message, letterBye, &b); err != nil {
		return err
	}
	return b.cause()
}

// cancel is the notification that cancels the request with a number.
func cancel(dialect string, number uint64) []byte {
	name, member := "$/cancelRequest", "id"
	if dialect == door.ProtocolACP {
		name, member = "$/cancel_request", "requestId"
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{%q:%d}}`, name, member, number)
}

// greeting is a client's initialize, under the number 0, which no other request has.
func greeting(params json.RawMessage) []byte {
	var out bytes.Buffer
	out.WriteString(`{"jsonrpc":"2.0","id":0,"method":"initialize"`)
	if params != nil {
		out.WriteString(`,"params":`)
		out.Write(params)
	}
	out.WriteByte('}')
	return out.Bytes()
}
