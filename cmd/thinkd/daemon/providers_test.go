package daemon

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/session/mem"
)

// TestHostFromConfigAlone talks to a host that nobody has heard of, in a dialect of its own: its words for effort, the
// place of its thinking and of its usage are stated in the configuration and nowhere else.
func TestHostFromConfigAlone(t *testing.T) {
	requests := make(chan map[string]any, 2)
	host := proof.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/llm/talk" || r.Header.Get("api-key") != "sk-mine" {
			t.Errorf("%s %s: key %q, body %v (%v)", r.Method, r.URL.Path, r.Header.Get("api-key"), body, err)
		}
		requests <- body
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"role":"assistant","musing":"Compare both."}}]}

data: {"choices":[{"index":0,"delta":{"content":"The second."}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: {"choices":[],"bill":{"prompt_tokens":7,"completion_tokens":9,"completion_tokens_details":{"mused":4}}}

data: [DONE]

`)
	}))
	p := Options{LogTo: io.Discard, Getenv: proof.Environment(append(proof.NobodyHere, "ACME_KEY=sk-mine")...), LogLevel: "warn", LogFormat: "text",
		ConfigPath: proof.WriteConfig(t, `
model = "acme/muse-1"
[providers.acme]
api = "chat"
dialect = "acme"
base_url = "`+host+`/llm"
api_key_env = "ACME_KEY"
[[providers.acme.models]]
id = "muse-1"
thinking = { control = "effort", levels = ["low", "high"], default = "low", can_disable = true }
[dialects.acme]
chat_path = "/talk"
auth = "api-key"
[dialects.acme.request]
max_tokens_field = "max_tokens"
on = { muse = true }
off = { muse = false }
effort = { path = "muse_depth", map = { low = "shallow", high = "deep" } }
[dialects.acme.response]
text_fields = ["musing"]
usage_paths = ["bill"]
reasoning_tokens = ["completion_tokens_details.mused"]
eof_without_done = "error"
error_paths = ["error"]
[dialects.acme.echo]
field = "musing"
scope = "all_turns"
empty = "omit"
foreign = "drop"
[dialects.acme.message]
empty_content_no_calls = "empty_string"
empty_content_with_calls = "null"
system_role = "system"
tool_id = "any"
string_content_only = true
[dialects.acme.listing]
`)}
	d, err := p.open(t.Context(), mem.New())
	if err != nil {
		t.Fatal(err)
	}
	s := newConversation(t, linked(t, d), "")
	s.call("thinking/set", map[string]any{"level": "high"}, &json.RawMessage{})
	s.say("Which date is later?")
	s.call("thinking/set", map[string]any{"level": "off"}, &json.RawMessage{})
	s.say("And now?")
	sent := []map[string]any{<-requests, <-requests}
	for i, want := range []map[string]any{{"muse": true, "muse_depth": "deep"}, {"muse": false}} {
		got := map[string]any{}
		for _, name := range []string{"muse", "muse_depth"} {
			if v, ok := sent[i][name]; ok {
				got[name] = v
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("request %d (-want +got):\n%s", i, diff)
		}
	}
	messages := sent[1]["messages"].([]any)
	answer := messages[1].(map[string]any)
	if answer["musing"] != "Compare both." || answer["content"] != "The second." {
		t.Errorf("the answer goes back as %v", answer)
	}
	var state struct {
		Session struct {
			Usage struct {
				Input     int `json:"input_tokens"`
				Output    int `json:"output_tokens"`
				Reasoning int `json:"reasoning_tokens"`
			}
		}
	}
	s.call("session/state", map[string]any{}, &state)
	if u := state.Session.Usage; u.Input != 14 || u.Output != 18 || u.Reasoning != 8 {
		t.Errorf("usage %+v", u)
	}
}
