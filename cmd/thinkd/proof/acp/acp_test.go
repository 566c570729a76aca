package acp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/logins"
	"github.com/thinkd/thinkd/rpc/acptest"
)

// foreignEditor is the folder of an editor made with a foreign library, and node to run it.
func foreignEditor(t *testing.T) (dir, node string) {
	t.Helper()
	node, dir = proof.NodePackage(t, "testdata/acp")
	return dir, node
}

// project is a folder with a file to work on.
func project(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "project"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "project", "a.txt"), []byte("one, saved\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return folder
}

// tasks is what the model says to an editor that has a file changed, another refused, a command run, and a thought cut off.
func tasks() []sim.Answer {
	call := func(name, input string) sim.Part {
		return sim.Part{Kind: sim.Call, Name: name, Input: json.RawMessage(input)}
	}
	text := func(text string) []sim.Part { return []sim.Part{{Kind: sim.Text, Text: text}} }
	think := func(text string) sim.Part { return sim.Part{Kind: sim.Thinking, Text: text} }
	endless := sim.Answer{Parts: []sim.Part{{Kind: sim.Thinking, Text: "On and on. ", Endless: true}}, Pace: 50}
	return []sim.Answer{
		{Parts: []sim.Part{think("It says one."), think("It has to say two."),
			call("edit_file", `{"path":"a.txt","edits":[{"old_text":"one","new_text":"two"}]}`)}},
		{Parts: text("It says two.")},
		{Parts: []sim.Part{think("Now b."), call("write_file", `{"path":"b.txt","content":"b"}`)}},
		{Parts: text("As you like.")},
		{Parts: []sim.Part{think("Now run."), call("run", `{"command":"echo ran; exit 3"}`)}},
		{Parts: text("It fails.")},
		endless, endless,
	}
}

// TestACPForeign is an editor made with the protocol's own SDK, before and after a restart of the daemon. Every message that
// it is sent is as the schema has it.
func TestACPForeign(t *testing.T) {
	t.Parallel()
	dir, node := foreignEditor(t)
	vendor, env := proof.Simulator(t, sim.Config{})
	vendor.Script(tasks()...)
	folder, data := project(t), proof.DataDir(t)
	play := func(phase string) (saw []map[string]any) {
		agent := proof.Command(t, env)
		cmd := exec.Command(node, filepath.Join(dir, "editor.mjs"), phase, folder, agent.Path, "--data", data, "--log-level", "debug", "acp")
		cmd.Env = agent.Env
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s%s", err, out, stderr.String())
		}
		for line := range strings.Lines(string(out)) {
			var thing map[string]any
			if err := json.Unmarshal([]byte(line), &thing); err != nil {
				t.Fatal(err)
			}
			saw = append(saw, thing)
		}
		return saw
	}
	list := func(words ...string) (all []any) {
		for _, w := range words {
			all = append(all, w)
		}
		return all
	}
	hello := map[string]any{"version": 1.0, "agent": "thinkd", "auth": 0.0}
	asked := list("allow_once", "allow_always", "reject_once", "reject_always")
	edited := list("allow_once", "allow_always", "allow_always", "reject_once", "reject_always", "reject_always") // in the folder, or always
	first := []map[string]any{
		hello,
		{"options": list("model", "mode", "reasoning_effort", "thinking_display", "service_tier"), "values": list("anthropic/claude-opus-5-5", "ask", "medium", "default", "default")},
		{"values": list("anthropic/claude-opus-5-5", "ask", "max", "default", "default")},
		{"asked": edited, "answer": "allow_once"},
		{"stopReason": "end_turn", "story": list("agent_thought: It says one.", "agent_thought: It has to say two.", "call: pending edit", "call: completed", "agent_message: It says two.")},
		{"asked": edited, "answer": "reject_once"},
		{"stopReason": "end_turn", "story": list("agent_thought: Now b.", "call: pending edit", "call: failed", "agent_message: As you like.")},
		{"asked": asked, "answer": "allow_always"},
		{"released": "t1"},
		{"stopReason": "end_turn", "story": list("agent_thought: Now run.", "call: pending execute", "call: failed", "agent_message: It fails.")},
		{"buffer": "two, not saved\n", "disk": "one, saved\n", "other": false, "terminals": 1.0},
		{"stopReason": "cancelled"},
	}
	if diff := cmp.Diff(first, play("first")); diff != "" {
		t.Fatalf("before the restart (-want +got)\n%s", diff)
	}
	if err := proof.Quit(data); err != nil {
		t.Fatal(err)
	}
	second := play("second")
	loaded, _ := json.Marshal(second[2]["loaded"])
	delete(second[2], "loaded")
	want := []map[string]any{
		hello,
		{"listed": []any{[]any{true, true, "Fix it."}}},
		{"values": list("anthropic/claude-opus-5-5", "ask", "max", "default", "default")},
		hello, {"replayed": 0.0}, {"stopReason": "cancelled"}, {"gone": -32002.0},
	}
	if diff := cmp.Diff(want, second); diff != "" {
		t.Errorf("after the restart (-want +got)\n%s", diff)
	}
	for _, line := range []string{"user_message: Fix it.", "agent_thought: It says one.", "agent_thought: It has to say two.", "call: completed edit",
		"call: failed execute", "agent_message: It fails.", "user_message: Think for ever.", "agent_thought: On "} { // the editor cancels at the first piece
		if !strings.Contains(string(loaded), `"`+line) {
			t.Errorf("what was loaded has no %q: %s", line, loaded)
		}
	}
	followsSchema(t, folder, 50)
}

// followsSchema holds what an editor heard against the protocol's schema. least is the number of messages that there have to be.
func followsSchema(t *testing.T, folder string, least int) {
	t.Helper()
	schema, err := acptest.Open("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	heard, err := os.ReadFile(filepath.Join(folder, "heard"))
	if err != nil {
		t.Fatal(err)
	}
	messages := strings.Split(strings.TrimSpace(string(heard)), "\n")
	for _, message := range messages {
		if err := schema.Check(message); err != nil {
			t.Error(err)
		}
	}
	if len(messages) < least {
		t.Errorf("only %d messages were heard", len(messages))
	}
}

// TestACPFeatures tries the features of docs/editors.md with the protocol's own SDK and the types of its unstable schema.
func TestACPFeatures(t *testing.T) {
	t.Parallel()
	dir, node := foreignEditor(t)
	folder := project(t)
	agent := proof.Command(t, nil)
	github := logins.New(logins.Config{ClientID: "Iv1.test", API: "http://127.0.0.1:1", Interval: 1}) // no model of Copilot is called
	server := proof.Serve(t, github)
	page := proof.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code, err := io.ReadAll(r.Body); err != nil || !github.Approve(string(code)) {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	config := proof.WriteConfig(t, "[[providers.sim.models]]\nid = \"gemini\"\ninput = [\"text\", \"audio\"]\n"+ // no other simulated model takes sounds
		fmt.Sprintf("[providers.copilot.login]\nclient_id = \"Iv1.test\"\neditor = true\naddress = %q\napi_address = %q\n", server, server))
	cmd := exec.CommandContext(t.Context(), node, filepath.Join(dir, "features.mjs"), folder, agent.Path, "--data", proof.DataDir(t), "--config", config, "acp")
	cmd.Env = append(agent.Env, "LOGIN_PAGE="+page)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, stderr.String())
	}
	want := []string{"initialize", "auth/status", "systemPrompt", "options", "usage", "commands", "plan", "locations and additionalDirectories", "terminals",
		"reject_always", "allow_always for a prefix", "rate limits", "audio", "session/set_title and session/status", "session/fork", "session/archive",
		"another directory", "commands run", "close and delete", "authenticate", "logout"}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(string(out)), "\n")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	followsSchema(t, folder, 200)
}
