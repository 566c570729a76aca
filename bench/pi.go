package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tidwall/gjson"
)

// pi has commands and events in lines of JSON, with the Messages API upstream (packages/coding-agent/docs/rpc.md, models.md and
// settings.md in badlogic/pi-mono). Each event of a delta also has the whole message so far.
type pi struct{}

func (pi) command() []string {
	return []string{"pi", "--mode", "rpc", "--provider", "bench", "--model", "claude-opus-4-6", "--thinking", "high"}
}

func (pi) configure(home, upstream string) ([]string, error) {
	dir := filepath.Join(home, ".pi", "agent")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	models := fmt.Sprintf(`{"providers":{"bench":{"baseUrl":%q,"api":"anthropic-messages","apiKey":%q,"models":[{"id":"claude-opus-4-6","reasoning":true,"contextWindow":1000000}]}}}`,
		upstream, benchKey)
	return []string{"PI_OFFLINE=1", "PI_TELEMETRY=0", "PI_SKIP_VERSION_CHECK=1"}, os.WriteFile(filepath.Join(dir, "models.json"), []byte(models), 0o600)
}

func (pi) connect(p *process, _ string) (*client, error) { return speak(p, &piProtocol{}), nil }

type piProtocol struct{ used bool }

func (*piProtocol) send(c *client, command, members string) (int, error) {
	c.calls++
	return c.calls, c.out(fmt.Appendf(nil, `{"id":"%d","type":%q%s}`, c.calls, command, members))
}

func (p *piProtocol) state(c *client) (gjson.Result, error) {
	id, err := p.send(c, "get_state", "")
	if err != nil {
		return gjson.Result{}, err
	}
	r, err := c.answer(id)
	return r.Get("data"), err
}

func (p *piProtocol) initialize(c *client) error {
	_, err := p.state(c)
	return err
}

func (p *piProtocol) session(c *client, _ string) (string, error) {
	if p.used {
		return "", errors.New("a process of pi has one session")
	}
	p.used = true
	r, err := p.state(c)
	return r.Get("sessionId").Str, err
}

func (p *piProtocol) prompt(c *client, _ string, o order) error {
	_, err := p.send(c, "prompt", fmt.Sprintf(`,"message":%q`, o))
	return err
}

var (
	piUpdate = []byte(`{"type":"message_update"`)
	piDelta  = []byte(`"type":"thinking_delta"`)
	piEnd    = []byte(`{"type":"agent_end"`)
	piAnswer = []byte(`"type":"response"`)
)

func (*piProtocol) sort(m []byte) (kind, []byte, error) {
	switch {
	case bytes.HasPrefix(m, piUpdate):
		if !bytes.Contains(m, piDelta) {
			return isOther, nil, nil
		}
		text, err := textOf(m, deltaMember)
		return isDelta, text, err
	case bytes.HasPrefix(m, piEnd):
		last := gjson.GetBytes(m, "messages.@reverse.0")
		if reason := last.Get("stopReason").Str; reason != "stop" {
			return isEnd, nil, fmt.Errorf("a turn ends with %q: %s", reason, last.Get("errorMessage"))
		}
		return isEnd, nil, nil
	case bytes.Contains(m[:min(len(m), methodWithin)], piAnswer):
		if !gjson.GetBytes(m, "success").Bool() {
			return isAnswer, nil, fmt.Errorf("an error is answered: %s", m)
		}
		return isAnswer, nil, nil
	}
	return isOther, nil, nil
}
