package messages

import (
	"net/http"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/simtest"
)

// Each rule of Google Cloud: a request that keeps it is answered, one that breaks it is refused in the words of its owner.
func TestCloudRules(t *testing.T) {
	const base = "/v1/projects/p/locations/eu/publishers/anthropic/models/"
	header := func(changes ...string) http.Header {
		return simtest.Header(append([]string{"x-api-key", "", "anthropic-version", "", "authorization", "Bearer ya29.1"}, changes...)...)
	}
	good := map[string]any{"anthropic_version": "vertex-2023-10-16", "max_tokens": 2000, "messages": []any{map[string]any{"role": "user", "content": "Which? [[sim: text=3]]"}}}
	with := func(members ...any) map[string]any { return simtest.With(good, members...) }
	for _, tt := range []struct {
		name, path string
		h          http.Header
		body       map[string]any
		status     int
		says       string
	}{
		{"whole", "claude-opus-5-5:rawPredict", header(), good, 200, "end_turn"},
		{"stream", "claude-opus-5-5:streamRawPredict", header(), with("stream", true), 200, "message_stop"},
		{"dated", "claude-sonnet-4-5@20250929:rawPredict", header(), good, 200, "end_turn"},
		{"count", "count-tokens:rawPredict", header(), map[string]any{"anthropic_version": "vertex-2023-10-16", "model": "claude-opus-5-5", "messages": good["messages"]}, 200, "input_tokens"},
		{"no token", "claude-opus-5-5:rawPredict", header("authorization", ""), good, 401, "UNAUTHENTICATED"},
		{"a vendor's key", "claude-opus-5-5:rawPredict", header("x-api-key", "sk"), good, 401, "UNAUTHENTICATED"},
		{"version in a header", "claude-opus-5-5:rawPredict", header("anthropic-version", "2023-06-01"), good, 400, "belongs to the body"},
		{"no version", "claude-opus-5-5:rawPredict", header(), with("anthropic_version", nil), 400, "vertex-2023-10-16"},
		{"model in the body", "claude-opus-5-5:rawPredict", header(), with("model", "claude-opus-5-5"), 400, "Extra inputs"},
		{"stream at the wrong verb", "claude-opus-5-5:rawPredict", header(), with("stream", true), 400, "rawPredict"},
		{"no stream at the other", "claude-opus-5-5:streamRawPredict", header(), good, 400, "streamRawPredict"},
		{"Anthropic's spelling", "claude-sonnet-4-5-20250929:rawPredict", header(), good, 404, "model"},
		{"another verb", "claude-opus-5-5:predict", header(), good, 404, "Not found"},
		{"unknown beta", "claude-opus-5-5:rawPredict", header("anthropic-beta", "novel-2026-01-01"), good, 400, "anthropic-beta"},
	} {
		body := map[string]any{}
		for k, v := range tt.body {
			if v != nil {
				body[k] = v
			}
		}
		if got := simtest.Send(t, sim.New(sim.Config{}), "POST", base+tt.path, tt.h, body); got.Status != tt.status || !strings.Contains(got.Body, tt.says) {
			t.Errorf("%s: %d %.300s, want %d with %q", tt.name, got.Status, got.Body, tt.status, tt.says)
		}
	}
}
