package highlight

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// marked shows the kinds of a text: each token that is not plain stands between a letter with a bracket, and a bracket.
func marked(name string, lines ...string) string {
	l := New(name)
	var out []string
	for _, line := range lines {
		var b strings.Builder
		for _, token := range l.Line(line) {
			if token.Kind == Plain {
				b.WriteString(token.Text)
				continue
			}
			b.WriteString("_cskn+-@"[token.Kind:token.Kind+1] + "[" + token.Text + "]")
		}
		out = append(out, b.String())
	}
	return strings.Join(out, "\n")
}

func TestLine(t *testing.T) {
	for _, test := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"go", []string{`func f() { // it`, "x := `a", "b`; y := 0x1F + 2.5", `s := "\"//" /* c`, `d */ return`},
			"k[func] f() { c[// it]\nx := s[`a]\ns[b`]; y := n[0x1F] + n[2.5]\ns := s[\"\\\"//\"] c[/* c]\nc[d */] k[return]"},
		{"Python", []string{`"""doc`, `end""" if x1 == 'it': # no`}, "s[\"\"\"doc]\ns[end\"\"\"] k[if] x1 == s['it']: c[# no]"},
		{"sh", []string{`echo $# "a # b" # c`, "if true; then"}, "echo $# s[\"a # b\"] c[# c]\nk[if] true; k[then]"},
		{"sql", []string{`SELECT 'it''s' FROM t -- all`}, "k[SELECT] s['it''s'] k[FROM] t c[-- all]"},
		{"diff", []string{"--- a", "+++ b", "@@ -1 +1 @@", "-x", "+y", " z", ""}, "k[--- a]\nk[+++ b]\n@[@@ -1 +1 @@]\n-[-x]\n+[+y]\n z\n"},
		{"json", []string{`{"a": [1, true, null]}`}, `{s["a"]: [n[1], k[true], k[null]]}`},
		{"rust", []string{`fn f<'a>(x: &'a str) {}`}, `k[fn] f<'a>(x: &'a k[str]) {}`},
		{"unheard of", []string{`if "x"`}, `if "x"`},
		{"", []string{`if "x"`}, `if "x"`},
	} {
		if diff := cmp.Diff(test.want, marked(test.name, test.lines...)); diff != "" {
			t.Errorf("%s (-want +is):\n%s", test.name, diff)
		}
	}
}

// The keywords of a language are searched as a sorted list, so they are sorted, and none is there twice.
func TestKeywordsAreSorted(t *testing.T) {
	for _, name := range strings.Fields("go c cpp java cs js rust swift php dart python ruby sh powershell sql lua haskell elixir r json yaml make proto css html diff") {
		l := lookup(name)
		if l == nil {
			t.Errorf("%s is unknown", name)
			continue
		}
		if !slices.IsSorted(l.keywords) || len(slices.Compact(slices.Clone(l.keywords))) != len(l.keywords) {
			t.Errorf("the keywords of %s are not sorted, or one is there twice: %q", name, l.keywords)
		}
	}
}

// No text loses or gains a character, whatever its language.
func FuzzLine(f *testing.F) {
	f.Add("go", "a := `b\nc` // d\n\"e\\")
	f.Add("python", "'''\\\n'''\"\\\\\"#")
	f.Add("diff", "+\n-\n@@")
	f.Fuzz(func(t *testing.T, name, text string) {
		l := New(name)
		for line := range strings.SplitSeq(text, "\n") {
			var b strings.Builder
			for _, token := range l.Line(line) {
				b.WriteString(token.Text)
			}
			if b.String() != line {
				t.Fatalf("%q becomes %q", line, b.String())
			}
		}
	})
}
