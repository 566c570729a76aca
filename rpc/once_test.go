package rpc

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/method"
)

func TestStamps(t *testing.T) {
	read := func(text string) string {
		var p promptParams
		if err := method.DecodeParams(json.RawMessage(text), reflect.ValueOf(&p).Elem(), method.FieldsOf(reflect.TypeFor[promptParams]())); err != nil {
			t.Fatal(err)
		}
		stamp, err := p.stamp()
		if err != nil {
			t.Fatal(err)
		}
		if stamp == nil {
			return ""
		}
		return stamp.ID + string(stamp.Digest)
	}
	const session = `"session_id":"01KAK2V7M0Q2X4T6V8Y0A2C4E6"`
	for _, text := range []string{`{` + session + `,"text":"x"}`, `{` + session + `,"text":"x","client_id":null}`} {
		if got := read(text); got != "" {
			t.Errorf("%s has the stamp %q", text, got)
		}
	}
	same := []string{
		`{` + session + `,"text":"x","client_id":"a"}`,
		`{ "client_id" : "\u0061", "text":"\u0078", "display": null, ` + session + `, "unknown":1}`,
		`{` + session + `,"text":"x","when_busy":"queue","options":{},"client_id":"a"}`,
	}
	other := []string{
		`{` + session + `,"text":"x","client_id":"b"}`,
		`{` + session + `,"text":"x","client_id":""}`,
		`{` + session + `,"text":"y","client_id":"a"}`,
		`{` + session + `,"content":[{"type":"text","text":"x"}],"client_id":"a"}`,
		`{` + session + `,"content":[{"type":"text","text":"x"},{"type":"media","mime_type":"image/png","data":"AAAA"}],"client_id":"a"}`,
		`{` + session + `,"content":[{"type":"text","text":"x"},{"type":"media","mime_type":"image/png","data":"AAAB"}],"client_id":"a"}`,
		`{` + session + `,"text":"x","thinking_level":"low","client_id":"a"}`,
		`{` + session + `,"text":"x","model_id":"low","client_id":"a"}`,
		`{` + session + `,"text":"x","when_busy":"reject","client_id":"a"}`,
		`{` + session + `,"text":"x","options":{"stop":[]},"client_id":"a"}`,
		`{"session_id":"01KAK2V7M0Q2X4T6V8Y0A2C4E7","text":"x","client_id":"a"}`,
	}
	seen := map[string]string{}
	for _, text := range append(other, same[0]) {
		if before := seen[read(text)]; before != "" {
			t.Errorf("one stamp for\n%s\n%s", before, text)
		}
		seen[read(text)] = text
	}
	for _, text := range same[1:] {
		if read(same[0]) != read(text) {
			t.Errorf("two stamps for\n%s\n%s", same[0], text)
		}
	}
}

// Requests that differ only in members set to their default are the same request, and those that ask for something else are not.
func TestDefaultsAreNoDifference(t *testing.T) {
	onStage(t, "say x\n\nsay y\n\nsay z", 0, func(s *stage) {
		const schema = `{"type":"object"}`
		made := s.result("session/new", map[string]any{"client_id": "a"}).Get("session_id").String()
		for _, same := range []map[string]any{{"options": map[string]any{}}, {"display": "summarized"}, {"options": map[string]any{"egress": []string{}}}, {"title": "", "mcp_servers": []any{}}} {
			same["client_id"] = "a"
			if got := s.result("session/new", same).Get("session_id").String(); got != made {
				t.Errorf("%v made %s, want %s", same, got, made)
			}
		}
		if got := s.refused("session/new", map[string]any{"client_id": "a", "display": "omitted"}); got != "-32602 client_id" {
			t.Errorf("another display: %s", got)
		}
		by := func(more map[string]any) map[string]any {
			output := map[string]any{"schema": json.RawMessage(schema)}
			for name, value := range more {
				output[name] = value
			}
			return map[string]any{"session_id": made, "text": "x", "client_id": "a", "options": map[string]any{"output_schema": output}}
		}
		turn := s.result("session/prompt", by(nil)).Get("turn_id").String()
		if got := s.result("session/prompt", by(map[string]any{"strict": true, "name": "answer"})).Get("turn_id").String(); got != turn {
			t.Errorf("the defaults of a schema make another turn %s", got)
		}
		if got := s.refused("session/prompt", by(map[string]any{"strict": false})); got != "-32602 client_id" {
			t.Errorf("another strictness: %s", got)
		}
		added := map[string]any{"session_id": made, "text": "x", "client_id": "b"}
		turn = s.result("session/append", added).Get("turn_id").String()
		added["when_busy"] = "queue"
		if got := s.result("session/append", added).Get("turn_id").String(); got != turn {
			t.Errorf("the default of when_busy makes another turn %s", got)
		}
	})
}

// session/new, session/fork and session/ask have ids of their own, and a repeated request says if its session was deleted.
func TestCreationsOfEachMethod(t *testing.T) {
	onStage(t, "say x\n\nsay y", 0, func(s *stage) {
		create := map[string]any{"client_id": "a"}
		parent := s.result("session/new", create)
		id := parent.Get("session_id").String()
		s.result("session/prompt", map[string]any{"session_id": id, "text": "x"})
		time.Sleep(time.Second)
		fork := map[string]any{"session_id": id, "client_id": "a"}
		forked := s.result("session/fork", fork).Get("session_id").String()
		ask := map[string]any{"session_id": id, "text": "why?", "keep": true, "client_id": "a"}
		asked := s.result("session/ask", ask).Get("session_id").String()
		if forked == id || asked == id || asked == forked {
			t.Errorf("one id made %s, %s and %s", id, forked, asked)
		}
		time.Sleep(time.Second)
		for _, made := range []string{forked, asked, id} {
			s.result("session/delete", map[string]any{"session_id": made})
		}
		for _, again := range []struct {
			method, made string
			params       map[string]any
		}{{"session/fork", forked, fork}, {"session/ask", asked, ask}, {"session/new", id, create}} {
			r := s.result(again.method, again.params)
			if r.Get("session_id").String() != again.made || !r.Get("deleted").Bool() {
				t.Errorf("%s again: %s, want %s as deleted", again.method, r.Raw, again.made)
			}
		}
		if got := s.refused("session/prompt", map[string]any{"session_id": id, "text": "x", "client_id": "a"}); got != "1001" {
			t.Errorf("a prompt to a session that was deleted before a model was called: %s", got)
		}
		if got := s.ask("session/prompt", map[string]any{"session_id": asked, "text": "x", "client_id": "a"}).Get("error"); got.Get("code").Int() != 1001 ||
			got.Get("message").String() != "the session was deleted" || got.Get("data.kind").String() != "deleted" {
			t.Errorf("a prompt to a deleted session: %s", got.Raw)
		}
	})
}

func TestClientIDs(t *testing.T) {
	onStage(t, "", 0, func(s *stage) {
		long := strings.Repeat("é", maxClientID/2)
		for _, tc := range []struct {
			id   any
			want string
		}{{long, "0"}, {long + "x", "-32602 client_id"}, {7, "-32602 client_id"}, {[]any{"a"}, "-32602 client_id"}, {"a\nb\x00\u2028", "0"}, {nil, "0"}} {
			if got := s.refused("session/new", map[string]any{"client_id": tc.id}); got != tc.want {
				t.Errorf("session/new with %.20v: %s, want %s", tc.id, got, tc.want)
			}
			id := s.result("session/new", map[string]any{}).Get("session_id").String()
			if got := s.refused("session/prompt", map[string]any{"session_id": id, "text": "x", "client_id": tc.id}); got != tc.want {
				t.Errorf("session/prompt with %.20v: %s, want %s", tc.id, got, tc.want)
			}
		}
		if n := s.result("session/list", map[string]any{}).Get("sessions.#").Int(); n != 3+6 {
			t.Errorf("%d sessions were made, want 9", n)
		}
	})
}

// Asking again for a session that is followed takes nothing of what is on its way.
func TestNewAgainKeepsTheSubscription(t *testing.T) {
	onStage(t, "say a|b|c|d|e|f\nwait 1h", 0, func(s *stage) {
		params := map[string]any{"model_id": "anthropic/claude-opus-5-5", "client_id": "a"}
		first := s.result("session/new", params)
		id := first.Get("session_id").String()
		s.result("session/prompt", map[string]any{"session_id": id, "text": "say"})
		for range 10 {
			if again := s.result("session/new", params); !cmp.Equal(again.Value(), first.Value()) {
				t.Errorf("%s and then %s", first.Raw, again.Raw)
			}
			time.Sleep(time.Millisecond)
		}
		s.checkSeq()
		var text strings.Builder
		updates := 0
		for _, message := range s.messages() {
			if strings.Contains(message, `"seq":`) {
				updates++
			}
			if _, rest, ok := strings.Cut(message, `"delta":"`); ok {
				text.WriteString(rest[:1])
			}
		}
		if text.String() != "abcdef" || updates != 3+6+1 {
			t.Errorf("%d updates with the text %q", updates, text.String())
		}
		s.result("session/detach", map[string]any{"session_id": id})
		s.result("session/new", params) // subscribes anew
		s.result("session/cancel", map[string]any{"session_id": id})
		if heard := s.messages(); !strings.Contains(heard[len(heard)-1], `"method":"turn_end"`) {
			t.Errorf("the last update is %s", heard[len(heard)-1])
		}
	})
}

// What was done is answered, though the same request would be refused today.
func TestDoneOnceIsAnsweredEver(t *testing.T) {
	onStage(t, "say x\n\nsay y", 0, func(s *stage) {
		create := map[string]any{"model_id": "sim/claude-always", "client_id": "a"}
		first := s.result("session/new", create)
		say := map[string]any{"session_id": first.Get("session_id").String(), "text": "x", "model_id": "mirror/claude-opus-5-5", "client_id": "a"}
		said := s.result("session/prompt", say)
		time.Sleep(time.Second)
		catalog, err := registry.New([]registry.Provider{{ID: "anthropic", Vendor: "anthropic"}})
		if err != nil {
			t.Fatal(err)
		}
		s.config.Catalog = catalog
		s.restart()
		synctest.Wait()
		again := s.result("session/new", create)
		seq := again.Get("seq") // of the connection, which has come later
		members := again.Value().(map[string]any)
		delete(members, "seq")
		if !cmp.Equal(any(members), first.Value()) || seq.Uint() == 0 {
			t.Errorf("%s and then %s", first.Raw, again.Raw)
		}
		if again := s.result("session/prompt", say); !cmp.Equal(again.Value(), said.Value()) {
			t.Errorf("%s and then %s", said.Raw, again.Raw)
		}
		create["client_id"], say["client_id"] = "b", "b"
		if got := s.refused("session/new", create); got != "1003" {
			t.Errorf("a new one with that model: %s", got)
		}
		if got := s.refused("session/prompt", say); got != "1003" {
			t.Errorf("a new prompt with that model: %s", got)
		}
	})
}
