package rpc

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/session"
)

// returns reports whether the table says that a method returns an error. What is no method of it is not found.
func returns(name string, code conn.Code) bool {
	methods := nativeMethods()
	i := slices.IndexFunc(methods, func(m method) bool { return m.name == name })
	if i < 0 {
		return code == conn.CodeMethodNotFound || code == conn.CodeParse || code == conn.CodeInvalidRequest
	}
	return slices.Contains(methods[i].codes(), code)
}

// Each entry is whole: a right, a sentence, errors in addition to those of every request, and examples that conform to
// the schema and stand in protocol.md word for word.
func TestMethodTable(t *testing.T) {
	sections, judge, shown := readProtocol(t), newSchemas(t), examples()
	for _, m := range nativeMethods() {
		if !slices.Contains([]right{use, keys, settings, admin}, m.right) || m.doc == "" {
			t.Errorf("%s has the right %q and the sentence %q", m.name, m.right.word, m.doc)
		}
		for _, code := range m.errors {
			if code.Kind() == "" || slices.Contains(everyRequest, code) {
				t.Errorf("%s: %d is no error of its own", m.name, code)
			}
		}
		var lines []string
		for _, e := range shown[m.name] {
			lines = append(lines, "→ "+e.params, "← "+e.result)
			if why := judge.judge(judge.params[m.name], e.params); why != "" {
				t.Errorf("%s: %s: %s", m.name, why, e.params)
			}
			if why := judge.judge(judge.results[m.name], e.result); why != "" {
				t.Errorf("%s: %s: %s", m.name, why, e.result)
			}
		}
		if len(lines) == 0 && m.name != "rpc.discover" { // that one is the document itself
			t.Errorf("%s has no example: add one to examples.txt", m.name)
		}
		if diff := cmp.Diff(lines, examplesIn(sections["Methods/"+m.name].text)); diff != "" {
			t.Errorf("protocol.md does not have the examples of %s that examples.txt has (-examples.txt +protocol.md)\n%s", m.name, diff)
		}
		delete(shown, m.name)
	}
	for name := range shown {
		t.Errorf("examples.txt has examples of %s, which is no method", name)
	}
}

// A method that is about a session names it in session_id, ACP's in sessionId, and nowhere else: whoever forwards
// requests to where a session is served looks there.
func TestMethodsNameTheirSession(t *testing.T) {
	check := func(m method, name string, of reflect.Type) {
		for _, f := range fieldsOf(m.params) {
			is := m.params.FieldByIndex(f.index).Type == of
			if is != (f.name == name) {
				t.Errorf("%s: the member %s is a session: %v", m.name, f.name, is)
			}
		}
	}
	native := nativeMethods()
	about := 0
	for _, m := range native {
		check(m, "session_id", reflect.TypeFor[idOf[session.ID]]())
		if strings.HasPrefix(m.name, "session/") || m.name == "tool/result" || m.name == "confirm/answer" || m.name == "turn/wait" {
			about++
		}
	}
	byName := map[string]method{}
	for _, m := range native {
		byName[m.name] = m
	}
	for name, m := range acpTable(byName) {
		if !strings.HasPrefix(name, "_thinkd/") {
			check(m, "sessionId", reflect.TypeFor[acpSessionID]())
		}
	}
	if about < 15 {
		t.Errorf("only %d methods are about a session", about)
	}
}
