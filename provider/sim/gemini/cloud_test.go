package gemini

import (
	"net/http"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/simtest"
)

func TestCloudRules(t *testing.T) {
	const base = "/v1/projects/p/locations/global/publishers/google/models/gemini-3.8-flash:"
	token := http.Header{"Authorization": {"Bearer ya29.1"}}
	good := map[string]any{"contents": []any{map[string]any{"role": "user", "parts": []any{map[string]any{"text": "Which? [[sim: text=3]]"}}}}}
	for _, tt := range []struct {
		name, verb string
		h          http.Header
		body       map[string]any
		status     int
		says       string
	}{
		{"whole", "generateContent", token, good, 200, "STOP"},
		{"stream", "streamGenerateContent?alt=sse", token, good, 200, "STOP"},
		{"count", "countTokens", token, good, 200, "totalTokens"},
		{"no token", "generateContent", http.Header{}, good, 401, "UNAUTHENTICATED"},
		{"a key", "generateContent", http.Header{"X-Goog-Api-Key": {"AIza"}}, good, 401, "UNAUTHENTICATED"},
		{"parts of the vendor's tools", "generateContent", token, simtest.With(good, "tools", []any{map[string]any{"googleSearch": map[string]any{}}},
			"toolConfig", map[string]any{"includeServerSideToolInvocations": true}), 400, "includeServerSideToolInvocations"},
		{"another verb", "predict", token, good, 404, "Not found"},
	} {
		if got := simtest.Send(t, sim.New(sim.Config{}), "POST", base+tt.verb, tt.h, tt.body); got.Status != tt.status || !strings.Contains(got.Body, tt.says) {
			t.Errorf("%s: %d %.300s, want %d with %q", tt.name, got.Status, got.Body, tt.status, tt.says)
		}
	}
}
