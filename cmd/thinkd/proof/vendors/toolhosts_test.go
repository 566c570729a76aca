package vendors

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
)

// referenceServer is a server of tools by others, from npm.
func referenceServer(t *testing.T, name string) []string {
	t.Helper()
	node, dir := proof.NodePackage(t, "testdata/mcp")
	script := filepath.Join(dir, "node_modules/@modelcontextprotocol", name, "dist/index.js")
	return []string{node, script}
}

// A session has the tools of the operator's server, of its client's, and the daemon's own; each call runs where it
// belongs, and what changes files asks first.
func TestToolsOfTheDaemon(t *testing.T) {
	t.Parallel()
	every, files := referenceServer(t, "server-everything"), referenceServer(t, "server-filesystem")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command, err := json.Marshal(append(every, "stdio")) // a list of strings is the same in both languages
	if err != nil {
		t.Fatal(err)
	}
	config := proof.WriteConfig(t, fmt.Sprintf("[mcp_servers.every]\ntrust_hints = true\ncommand = %s\n[tools.names]\nfiles__read_text_file = \"allow\"\n[mcp_servers.broken]\ncommand = [\"/nonexistent/server\"]\n", command))
	model, env := proof.Simulator(t, sim.Config{})
	p := proof.Start(t, proof.DataDir(t), env, "--config", config)
	call := func(id, name, input string) sim.Part {
		return sim.Part{Kind: sim.Call, ID: id, Name: name, Input: json.RawMessage(input)}
	}
	model.Script(sim.Answer{Parts: []sim.Part{
		call("toolu_1", "every__echo", `{"message":"hello"}`),
		call("toolu_2", "every__trigger-long-running-operation", `{"duration":0.2,"steps":2}`),
		call("toolu_3", "files__read_text_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(dir, "a.txt"))),
		call("toolu_4", "edit_file", `{"path":"a.txt","edits":[{"old_text":"one","new_text":"two"}]}`),
		call("toolu_5", "read_file", `{"path":"../secret"}`),
	}}, sim.Answer{Parts: []sim.Part{{Text: "Done."}}}, sim.Answer{Parts: []sim.Part{
		call("toolu_6", "every__trigger-long-running-operation", `{"duration":3600,"steps":36000}`),
	}})

	var s struct {
		ID string `json:"session_id"`
	}
	p.Must("session/new", map[string]any{"model_id": "anthropic/claude-haiku-4-5", "cwd": dir, "tools": "builtin",
		"mcp_servers": []any{map[string]any{"name": "files", "command": append(files, dir), "tools": []string{"read_text_file"}}}}, &s)
	missing := p.Wait("word of the broken server", func(u proof.Update) bool { return u.Method == "notice" && u.Kind == "tools_missing" })
	if !strings.Contains(string(missing.Raw), "no tools of broken: ") || !strings.Contains(string(missing.Raw), "/nonexistent/server: no such file or directory") {
		t.Errorf("the notice about the broken server is %s", missing.Raw)
	}

	turn := p.Say(s.ID, "Try them all.")
	var asked struct {
		Confirm string `json:"confirm_id"`
		Call    string `json:"call_id"`
	}
	if err := json.Unmarshal(p.Wait("the question", func(u proof.Update) bool { return u.Method == "confirm" }).Raw, &asked); err != nil {
		t.Fatal(err)
	}
	if asked.Call != "toolu_4" {
		t.Errorf("%s asks", asked.Call)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(text) != "one\n" {
		t.Errorf("before the answer the file has %q, %v", text, err)
	}
	p.Wait("what the other calls say", func(u proof.Update) bool { return u.Method == "tool_end" && strings.Contains(string(u.Raw), "toolu_3") })
	p.Must("confirm/answer", map[string]any{"session_id": s.ID, "confirm_id": asked.Confirm, "action": "allow"}, nil)
	if end := p.Wait("the end of the turn", proof.Ended(turn)); end.Stop != "end_turn" {
		t.Fatalf("the turn ends with %s", end.Raw)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(text) != "two\n" {
		t.Errorf("after the answer the file has %q, %v", text, err)
	}
	hosts, results := map[string]string{}, map[string]string{}
	for _, u := range p.Seen() {
		var e struct {
			Call    string `json:"call_id"`
			Host    string
			Content []struct{ Text string }
		}
		if err := json.Unmarshal(u.Raw, &e); err != nil {
			t.Fatal(err)
		}
		switch u.Method {
		case "tool_start":
			hosts[e.Call] = e.Host
		case "tool_end":
			results[e.Call] = e.Content[0].Text
		}
	}
	for id, want := range map[string][2]string{"toolu_1": {"mcp", "Echo: hello"}, "toolu_2": {"mcp", "completed"}, "toolu_3": {"mcp", "one\n"},
		"toolu_4": {"builtin", "-one\n+two\n"}, "toolu_5": {"builtin", "../secret is outside of the session's folders"}} {
		if hosts[id] != want[0] || !strings.Contains(results[id], want[1]) {
			t.Errorf("%s: host %q, result %q, want %q", id, hosts[id], results[id], want)
		}
	}
	turn = p.Say(s.ID, "Work for an hour.")
	p.Wait("its progress", func(u proof.Update) bool {
		return u.Method == "tool_output" && strings.Contains(string(u.Raw), `1/36000\n`)
	})
	p.Must("session/cancel", map[string]any{"session_id": s.ID}, nil)
	if end := p.Wait("the end of the turn", proof.Ended(turn)); end.Stop != "cancelled" {
		t.Errorf("the cancelled turn ends with %s", end.Raw)
	}
	if err := p.Call("session/new", map[string]any{"tools": "builtin"}, nil); err == nil || !strings.Contains(err.Error(), "cwd: the built-in tools need a folder") {
		t.Errorf("without a folder: %v", err)
	}
	p.Must("session/delete", map[string]any{"session_id": s.ID}, nil)
	p.End()
}
