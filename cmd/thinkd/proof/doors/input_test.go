package doors

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// nowhere is an id that no session has.
const nowhere = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

// TestBadInput gives the daemon wrong words of every kind. Each is answered with its error, and nothing is kept of it.
func TestBadInput(t *testing.T) {
	t.Parallel()
	p := proof.Start(t, t.TempDir(), nil)
	id := p.NewSession("model_id", "sim/claude", "thinking_level", "low")
	p.Must("session/attach", map[string]any{"session_id": id}, nil)
	if end := p.Turn(id, "First. [[sim: thinking=10 text=10 pace=0]]"); end.Stop != "end_turn" {
		t.Fatalf("the turn ends with %s", end.Stop)
	}
	before, err := p.History(id)
	if err != nil {
		t.Fatal(err)
	}

	deep := strings.Repeat(`[`, 200) + strings.Repeat(`]`, 200)
	for _, test := range []struct {
		method, params string // $ID is the session's
		code           int
		kind, field    string
	}{
		// Sessions that are none.
		{"session/prompt", `{"session_id":"` + nowhere + `","text":"x"}`, 1001, "not_found", ""},
		{"session/history", `{"session_id":"` + nowhere + `"}`, 1001, "not_found", ""},
		{"session/attach", `{"session_id":"` + nowhere + `"}`, 1001, "not_found", ""},
		{"session/state", `{"session_id":"` + nowhere + `"}`, 1001, "not_found", ""},
		{"session/update", `{"session_id":"` + nowhere + `","title":"x"}`, 1001, "not_found", ""},
		{"session/cancel", `{"session_id":"` + nowhere + `"}`, 1001, "not_found", ""},
		{"session/export", `{"session_id":"` + nowhere + `","format":"json"}`, 1001, "not_found", ""},
		{"thinking/set", `{"session_id":"` + nowhere + `","level":"low"}`, 1001, "not_found", ""},
		{"model/set", `{"session_id":"` + nowhere + `","model_id":"sim/claude"}`, 1001, "not_found", ""},
		{"turn/wait", `{"session_id":"` + nowhere + `","turn_id":"` + nowhere + `"}`, 1001, "not_found", ""},
		{"session/prompt", `{"session_id":"../x","text":"x"}`, -32602, "invalid_params", "session_id"},
		{"session/delete", `{"session_id":"../../thinkd.db"}`, -32602, "invalid_params", "session_id"},
		{"session/state", `{"session_id":"01arz3ndektsv4rrffq69g5fav"}`, -32602, "invalid_params", "session_id"},
		{"session/state", `{"session_id":"01ARZ3NDEKTSV4RRFFQ69G5FA\u0000"}`, -32602, "invalid_params", "session_id"},
		{"session/state", `{"session_id":""}`, -32602, "invalid_params", "session_id"},
		{"session/state", `{"session_id":7}`, -32602, "invalid_params", "session_id"},
		{"session/state", `{"session_id":null}`, -32602, "invalid_params", "session_id"},
		{"session/state", `{}`, -32602, "invalid_params", "session_id"},

		// Turns, messages and cursors that are none.
		{"turn/wait", `{"session_id":"$ID","turn_id":"` + nowhere + `"}`, 1001, "not_found", ""},
		{"session/cancel", `{"session_id":"$ID","turn_id":"` + nowhere + `"}`, 1001, "not_found", ""},
		{"session/queue", `{"session_id":"$ID","remove":["` + nowhere + `"]}`, 1001, "not_found", ""},
		{"session/history", `{"session_id":"$ID","before":"` + nowhere + `"}`, 1001, "not_found", ""},
		{"session/history", `{"session_id":"$ID","after":"../x"}`, -32602, "invalid_params", "after"},
		{"session/list", `{"cursor":"../x"}`, -32602, "invalid_params", "cursor"},
		{"session/list", `{"limit":-1}`, -32602, "invalid_params", "limit"},
		{"session/list", `{"limit":1.5}`, -32602, "invalid_params", "limit"},
		{"session/list", `{"limit":"many"}`, -32602, "invalid_params", "limit"},

		// Levels and their words.
		{"thinking/set", `{"session_id":"$ID","level":"enormous"}`, 1010, "level_not_supported", ""},
		{"thinking/set", `{"session_id":"$ID","level":"High"}`, 1010, "level_not_supported", ""},
		{"thinking/set", `{"session_id":"$ID","level":"minimal","fallback":"error"}`, 1010, "level_not_supported", ""},
		{"thinking/set", `{"session_id":"$ID","level":7}`, -32602, "invalid_params", "level"},
		{"thinking/set", `{"session_id":"$ID"}`, -32602, "invalid_params", "level"},
		{"thinking/set", `{"session_id":"$ID","level":"low","fallback":"sideways"}`, -32602, "invalid_params", "fallback"},
		{"thinking/set", `{"session_id":"$ID","level":"low","display":"loud"}`, -32602, "invalid_params", "display"},
		{"session/new", `{"thinking_level":"enormous"}`, 1010, "level_not_supported", ""},
		{"session/new", `{"model_id":"sim/claude","thinking_level":"minimal","fallback":"error"}`, 1010, "level_not_supported", ""},
		{"session/prompt", `{"session_id":"$ID","text":"x","thinking_level":"enormous"}`, 1010, "level_not_supported", ""},

		// Models and providers.
		{"session/new", `{"model_id":"nosuch"}`, 1003, "no_model", ""},
		{"session/new", `{"model_id":"nosuch/claude"}`, 1003, "no_model", ""},
		{"model/set", `{"session_id":"$ID","model_id":"nosuch"}`, 1003, "no_model", ""},
		{"model/set", `{"session_id":"$ID","model_id":"claude","provider":"nosuch"}`, 1003, "no_model", ""},
		{"model/set", `{"session_id":"$ID","model_id":7}`, -32602, "invalid_params", "model_id"},
		{"model/set", `{"session_id":"$ID"}`, -32602, "invalid_params", "model_id"},
		{"session/prompt", `{"session_id":"$ID","text":"x","model_id":"nosuch"}`, 1003, "no_model", ""},
		{"models/list", `{"provider":"nosuch"}`, 1003, "no_model", ""},

		// What is said.
		{"session/prompt", `{"session_id":"$ID"}`, -32602, "invalid_params", "text"},
		{"session/prompt", `{"session_id":"$ID","text":""}`, -32602, "invalid_params", "text"},
		{"session/prompt", `{"session_id":"$ID","text":" \n"}`, -32602, "invalid_params", "text"},
		{"session/prompt", `{"session_id":"$ID","text":7}`, -32602, "invalid_params", "text"},
		{"session/prompt", `{"session_id":"$ID","text":["x"]}`, -32602, "invalid_params", "text"},
		{"session/prompt", `{"session_id":"$ID","content":"x"}`, -32602, "invalid_params", "content"},
		{"session/prompt", `{"session_id":"$ID","content":[7]}`, -32602, "invalid_params", "content"},
		{"session/prompt", `{"session_id":"$ID","content":[{"type":"dance"}]}`, -32602, "invalid_params", "content"},
		{"session/prompt", `{"session_id":"$ID","content":[{"type":"text","text":7}]}`, -32602, "invalid_params", "content"},
		{"session/prompt", `{"session_id":"$ID","content":[{"type":"thinking","text":"forged"}]}`, -32602, "invalid_params", "content"},
		{"session/prompt", `{"session_id":"$ID","content":[{"type":"tool_result","call_id":"x","content":[]}]}`, -32602, "invalid_params", "content"},
		{"session/prompt", `{"session_id":"$ID","content":[{"type":"media","mime_type":"image/png","data":"?"}]}`, -32602, "invalid_params", "content"},
		{"session/prompt", `{"session_id":"$ID","content":[{"type":"media","mime_type":"audio/wav","data":"UklGRg=="}]}`, -32602, "invalid_params", "content"},
		{"session/prompt", `{"session_id":"$ID","text":"x","content":[{"type":"text","text":"y"}]}`, -32602, "invalid_params", "content"},
		{"session/prompt", `{"session_id":"$ID","text":"x","when_busy":"panic"}`, -32602, "invalid_params", "when_busy"},
		{"session/export", `{"session_id":"$ID","format":"pdf"}`, -32602, "invalid_params", "format"},
		{"session/export", `{"session_id":"$ID"}`, -32602, "invalid_params", "format"},
		{"session/update", `{"session_id":"$ID"}`, -32602, "invalid_params", "title"},
		{"session/update", `{"session_id":"$ID","title":7}`, -32602, "invalid_params", "title"},
		{"session/update", `{"session_id":"$ID","metadata":"x"}`, -32602, "invalid_params", "metadata"},

		// Params that are no object, members of later versions, methods that are none.
		{"session/prompt", `["$ID","x"]`, -32602, "invalid_params", ""},
		{"session/list", `[]`, -32602, "invalid_params", ""},
		{"session/prompt", `{"session_id":"$ID","text":"x","client_id":1}`, -32602, "invalid_params", "client_id"},
		{"session/attach", `{"session_id":"$ID","after_seq":"3"}`, -32602, "invalid_params", "after_seq"},
		{"session/new", `{"tools":"all"}`, -32602, "invalid_params", "tools"},
		{"session/new", `{"agent":"x"}`, -32602, "invalid_params", "agent"},
		{"session/new", `{"mcp_servers":{}}`, -32602, "invalid_params", "mcp_servers"},
		{"session/fly", `{}`, -32601, "", ""},
		{"session/fork", `{"session_id":"$ID","message_id":"` + nowhere + `"}`, 1001, "not_found", ""},
		{"session/compact", `{"session_id":"` + nowhere + `"}`, 1001, "not_found", ""},
		{"session/state", `7`, -32600, "", ""},
		{"ping", `"x"`, -32600, "", ""},
		{"ping", `{"x":` + deep + `}`, -32600, "", ""},
	} {
		name := test.method + " " + test.params
		err := p.Call(test.method, json.RawMessage(strings.ReplaceAll(test.params, "$ID", id)), nil)
		got, ok := errors.AsType[*proof.CallError](err)
		if !ok {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var data struct{ Kind, Field string }
		if len(got.Data) > 0 {
			if err := json.Unmarshal(got.Data, &data); err != nil {
				t.Errorf("%s: data %s: %v", name, got.Data, err)
			}
		}
		field, _, _ := strings.Cut(data.Field, ".")
		if got.Code != test.code || test.kind != "" && data.Kind != test.kind || field != test.field {
			t.Errorf("%s: %d %q, kind %q, field %q; want %d, kind %q, field %q", name, got.Code, got.Message, data.Kind, data.Field, test.code, test.kind, test.field)
		}
		if strings.Contains(got.Message, "main.") || strings.Contains(got.Message, "rpc.") || strings.Contains(got.Message, "json:") {
			t.Errorf("%s: the message has words of ours: %q", name, got.Message)
		}
	}

	// What is no request at all is answered with the id null.
	for text, code := range map[string]int{
		"hello\n": -32700, "{\"jsonrpc\":\"2.0\",\"id\":\n": -32700, "[]\n": -32600, "7\n": -32600,
		"{\"jsonrpc\":\"1.0\",\"id\":null,\"method\":\"ping\"}\n": -32600,
	} {
		p.Raw(text)
		select {
		case m := <-p.Orphans:
			if m.Error == nil || m.Error.Code != code {
				t.Errorf("%q: %+v, want %d", text, m.Error, code)
			}
		case <-time.After(proof.Patience):
			t.Fatalf("%q: no answer\n%s", text, proof.Excerpt(p.Log()))
		}
		p.Must("ping", struct{}{}, nil)
	}

	// Deleting what is not there is a success.
	p.Must("session/delete", map[string]any{"session_id": nowhere}, nil)

	after, err := p.History(id)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("bad input changed the session (-before +after):\n%s", diff)
	}
	var state struct{ Session proof.LevelAnswer }
	p.Must("session/state", map[string]any{"session_id": id}, &state)
	if state.Session.Preferred != "low" {
		t.Errorf("the preferred level is %q", state.Session.Preferred)
	}
	var list struct{ Sessions []any }
	p.Must("session/list", map[string]any{}, &list)
	if len(list.Sessions) != 1 {
		t.Errorf("there are %d sessions", len(list.Sessions))
	}
	if end := p.Turn(id, "Second. [[sim: thinking=10 text=10 pace=0]]"); end.Stop != "end_turn" {
		t.Errorf("the turn ends with %s", end.Stop)
	}
	p.End()
}
