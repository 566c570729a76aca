package testgo

import (
	"strings"
	"testing"
)

func TestExcerpt(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"one\ntwo\n", "one\ntwo"},
		{"a\\b \"quoted\"", "a\\b \"quoted\""},
		{"\x1b[31mred", `"\x1b[31mred"`},
		{"\xff\x00", `"\xff\x00"`},
		{strings.Repeat("x", 500), strings.Repeat("x", 400) + "… 100 bytes more"},
	} {
		if got := Excerpt(test.text); got != test.want {
			t.Errorf("Excerpt(%q) = %q, want %q", test.text, got, test.want)
		}
	}
	long := Excerpt([]byte(strings.Repeat("line\n", 1000)))
	if n := strings.Count(long, "\n") + 1; n != maxExcerptLines+1 || !strings.Contains(long, "… 976 lines …") {
		t.Errorf("1,000 lines become %d:\n%s", n, long)
	}
}
