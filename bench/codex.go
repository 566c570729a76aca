package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tidwall/gjson"
)

// codex is Codex's app-server: JSON-RPC in lines, with the Responses API upstream (codex-rs/app-server/README.md in openai/codex;
// `codex app-server generate-json-schema` prints the schema).
type codex struct{}

func (codex) command() []string { return []string{"codex", "app-server"} }

func (codex) configure(home, upstream string) ([]string, error) {
	dir := filepath.Join(home, ".codex")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	text := fmt.Sprintf(`model = %q
model_provider = "bench"
model_reasoning_effort = "high"
model_reasoning_summary = "detailed"
model_supports_reasoning_summaries = true
check_for_update_on_startup = false
[analytics]
enabled = false
[otel]
exporter = "none"
metrics_exporter = "none"
trace_exporter = "none"
[features]
plugins = false
apps = false
[model_providers.bench]
name = "bench"
base_url = "%s/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
`, "gpt-5.6", upstream)
	return []string{"CODEX_HOME=" + dir, "OPENAI_API_KEY=" + benchKey}, os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600)
}

func (codex) connect(p *process, _ string) (*client, error) { return speak(p, codexProtocol{}), nil }

type codexProtocol struct{}

func (codexProtocol) initialize(c *client) error {
	if _, err := c.call("initialize", `{"clientInfo":{"name":"bench","title":"bench","version":"1"}}`); err != nil {
		return err
	}
	return c.out([]byte(`{"method":"initialized"}`))
}

func (codexProtocol) session(c *client, _ string) (string, error) {
	r, err := c.call("thread/start", `{}`)
	return r.Get("thread.id").Str, err
}

func (codexProtocol) prompt(c *client, session string, o order) error {
	_, err := c.send("turn/start", fmt.Sprintf(`{"threadId":%q,"input":[{"type":"text","text":%q}]}`, session, o))
	return err
}

var (
	codexDelta = []byte(`"method":"item/reasoning/summaryTextDelta"`)
	codexEnd   = []byte(`"method":"turn/completed"`)
	codexError = []byte(`"method":"error"`)
)

func (codexProtocol) sort(m []byte) (kind, []byte, error) {
	head := m[:min(len(m), methodWithin)]
	switch {
	case bytes.Contains(head, codexDelta):
		text, err := textOf(m, deltaMember)
		return isDelta, text, err
	case bytes.Contains(head, codexEnd):
		if turn := gjson.GetBytes(m, "params.turn"); turn.Get("status").Str != "completed" {
			return isEnd, nil, fmt.Errorf("a turn ends with %s: %s", turn.Get("status"), turn.Get("error"))
		}
		return isEnd, nil, nil
	case bytes.Contains(head, codexError):
		return isOther, nil, fmt.Errorf("codex reports an error: %s", m)
	}
	return sortAnswer(m)
}
