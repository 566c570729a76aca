package link

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
)

// input is a connection from which bytes come, and that takes all.
type input struct {
	net.Conn
	*bytes.Reader
}

func (i input) Read(p []byte) (int, error)     { return i.Reader.Read(p) }
func (input) Write(p []byte) (int, error)      { return len(p), nil }
func (input) Close() error                     { return nil }
func (input) SetWriteDeadline(time.Time) error { return nil }

func framed(messages ...string) []byte {
	var out []byte
	for _, m := range messages {
		out = fmt.Appendf(out, "Content-Length: %d\r\n\r\n%s", len(m), m)
	}
	return out
}

// What a node sends after its handshake is a client's message or one of the nodes, within bounds, or the end of the link.
func FuzzLink(f *testing.F) {
	grant := string(control(letterGrant, newGrant(auth.Grant{Principal: method.Operator(), Expires: time.Now().Add(time.Hour)})))
	f.Add(framed(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, grant, `[]`))
	f.Add(framed(`G{"name":"YQ==","rights":["use","x"],"expires":-1}`))
	f.Add(framed(`H{"version":1}`, `B{"why":"expired"}`, `G`, `G{`))
	f.Add([]byte("Content-Length: 99999999999\r\n\r\nG"))
	const limit = 1 << 16
	f.Fuzz(func(t *testing.T, sent []byte) {
		in := input{Reader: bytes.NewReader(sent)}
		s := &served{owner: &Owner{Config: Config{Limit: limit, Now: time.Now}, Confirm: func(string) (auth.Grant, bool) { return auth.Grant{}, false }},
			frames: &closer{conn: in, ByteFrames: conn.NewHeaderFrames(in, limit, readBuffer)}}
		g := auth.Grant{Principal: method.Operator()}
		g.Valid, s.end = context.WithCancelCause(t.Context())
		s.grant, s.lease = g, auth.NewLease(t.Context(), g, nil)
		defer s.lease.Close()
		defer func() { s.close(nil) }()
		for range len(sent) + 1 {
			message, err := s.Read()
			if _, refused := err.(*conn.Error); refused {
				continue
			}
			if err != nil {
				return
			}
			if len(message) == 0 || len(message) > limit || isControl(message) {
				t.Fatalf("a client's message of %d bytes: %.20q", len(message), message)
			}
		}
		t.Fatal("more messages than bytes")
	})
}

// A hello that is accepted says the same when it is encoded again.
func FuzzHello(f *testing.F) {
	f.Add(control(letterHello, hello{Version: version, Run: 7, Dialect: "acp", Grant: newGrant(auth.Grant{Principal: method.Operator(), ID: "x", From: "127.0.0.1"})}))
	f.Add([]byte(`H{"version":1,"grant":{"name":"YQ==","rights":["use"],"expires":9223372036854775807}}`))
	f.Fuzz(func(t *testing.T, message []byte) {
		var h hello
		if readControl(message, letterHello, &h) != nil {
			return
		}
		g, err := h.Grant.read()
		if err != nil {
			return
		}
		again, err := newGrant(g).read()
		if err != nil || again.Principal.Owner != g.Principal.Owner || again.Principal.Name != g.Principal.Name || !again.Expires.Equal(g.Expires) || again.ID != g.ID ||
			len(again.Principal.Rights) != len(g.Principal.Rights) {
			t.Errorf("%+v became %+v, %v", g, again, err)
		}
	})
}
