package main

import (
	"bytes"
	"fmt"

	"github.com/tidwall/gjson"
)

// goose speaks the Agent Client Protocol in lines, with the Messages API upstream (documentation/docs/guides/environment-variables.md
// in block/goose; agentclientprotocol.com).
type goose struct{}

func (goose) command() []string { return []string{"goose", "acp"} }

func (goose) configure(_, upstream string) ([]string, error) {
	return []string{"GOOSE_PROVIDER=anthropic", "GOOSE_MODEL=claude-opus-4-6", "ANTHROPIC_HOST=" + upstream, "ANTHROPIC_API_KEY=" + benchKey,
		"GOOSE_DISABLE_KEYRING=1", "GOOSE_TELEMETRY_OFF=1", "GOOSE_TELEMETRY_ENABLED=false", "GOOSE_DISABLE_SESSION_NAMING=true"}, nil
}

func (goose) connect(p *process, work string) (*client, error) {
	return speak(p, &gooseProtocol{work: work, turns: make(map[int64]bool)}), nil
}

type gooseProtocol struct {
	work  string
	turns map[int64]bool // the requests whose answers end turns
}

func (*gooseProtocol) initialize(c *client) error {
	_, err := c.call("initialize", `{"protocolVersion":1,"clientCapabilities":{}}`)
	return err
}

func (g *gooseProtocol) session(c *client, _ string) (string, error) {
	r, err := c.call("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, g.work))
	return r.Get("sessionId").Str, err
}

func (g *gooseProtocol) prompt(c *client, session string, o order) error {
	id, err := c.send("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, session, o))
	g.turns[int64(id)] = true
	return err
}

var (
	thoughtChunk = []byte(`"agent_thought_chunk"`)
	textMember   = []byte(`"text":"`)
)

func (g *gooseProtocol) sort(m []byte) (kind, []byte, error) {
	if bytes.Contains(m, thoughtChunk) {
		text, err := textOf(m, textMember)
		return isDelta, text, err
	}
	k, _, err := sortAnswer(m)
	if id := gjson.GetBytes(m, "id").Int(); k == isAnswer && g.turns[id] {
		delete(g.turns, id)
		if reason := gjson.GetBytes(m, "result.stopReason").Str; reason != "end_turn" {
			return isEnd, nil, fmt.Errorf("a turn ends with %q", reason)
		}
		return isEnd, nil, nil
	}
	return k, nil, err
}
