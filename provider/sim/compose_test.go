package sim_test

import (
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/sim"
)

func TestTokens(t *testing.T) {
	file := strings.Repeat("A", 1<<20)
	for _, tt := range []struct {
		name, text string
		want       int
	}{
		{"nothing", "", 0},
		{"characters", "äöüß1", 2},
		{"a text like a file", file, 1 << 18},
		{"Messages, Gemini", `{"data":"` + file + `","media_type":"image/png"}`, 1509},
		{"Chat Completions, Responses", `{"url":"data:image/png;base64,` + file + `"}`, 1508},
		{"a sound", `{"data":"data:audio/wav;base64,` + file + `"},{"data":"` + file + `"}`, 3012},
		{"a small file", `{"data":"AAAA"}`, 4},
		{"no end", `{"data":"` + file, 1<<18 + 3},
	} {
		if got := sim.Tokens(tt.text); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}
