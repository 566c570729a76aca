package sim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/sim/strict"
)

// Half of a character is refused, and a body that ends behind a backslash does no harm.
func TestHalfCharacter(t *testing.T) {
	for text, want := range map[string]int{
		`"a"`: -1, `"\ud83d\ude00"`: -1, `"\\ud83d"`: -1, `"\u00e9\n"`: -1, `\`: -1, `"\`: -1, `"\ud8`: -1,
		`"ab\ud83d"`: 3, `"\ude00"`: 1, `"\ud83d\ude00\ud83d"`: 13, `"\\\ud83d x"`: 3, `\ud83d`: 0,
	} {
		_, err := strict.Decode([]byte(text))
		if refused := strings.Contains(fmt.Sprint(err), "no low surrogate"); refused != (want >= 0) || refused && !strings.HasSuffix(err.Error(), fmt.Sprint(" ", want)) {
			t.Errorf("%s: %v, want a refusal at %d", text, err, want)
		}
	}
}

// What the simulator quotes of a long prompt is short and on one line.
func TestCut(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " a  b\nc ": "a b c", "abcdef": "abcdef", "abcdefg": "abcdef…", "abcde fg": "abcde…", "äöü äöü": "äöü äö…", strings.Repeat("ab ", 1000): "ab ab…",
	} {
		if got := cut(text, 6); got != want {
			t.Errorf("%.20q: %q, want %q", text, got, want)
		}
	}
}
