package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"
)

// opencode serves HTTP with server-sent events, with the Messages API upstream (opencode.ai/docs/server and /docs/config; the
// server's own description is at /doc).
type opencode struct{}

func (opencode) command() []string {
	return []string{"opencode", "serve", "--hostname", "127.0.0.1", "--port", "0"}
}

func (opencode) configure(_, upstream string) ([]string, error) {
	config, err := json.Marshal(map[string]any{
		"autoupdate": false, "share": "disabled", "enabled_providers": []string{"bench"}, "model": "bench/claude-opus-4-6",
		"small_model": "bench/claude-opus-4-6",
		"provider": map[string]any{"bench": map[string]any{
			"npm": "@ai-sdk/anthropic", "name": "bench",
			"options": map[string]any{"baseURL": upstream + "/v1", "apiKey": benchKey},
			"models": map[string]any{"claude-opus-4-6": map[string]any{"name": "bench", "reasoning": true,
				"limit": map[string]any{"context": 1_000_000, "output": 64_000}}},
		}},
	})
	return []string{"OPENCODE_CONFIG_CONTENT=" + string(config), "OPENCODE_DISABLE_AUTOUPDATE=true", "OPENCODE_DISABLE_MODELS_FETCH=true",
		"OPENCODE_DISABLE_DEFAULT_PLUGINS=true", "OPENCODE_DISABLE_LSP_DOWNLOAD=true"}, err
}

// connect waits for the line with the address.
func (opencode) connect(p *process, _ string) (*client, error) {
	out := bufio.NewReader(p.stdout)
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("opencode prints no address: %w", err)
		}
		if at := strings.Index(line, "http://"); at >= 0 {
			p.stdout = out
			go io.Copy(io.Discard, out) // ends with the process
			return &client{protocol: &opencodeProtocol{address: strings.TrimSpace(line[at:]), thoughts: make(map[string]bool)}}, nil
		}
	}
}

type opencodeProtocol struct {
	address  string
	thoughts map[string]bool // the parts that are thinking: deltas have only their ids
}

// initialize subscribes to the events of all sessions, and waits for the first one.
func (o *opencodeProtocol) initialize(c *client) error {
	resp, err := http.Get(o.address + "/event")
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return fmt.Errorf("the events are answered with %s", resp.Status)
	}
	c.in = newLines(resp.Body) // ends with the process
	_, err = c.in.next()
	return err
}

func (o *opencodeProtocol) post(path, body string) (gjson.Result, error) {
	resp, err := http.Post(o.address+path, "application/json", strings.NewReader(body))
	if err != nil {
		return gjson.Result{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s is answered with %s: %s", path, resp.Status, text)
	}
	return gjson.ParseBytes(text), err
}

// session gives the session a title, so that no model is called for one.
func (o *opencodeProtocol) session(*client, string) (string, error) {
	r, err := o.post("/session", `{"title":"bench"}`)
	return r.Get("id").Str, err
}

func (o *opencodeProtocol) prompt(_ *client, session string, order order) error {
	_, err := o.post("/session/"+session+"/prompt_async",
		fmt.Sprintf(`{"model":{"providerID":"bench","modelID":"claude-opus-4-6"},"parts":[{"type":"text","text":%q}]}`, order))
	return err
}

var (
	eventData       = []byte("data:")
	opencodeDelta   = []byte(`"type":"message.part.delta"`)
	opencodeUpdated = []byte(`"type":"message.part.updated"`)
	opencodeEnd     = []byte(`"type":"session.idle"`)
	opencodeError   = []byte(`"type":"session.error"`)
)

func (o *opencodeProtocol) sort(m []byte) (kind, []byte, error) {
	m, ok := bytes.CutPrefix(m, eventData)
	if !ok {
		return isOther, nil, nil
	}
	switch head := m[:min(len(m), 2*methodWithin)]; {
	case bytes.Contains(head, opencodeDelta):
		part, err := textOf(m, []byte(`"partID":"`))
		if err != nil || !o.thoughts[string(part)] {
			return isOther, nil, err
		}
		text, err := textOf(m, deltaMember)
		return isDelta, text, err
	case bytes.Contains(head, opencodeUpdated):
		if part := gjson.GetBytes(m, "properties.part"); part.Get("type").Str == "reasoning" {
			o.thoughts[part.Get("id").Str] = true
		}
	case bytes.Contains(head, opencodeEnd):
		return isEnd, nil, nil
	case bytes.Contains(head, opencodeError):
		return isOther, nil, fmt.Errorf("opencode reports an error: %s", m)
	}
	return isOther, nil, nil
}
