package acp

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
)

// rawEditor speaks ACP in lines by hand.
type rawEditor struct {
	*proof.Framed
	last int
}

func startRawEditor(t *testing.T, data string, env []string, flags ...string) *rawEditor {
	t.Helper()
	return &rawEditor{Framed: proof.StartFramed(t, proof.Command(t, env, append(append([]string{"--data", data}, flags...), "acp")...), false)}
}

func (e *rawEditor) ask(method string, params any) int {
	e.T.Helper()
	e.last++
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": e.last, "method": method, "params": params})
	if err != nil {
		e.T.Fatal(err)
	}
	e.Send(string(text))
	return e.last
}

// line is the next message, which has to be one.
func (e *rawEditor) line() gjson.Result {
	e.T.Helper()
	text, err := e.In.ReadString('\n')
	if err != nil {
		e.T.Fatalf("standard output: %v\n%s", err, proof.Excerpt(e.Stderr.String()))
	}
	m := gjson.Parse(text)
	if !gjson.Valid(text) || m.Get("jsonrpc").String() != "2.0" {
		e.T.Fatalf("standard output has %q", text)
	}
	return m
}

// until reads to a message.
func (e *rawEditor) until(wanted func(gjson.Result) bool) gjson.Result {
	e.T.Helper()
	for {
		if m := e.line(); wanted(m) {
			return m
		}
	}
}

func (e *rawEditor) answer(id int) gjson.Result {
	e.T.Helper()
	return e.until(func(m gjson.Result) bool { return !m.Get("method").Exists() && m.Get("id").Int() == int64(id) })
}

func (e *rawEditor) result(method string, params any) gjson.Result {
	e.T.Helper()
	a := e.answer(e.ask(method, params))
	if !a.Get("result").Exists() {
		e.T.Fatalf("%s: %s", method, a.Raw)
	}
	return a.Get("result")
}

func promptOf(session, text string) map[string]any {
	return map[string]any{"sessionId": session, "prompt": []map[string]any{{"type": "text", "text": text}}}
}

func thinks(m gjson.Result) bool {
	return m.Get("params.update.sessionUpdate").String() == "agent_thought_chunk"
}

// TestACPOutlives kills the daemon under an editor, in mid-thought. The prompt has an answer that says so, and the editor goes
// on with the same session at the next daemon, of which it need not know.
func TestACPOutlives(t *testing.T) {
	t.Parallel()
	vendor, env := proof.Simulator(t, sim.Config{})
	endless := sim.Answer{Parts: []sim.Part{{Kind: sim.Thinking, Text: "On and on. ", Endless: true}}, Pace: 50}
	said := sim.Answer{Parts: []sim.Part{{Kind: sim.Thinking, Text: "Hm."}, {Kind: sim.Text, Text: "Here."}}}
	vendor.Script(endless, said)
	data := proof.DataDir(t)
	e := startRawEditor(t, data, env)
	e.result("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}})
	dir := project(t)
	id := e.result("session/new", map[string]any{"cwd": dir, "mcpServers": []any{}}).Get("sessionId").String()
	prompt := e.ask("session/prompt", promptOf(id, "Think."))
	e.until(thinks)
	before := proof.TheDaemon(t, data).PID
	daemon, err := os.FindProcess(before)
	if err == nil {
		err = daemon.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := e.answer(prompt).Get("error"); got.Get("code").Int() != -32603 || got.Get("data.kind").String() != "closing" || got.Get("data.retryable").Bool() {
		t.Errorf("the prompt, of which nobody knows whether it was taken, is answered with %s", got)
	}
	prompt = e.ask("session/prompt", promptOf(id, "Again."))
	e.until(thinks)
	if got := e.answer(prompt).Get("result.stopReason").String(); got != "end_turn" {
		t.Errorf("the next prompt ends with %q", got)
	}
	if after := proof.TheDaemon(t, data).PID; after == before {
		t.Error("it is the same daemon")
	}
	// The new daemon has attached this editor to its session again: the editor gets another client's change.
	other := proof.Door(t, data, env)
	other.Must("thinking/set", map[string]any{"session_id": id, "level": "low"}, nil)
	e.until(func(m gjson.Result) bool {
		return m.Get("params.update.sessionUpdate").String() == "config_option_update"
	})
	e.End()
}

// TestACPStdout has nothing but messages on standard output, whatever the logs are to say and the client says.
func TestACPStdout(t *testing.T) {
	t.Parallel()
	_, env := proof.Simulator(t, sim.Config{})
	data := proof.DataDir(t)
	for _, level := range []string{"debug", "info", "warn", "error"} {
		for _, format := range []string{"text", "json"} {
			e := startRawEditor(t, data, env, "--log-level", level, "--log-format", format)
			for _, text := range []string{"no JSON", "[]", `{"jsonrpc":"2.0","id":900,"method":"initialize","params":{"protocolVersion":"one"}}`,
				`{"jsonrpc":"2.0","id":null,"method":"x"}`, `{"jsonrpc":"2.0","method":"x"}`} {
				e.Send(text)
			}
			e.result("initialize", map[string]any{"protocolVersion": 7, "clientCapabilities": map[string]any{"session": map[string]any{"notices": map[string]any{}}}})
			id := e.result("session/new", map[string]any{"cwd": t.TempDir(), "mcpServers": []any{map[string]any{"name": "none there", "command": "/nonexistent", "args": []string{}, "env": []any{}}}}).Get("sessionId").String()
			e.result("session/prompt", promptOf(id, "Why? [[sim: thinking=5 text=5]]"))
			e.Out.Close()
			for {
				text, err := e.In.ReadString('\n')
				if err != nil {
					break
				}
				if !strings.HasPrefix(text, `{"jsonrpc":"2.0"`) {
					t.Errorf("%s, %s: standard output has %q", level, format, text)
				}
			}
			if err := e.Cmd.Wait(); err != nil {
				t.Errorf("%s, %s: %v", level, format, err)
			}
		}
	}
}

// TestACPWebSocket is an editor that comes over the network: with a token, and without the tools that are its user's affair.
func TestACPWebSocket(t *testing.T) {
	t.Parallel()
	_, env := proof.Simulator(t, sim.Config{})
	s := proof.StartServe(t, proof.Command(t, env, proof.ServeArgs(proof.DataDir(t))...))
	if status := s.Status("acp", ""); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", status)
	}
	ws, response, err := websocket.Dial(t.Context(), s.Base+"acp", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + s.Token}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	ws.SetReadLimit(-1)
	if response.Header.Get("Acp-Connection-Id") == "" {
		t.Error("the connection has no id")
	}
	last := 0
	ask := func(method string, params any) gjson.Result {
		t.Helper()
		last++
		text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": last, "method": method, "params": params})
		if err != nil {
			t.Fatal(err)
		}
		if err := ws.Write(t.Context(), websocket.MessageText, text); err != nil {
			t.Fatal(err)
		}
		for {
			_, data, err := ws.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if m := gjson.ParseBytes(data); !m.Get("method").Exists() && m.Get("id").Int() == int64(last) {
				return m
			}
		}
	}
	if got := ask("initialize", map[string]any{"protocolVersion": 1}); got.Get("result.protocolVersion").Int() != 1 {
		t.Errorf("%s", got)
	}
	dir := t.TempDir()
	program := []any{map[string]any{"name": "x", "command": "/bin/true", "args": []string{}, "env": []any{}}}
	if got := ask("session/new", map[string]any{"cwd": dir, "mcpServers": program}); got.Get("error.code").Int() != -32602 {
		t.Errorf("a program to be started is taken from the network: %s", got)
	}
	id := ask("session/new", map[string]any{"cwd": dir, "mcpServers": []any{}}).Get("result.sessionId").String()
	long := strings.Repeat("Why? ", 2<<20) // 10 MB: more than a native message may have
	if got := ask("session/prompt", promptOf(id, long)); got.Get("result.stopReason").String() == "" && got.Get("error.data.kind").String() == "too_large" {
		t.Errorf("%s", got)
	}
	if got := ask("session/prompt", promptOf(id, "Why? [[sim: thinking=5 text=5]]")); got.Get("result.stopReason").String() != "end_turn" {
		t.Errorf("%s", got)
	}
	s.Terminate()
}

// If the command of an editor cannot start a daemon, it says so on standard error and exits.
func TestACPNoDaemon(t *testing.T) {
	t.Parallel()
	cmd := proof.Command(t, nil, "--config", "/nonexistent/config.toml", "--data", t.TempDir(), "acp")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if _, failed := err.(*exec.ExitError); !failed || len(out) > 0 || !strings.Contains(stderr.String(), "config.toml") {
		t.Errorf("%v\n%s\n%s", err, out, stderr.String())
	}
}

// TestACPConfig: a new session of an editor has the model and the level of the config, as one of a native client has.
func TestACPConfig(t *testing.T) {
	t.Parallel()
	_, env := proof.Simulator(t, sim.Config{})
	data := proof.DataDir(t)
	e := startRawEditor(t, data, env, "--config", proof.WriteConfig(t, "model = \"anthropic/claude-opus-5\"\nthinking_level = \"xhigh\"\n"))
	e.result("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}})
	made := e.result("session/new", map[string]any{"cwd": project(t), "mcpServers": []any{}})
	e.until(func(m gjson.Result) bool { // it follows the response
		return m.Get("params.update.sessionUpdate").String() == "available_commands_update"
	})
	for option, want := range map[string]string{"model": "anthropic/claude-opus-5", "reasoning_effort": "xhigh", "mode": "ask"} {
		if got := made.Get("configOptions.#(id==" + option + ").currentValue").String(); got != want {
			t.Errorf("%s is %q, want %q", option, got, want)
		}
	}
	var native struct {
		Level     string `json:"thinking_level"`
		Reasoning struct{ Source string }
	}
	proof.Door(t, data, env).Must("session/new", map[string]any{}, &native)
	if native.Level != "xhigh" || native.Reasoning.Source != "config" {
		t.Errorf("a native session has %+v", native)
	}
	e.End()
}
