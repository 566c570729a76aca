package rpc

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// returns reports whether the table says that a method returns an error. What is no method of it is not found.
func returns(name string, code conn.Code) bool {
	methods := nativeMethods()
	i := slices.IndexFunc(methods, func(m method.Method[*client]) bool { return m.Name == name })
	if i < 0 {
		return code == conn.CodeMethodNotFound || code == conn.CodeParse || code == conn.CodeInvalidRequest
	}
	return slices.Contains(methods[i].Codes(), code)
}

// Each entry is whole: a right, a sentence, errors in addition to those of every request, and examples that conform to
// the schema and stand in protocol.md word for word.
func TestMethodTable(t *testing.T) {
	sections, judge, shown := readProtocol(t), newSchemas(t), examples()
	for _, m := range nativeMethods() {
		if !slices.Contains(method.Rights(), m.Right) || m.Doc == "" {
			t.Errorf("%s has the right %q and the sentence %q", m.Name, m.Right, m.Doc)
		}
		for _, code := range m.Errors {
			if code.Kind() == "" || slices.Contains(method.EveryRequest, code) {
				t.Errorf("%s: %d is no error of its own", m.Name, code)
			}
		}
		var lines []string
		for _, e := range shown[m.Name] {
			lines = append(lines, "→ "+e.Params, "← "+e.Result)
			if why := judge.judge(judge.params[m.Name], e.Params); why != "" {
				t.Errorf("%s: %s: %s", m.Name, why, e.Params)
			}
			if why := judge.judge(judge.results[m.Name], e.Result); why != "" {
				t.Errorf("%s: %s: %s", m.Name, why, e.Result)
			}
		}
		if len(lines) == 0 && m.Name != "rpc.discover" { // that one is the document itself
			t.Errorf("%s has no example: add one to examples.txt", m.Name)
		}
		if diff := cmp.Diff(lines, examplesIn(sections["Methods/"+m.Name].text)); diff != "" {
			t.Errorf("protocol.md does not have the examples of %s that examples.txt has (-examples.txt +protocol.md)\n%s", m.Name, diff)
		}
		delete(shown, m.Name)
	}
	for name := range shown {
		t.Errorf("examples.txt has examples of %s, which is no method", name)
	}
}

// A method that is about a session names it in session_id, and nowhere else: a router looks there.
func TestMethodsNameTheirSession(t *testing.T) {
	about := 0
	for _, m := range nativeMethods() {
		for _, f := range method.FieldsOf(m.Params) {
			is := m.Params.FieldByIndex(f.Index).Type == reflect.TypeFor[method.ID[session.ID]]()
			if is != (f.Name == "session_id") {
				t.Errorf("%s: the member %s is a session: %v", m.Name, f.Name, is)
			}
			if is && m.Session != "session_id" {
				t.Errorf("%s: the router reads the session from %q", m.Name, m.Session)
			}
		}
		if strings.HasPrefix(m.Name, "session/") || m.Name == "tool/result" || m.Name == "confirm/answer" || m.Name == "turn/wait" {
			about++
		}
	}
	if about < 15 {
		t.Errorf("only %d methods are about a session", about)
	}
}
