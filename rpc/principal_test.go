package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/conntest"
	"github.com/thinkd/thinkd/rpc/dispatch"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// as connects a client of this principal, which may have become an editor.
func (s *Server) as(t *testing.T, p method.Principal, editor bool) *conntest.Peer {
	return conntest.Connect(t, func(pipe net.Conn) error {
		c := s.newClient(t.Context(), method.Operator(), conn.NewByteFrames(pipe, s.MessageBytes()))
		c.Principal, c.local = p, &Local{}
		if editor {
			c.beEditor()
		}
		return c.Serve()
	})
}

// editorMethods lists what editors can call, by name.
func (s *Server) editorMethods() map[string]method.Entry {
	return s.editors.Methods(func(name string) (method.Bound, bool) {
		m, ok := s.byName[name]
		return m.For(nil), ok
	})
}

// entries are those of a table of native methods.
func entries(table map[string]method.Method[*client]) map[string]method.Entry {
	all := make(map[string]method.Entry)
	for name, m := range table {
		all[name] = m.Entry
	}
	return all
}

func quietServer(config Config) *Server {
	config.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	return NewServer(config)
}

// A principal without rights gets every method of the tables refused, whatever its params.
func TestRights(t *testing.T) {
	s := quietServer(Config{})
	native := slices.Concat(slices.Collect(maps.Values(s.byName)), slices.Collect(maps.Values(s.private)))
	if len(native) < 30 || len(s.editorMethods()) < 20 {
		t.Fatalf("the tables have %d and %d methods", len(native), len(s.editorMethods()))
	}
	refused := func(p *conntest.Peer, name, right string, code conn.Code) {
		t.Helper()
		p.Send(conntest.Request(1, name, "{}"))
		got := gjson.Parse(p.Receive())
		if got.Get("error.code").Int() != int64(code) || got.Get("error.data.right").String() != right || got.Get("error.message").String() == "" {
			t.Errorf("%s: %s", name, got.Raw)
		}
	}
	p := s.as(t, method.Principal{}, false)
	defer p.HangUp()
	for _, m := range native {
		refused(p, m.Name, m.Right.String(), conn.CodeForbidden)
	}
	refused(p, "session/fly", method.Admin.String(), conn.CodeForbidden) // also a method that is in no table
	e := s.as(t, method.Principal{}, true)
	defer e.HangUp()
	for name, m := range s.editorMethods() {
		refused(e, name, m.Right.String(), conn.CodeInvalidRequest)
	}
}

// Each right admits its own methods, and no others. The operator has all.
func TestRightsAdmit(t *testing.T) {
	s := quietServer(Config{})
	for _, table := range []map[string]method.Entry{entries(s.byName), entries(s.private), s.editorMethods()} {
		for name, m := range table {
			for _, right := range method.Rights() {
				p := method.Principal{Rights: []method.Right{right}}
				if err := p.Check(name, m.Right); (err == nil) != (right == m.Right) {
					t.Errorf("%s with the right %s: %v", name, right, err)
				}
			}
			if err := method.Operator().Check(name, m.Right); err != nil {
				t.Errorf("%s as the operator: %v", name, err)
			}
		}
	}
}

// elsewhere refuses every request about a session, and records them.
type elsewhere struct {
	mu    sync.Mutex
	asked []string
}

func (e *elsewhere) Routes(c dispatch.Routed) dispatch.Routes { return refusing{e, c} }

type refusing struct {
	*elsewhere
	client dispatch.Routed
}

func (r refusing) Route(_ context.Context, method string, id session.ID) (dispatch.Remote, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, fmt.Sprint(r.client.Now().Owner, " ", method, " ", id))
	return nil, &conn.Error{Code: conn.CodeClosing, Message: "served elsewhere"}
}

func (refusing) Greeted(json.RawMessage) {}
func (refusing) Response([]byte)         {}
func (refusing) Renewed(auth.Grant)      {}
func (refusing) Close()                  {}

// The router is asked before each method that names a session, whatever its other params, and before no other.
func TestRouter(t *testing.T) {
	id := session.NewID()
	for _, editor := range []bool{false, true} {
		router := &elsewhere{}
		s := quietServer(Config{Router: router})
		table, member := entries(s.byName), "session_id"
		if editor {
			table, member = s.editorMethods(), "sessionId"
		}
		p := s.as(t, method.Operator(), editor)
		asked := 0
		for name, m := range table {
			if m.Session == "" {
				continue
			}
			if !editor && m.Session != member {
				t.Errorf("%s names a session in %s", name, m.Session)
			}
			p.Send(conntest.Request(1, name, fmt.Sprintf(`{%q:%q}`, m.Session, id)))
			got := p.Receive()
			if gjson.Get(got, "error.message").String() != "served elsewhere" {
				t.Errorf("%s: %s", name, got)
			}
			asked++
			router.mu.Lock()
			if want := fmt.Sprint(session.Operator, " ", m.Name, " ", id); len(router.asked) != asked || router.asked[asked-1] != want {
				t.Errorf("%s: the router was asked %q, want %q at the end", name, router.asked, want)
			}
			router.mu.Unlock()
		}
		if asked < 8 {
			t.Errorf("%d methods name a session", asked)
		}
		if err := p.HangUp(); err != nil {
			t.Error(err)
		}
	}
}

// The session of a request is the one that decoding takes.
func TestSessionOf(t *testing.T) {
	a, b := session.NewID(), session.NewID()
	m := quietServer(Config{}).byName["session/state"]
	for _, c := range []struct {
		params string
		want   session.ID
	}{
		{fmt.Sprintf(`{"session_id":%q}`, a), a},
		{fmt.Sprintf(`{"session_id":%q,"session_id":%q}`, a, b), b},
		{fmt.Sprintf(`{"session_id":%q,"session_id":null}`, a), a},
		{fmt.Sprintf(`{"Session_ID":%q}`, a), ""},
		{`{"session_id":"x"}`, ""},
		{`{"session_id":7}`, ""},
		{`{}`, ""},
		{``, ""},
		{fmt.Sprintf(`[%q]`, a), ""},
	} {
		got, ok := m.SessionOf(json.RawMessage(c.params))
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s: %s, %v", c.params, got, ok)
		}
	}
}
