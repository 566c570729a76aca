package printable

import (
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, test := range []struct {
		text    string
		columns int
		want    string
	}{
		{"note  store: one two three four", 0, "note  store: one two three four"},
		{"note  store: one two three four", 20, "note  store: one two\n   three four"},
		{"a\n  b c d e f g h i j k l m n", 16, "a\n  b c d e f g h\n     i j k l m n"},
		{"see /srv/a/very/long/path/of/a/file now", 16, "see\n   /srv/a/very/long/path/of/a/file\n   now"},
		{"runs .pre-commit-config.yaml", 16, "runs\n   .pre-commit-config.yaml"},
		{"日本語 日本語 日本語", 16, "日本語 日本語\n   日本語"},
	} {
		if got := Wrap(test.text, test.columns, 3); got != test.want {
			t.Errorf("%q at %d: %q, want %q", test.text, test.columns, got, test.want)
		}
	}
}

func TestCut(t *testing.T) {
	if got, want := Cut("one two three\n日本語日本語\nshort   \n", 9), "one two …\n日本語日…\nshort\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Cut("one two three", 0); got != "one two three" {
		t.Error(got)
	}
	if n := Columns(&Writer{To: &strings.Builder{}}); n != 0 {
		t.Errorf("a text has %d columns", n)
	}
}
