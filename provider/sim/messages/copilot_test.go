package messages

import (
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/simtest"
)

// TestCopilotMessages keeps and breaks each rule of the door to Claude's models there.
func TestCopilotMessages(t *testing.T) {
	editor := func(more ...string) map[string]string {
		h := map[string]string{"authorization": "Bearer t", "editor-version": "e/1", "x-initiator": "user", "anthropic-version": "2023-06-01"}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	body := func(more obj) obj {
		return simtest.Merged(obj{"model": "claude-haiku-4.5", "max_tokens": 4000, "messages": arr{simtest.Say("user", "hi")}}, more)
	}
	budget := obj{"thinking": simtest.Thinking("enabled", "budget_tokens", 2000)}
	picture := obj{"messages": arr{simtest.Say("user", arr{obj{"type": "image", "source": obj{"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}})}}
	for _, test := range []struct {
		name    string
		headers map[string]string
		body    obj
		status  int
		says    string
		path    string
	}{
		{name: "thinks with a budget", headers: editor(), body: body(budget), status: 200, says: `"thinking"`},
		{name: "the real path", headers: editor(), body: body(budget), status: 200, says: `"thinking"`, path: "/v1/messages"},
		{name: "the beta that is passed on", headers: editor("anthropic-beta", betaInterleaved), body: body(budget), status: 200},
		{name: "any other beta", headers: editor("anthropic-beta", betaBinding), body: body(budget), status: 400, says: "unsupported beta header(s): " + betaBinding},
		{name: "without a token", headers: editor("authorization", ""), body: body(nil), status: 401, says: "unauthorized"},
		{name: "without an editor", headers: editor("editor-version", ""), body: body(nil), status: 400, says: "missing Editor-Version header"},
		{name: "without an initiator", headers: editor("x-initiator", ""), body: body(nil), status: 400, says: "X-Initiator"},
		{name: "an id of Anthropic's", headers: editor(), body: body(obj{"model": "claude-haiku-4-5"}), status: 400, says: "The requested model is not supported"},
		{name: "a member of Anthropic's newest", headers: editor(), body: body(obj{"context_management": obj{"edits": arr{}}}), status: 400, says: "context_management: Extra inputs"},
		{name: "effort of a model with a budget", headers: editor(), body: body(obj{"output_config": effort("high")}), status: 400, says: "does not support the effort parameter"},
		{name: "its own limit on output", headers: editor(), body: body(obj{"model": "claude-sonnet-4.6", "max_tokens": 32_001}), status: 400, says: "for claude-sonnet-4.6"},
		{name: "an image", headers: editor("copilot-vision-request", "true"), body: body(picture), status: 200},
		{name: "an image that no header names", headers: editor(), body: body(picture), status: 400, says: "missing required Copilot-Vision-Request"},
	} {
		path := test.path
		if path == "" {
			path = "/copilot/v1/messages"
		}
		h := simtest.Header()
		h.Del("x-api-key")
		for name, value := range test.headers {
			if h.Set(name, value); value == "" {
				h.Del(name)
			}
		}
		got := simtest.Send(t, sim.New(sim.Config{}), "POST", path, h, test.body)
		if got.Status != test.status || !strings.Contains(string(got.Body), test.says) {
			t.Errorf("%s: %d %s\nwant %d …%s…", test.name, got.Status, got.Body, test.status, test.says)
		}
	}
}
