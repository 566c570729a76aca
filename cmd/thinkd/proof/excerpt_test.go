package proof

import (
	"fmt"
	"strings"
	"testing"
)

func TestExcerpt(t *testing.T) {
	var long strings.Builder
	for n := range 1000 {
		fmt.Fprintf(&long, "line %d\n", n)
	}
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"short":  {"one\ntwo\n", []string{"one\ntwo"}},
		"long":   {long.String(), []string{"line 9\n… 955 more lines …\nline 965", "line 999"}},
		"wide":   {strings.Repeat("x", 1<<20), []string{"… (1048576 bytes)"}},
		"binary": {"\x00\xff\xfe", []string{`"\x00\xff\xfe"`}},
	} {
		got := Excerpt(test.text)
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in %q", name, want, got)
			}
		}
		if n := strings.Count(got, "\n"); n > 50 || len(got) > 20_000 {
			t.Errorf("%s: %d lines, %d bytes", name, n, len(got))
		}
	}
}
