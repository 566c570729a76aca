package gemini

import (
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/simtest"
)

// The vendor reads prefixes of earlier requests without being asked, from a length on that depends on the model. The level of thinking
// is no part of them, and counting tokens stores none.
func TestGeminiCache(t *testing.T) {
	ask := func(s *sim.Server, model, system, level string) float64 {
		body := obj{"systemInstruction": simtest.Said("user", obj{"text": system}), "contents": arr{simtest.Said("user", obj{"text": "hi [[sim: text=5]]"})}}
		got := simtest.Generate(t, s, model, simtest.Merged(body, thinkingConfig(obj{"thinkingLevel": level})))
		if got.Status != 200 {
			t.Fatalf("%s: %d %s", model, got.Status, got.Body)
		}
		return simtest.Get[float64](got.JSON(), "usageMetadata", "cachedContentTokenCount")
	}
	for _, c := range []struct {
		model  string
		times  int
		second string
		reads  bool
	}{
		{"gemini-3.8-flash", 600, "LOW", true},
		{"gemini-3.8-flash", 600, "HIGH", true},
		{"gemini-3.8-flash", 10, "LOW", false},
		{"gemini-3.1-pro-preview", 600, "LOW", false},
		{"gemini-3.1-pro-preview", 2000, "LOW", true},
	} {
		s := sim.New(sim.Config{})
		system := strings.Repeat("You are careful. ", c.times)
		if n := ask(s, c.model, system, "LOW"); n != 0 {
			t.Errorf("%s: the first request read %v tokens", c.model, n)
		}
		if n := ask(s, c.model, system, c.second); (n > 0) != c.reads {
			t.Errorf("%s, %d sentences: the second request read %v tokens, want some: %v", c.model, c.times, n, c.reads)
		}
	}
}
