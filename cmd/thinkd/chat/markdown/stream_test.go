package markdown

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	safe "github.com/thinkd/thinkd/cmd/thinkd/printable"
)

// letters are styles that a person can read in a test: <b> begins one.
var letters = Styles{Heading: "<h>", Strong: "<b>", Emphasis: "<i>", Strike: "<s>", Code: "<c>", Link: "<l>", Muted: "<m>",
	Comment: "<com>", String: "<str>", Keyword: "<key>", Number: "<num>", Added: "<add>", Removed: "<rem>"}

// shown are the rows of a text, with "/" for the end of a style.
func shown(text string, width int, s *Styles) string {
	return strings.ReplaceAll(strings.Join(Rows(text, width, s), "\n"), endStyle, "/")
}

func TestRows(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"headings", "# One *two*\ntext\n## Three ##\n#### Four\n#no", "<h>One /<h><i>two/\n<m>━━━━━━━/\ntext\n\n<h>Three/\n<m>─────/\n\n<h>Four/\n#no"},
		{"headings by lines", "One\n===\n\nTwo\nlines\n---\n--", "<h>One/\n<m>━━━/\n\n<h>Two/\n<h>lines/\n<m>─────/\n--"},
		{"emphasis", "a *b* **c** ***d*** _e_ __f__ ~~g~~ a_b_c 2*3*4 **x*y** \\*z\\*", "a <i>b/ <b>c/ <b><i>d/ <i>e/ <b>f/ <s>g/ a_b_c 2<i>3/4 <b>x*y/ *z*"},
		{"not closed", "**bold *and `code", "**bold *and `code"},
		{"code in a line", "`` a`b `` and `*x*` `", "<c>a`b/ and <c>*x*/ `"},
		{"breaks", "one\ntwo  \nthree\\\nfour", "one\ntwo\nthree\nfour"},
		{"items", "- a\n- b\n  - c\n\n    more\n* d\n1. e\n1. f\n3) g\n\n- [ ] h\n- [x] i", "• a\n• b\n  • c\n\n    more\n• d\n1. e\n2. f\n3) g\n\n☐ h\n☑ i"},
		{"items of items", "1. a\n   - b\n2. c\n   ```go\n   x := 1\n   ```\n3.\n4. d", "1. a\n   • b\n2. c\n   <m>── go/\n   x := <num>1/\n   <m>──/\n3.\n4. d"},
		{"a number is no item", "The year was\n1986. Fine.\n\n1986\\. Fine.", "The year was\n1986. Fine.\n\n1986. Fine."},
		{"quotes", "> a\nlazy\n>\n> - b\n>> c\n\nd", "<m>│/ a\n<m>│/ lazy\n<m>│/\n<m>│/ • b\n<m>│/ <m>│/ c\n\nd"},
		{"rules", "a\n\n---\n* * *\n___", "a\n\n<m>" + strings.Repeat("─", 40) + "/\n<m>" + strings.Repeat("─", 40) + "/\n<m>" + strings.Repeat("─", 40) + "/"},
		{"code", "```go\nfunc f() {\n\n\t// c\n```\n~~~\n```\n~~~\nend", "<m>── go/\n<key>func/ f() {\n\n        <com>// c/\n<m>──/\n<m>──/\n```\n<m>──/\nend"},
		{"code is not folded", "```\n" + strings.Repeat("long ", 20) + "\n```", "<m>──/\n" + strings.TrimRight(strings.Repeat("long ", 20), " ") + "\n<m>──/"},
		{"code with an indent", "a\n\n    b\n\n      c\n\nd", "a\n\nb\n\n  c\n\nd"},
		{"a diff", "```diff\n-a\n+b\n c\n```", "<m>── diff/\n<rem>-a/\n<add>+b/\n c\n<m>──/"},
		{"links", "[docs](https://a.example/x) <https://b.example> [c](d.md \"t\") see https://e.example/f(g). [h]", "<l>docs/<m> (https://a.example/x)/ <l>https://b.example/ c<m> (d.md)/ see\n<l>https://e.example/f(g)/. [h]"},
		{"a link of itself", "[https://a.example](https://a.example) ![alt *x*](i.png)", "<l>https://a.example/ image: alt <i>x/<m> (i.png)/"},
		{"names of characters", "&lt;b&gt; &amp; &x; <b>", "<b> & &x; <b>"},
		{"folds", strings.Repeat("word ", 14) + "**" + strings.Repeat("bold ", 3) + "x**", strings.TrimRight(strings.Repeat("word ", 12), " ") + "\nword word <b>bold bold bold x/"},
		{"a table", "| Zone | Day |\n|:--|--:|\n| `UTC` | 1 |\n| a \\| b | *22* |\nend", "<h>Zone/   <h>Day/\n<m>─────  ───/\n<c>UTC/      1\na | b   <i>22/\nend"},
		{"no table", "a | b\nc | d\n\n| x |\n|---|---|", "a | b\nc | d\n\n| x |\n|---|---|"},
		{"a table that is too wide", "|a|b|\n|-|-|\n|" + strings.Repeat("word ", 12) + "|" + strings.Repeat("w", 30) + "|",
			"<h>a/                              <h>b/\n<m>" + strings.Repeat("─", 29) + "  " + strings.Repeat("─", 29) + "/\nword word word word word word  " + strings.Repeat("w", 29) + "\nword word word word word word  w"},
		{"lines in cells", "|a|b|\n|-|-|\n|x<br>y|z|", "<h>a/  <h>b/\n<m>─  ─/\nx  z\ny"},
		{"ideographs", strings.Repeat("漢字", 16) + "。", strings.Repeat("漢字", 15) + "\n漢字。"},
		{"controls", "a\x1b]8;;x\x07b\u202e `\x9b`", "a\uFFFD]8;;x\uFFFDb\uFFFD <c>\uFFFD/"},
		{"nothing", "\n\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, shown(test.text, 60, &letters)); diff != "" {
				t.Errorf("-want +is:\n%s", diff)
			}
		})
	}
}

// Without styles, what they show has other signs.
func TestRowsWithoutStyles(t *testing.T) {
	want := "H\n━\n\na b `c` d (https://e.example)"
	if got := shown("# H\n\n**a** *b* `c` [d](https://e.example)", 60, &Styles{}); got != want {
		t.Errorf("%q", got)
	}
}

// A table without room for its columns has its cells below each other.
func TestNarrowTable(t *testing.T) {
	want := "Name: first one\nLong title:\nsecond\nc: 1\n\nName: x\nLong title: y\nc: z"
	if got := shown("|Name|Long title|c|\n|-|-|-|\n|first one|second|1|\n|x|y|z|", 16, &Styles{}); got != want {
		t.Errorf("%q", got)
	}
}

// A table whose columns have no room for their words has its cells below each other as well. A long address does not count as a word.
func TestTableOfWords(t *testing.T) {
	text := "|Zone|Day|Remark|\n|-|-|-|\n|Europe/Berlin|2026-03-01|one hour later|"
	if got, want := shown(text, 36, &Styles{}), "Zone           Day         Remark\n─────────────  ──────────  ─────────\nEurope/Berlin  2026-03-01  one hour\n                           later"; got != want {
		t.Errorf("%q", got)
	}
	if got, want := shown(text, 30, &Styles{}), "Zone: Europe/Berlin\nDay: 2026-03-01\nRemark: one hour later"; got != want {
		t.Errorf("%q", got)
	}
	if got, want := shown("|a|b|\n|-|-|\n|x|"+strings.Repeat("w", 40)+"|", 26, &Styles{}), "a  b\n─  ───────────────────────\nx  "+strings.Repeat("w", 23)+"\n   "+strings.Repeat("w", 17); got != want {
		t.Errorf("%q", got)
	}
}

// Only addresses that do no harm become part of a sequence, and nothing in them ends it.
func TestAddresses(t *testing.T) {
	s := Styles{Addresses: true}
	for address, want := range map[string]string{
		"https://a.example/b;c":    "https://a.example/b;c",
		"HTTP://a.example/ä":       "HTTP://a.example/%C3%A4",
		"mailto:a@b.example":       "mailto:a@b.example",
		"javascript:alert(1)":      "",
		"file:///etc/passwd":       "",
		"docs/zones.md":            "",
		"https://a\u009c\x1b\\b":   "https://a%EF%BF%BD%EF%BF%BD\\b",
		"https://" + manyLetters:   "",
		"https://a.example/\u202e": "https://a.example/%EF%BF%BD",
	} {
		got := strings.Join(Rows("[x](<"+address+">)", 4000, &s), "\n")
		switch sequence := ansi.SetHyperlink(want); {
		case want == "" && strings.Contains(got, "\x1b"):
			t.Errorf("%q: %q", address, got)
		case want != "" && !strings.HasPrefix(got, sequence+"x"+ansi.ResetHyperlink()):
			t.Errorf("%q: %q", address, got)
		}
	}
}

var manyLetters = strings.Repeat("x", longestAddress)

// A row comes as soon as nothing can change it: a line of code with its end, a paragraph with the line that ends it.
func TestTake(t *testing.T) {
	s := New(60, &Styles{})
	for _, step := range []struct{ piece, taken, open string }{
		{"One ", "", "One"},
		{"**two", "", "One **two"},
		{"**.\nThree", "", "One two.\nThree"},
		{"\n\n", "One two.\nThree", ""},
		{"```\nco", "\n──", "co"},
		{"de\n", "code", ""},
		{"```\n", "──", ""},
		{"|a|\n|-|\n", "", "a\n─"},
		{"|bcd|", "", "a\n───\nbcd"},
		{"\n\n", "a\n───\nbcd", ""},
		{"- x", "", "\n• x"},
	} {
		s.Write(step.piece)
		if taken, open := strings.Join(s.Take(), "\n"), strings.Join(s.Open(), "\n"); taken != step.taken || open != step.open {
			t.Errorf("%q: taken %q, open %q", step.piece, taken, open)
		}
	}
	s.Close()
	if got := strings.Join(s.Take(), "\n"); got != "\n• x" {
		t.Errorf("at the end: %q", got)
	}
}

// What is held back has a bound, whatever the text is.
func TestBounds(t *testing.T) {
	for name, piece := range map[string]string{"a line": "word ", "a word": "word", "lines": "some words\n", "items": "- ", "a table": "|a|b|\n|-|-|\n", "rows": "|a|b|\n",
		"stars": "*a_ ", "ticks": "`` ` ```", "brackets": "[[](", "quotes": ">", "code": "    x\n"} {
		s := New(80, &Styles{})
		s.Write("|a|b|\n|-|-|\n")
		for range 40_000 / len(piece) {
			s.Write(piece)
			if held := len(s.line) + len(s.p.leaf.text) + s.p.leaf.table.size; held > 2*longestTable || len(s.p.in) > deepest {
				t.Fatalf("%s: %d bytes and %d containers are held back", name, held, len(s.p.in))
			}
			s.Take()
		}
	}
}

// The work for a piece does not grow with what came before.
func TestConstantWork(t *testing.T) {
	work := func(before int) float64 {
		s := New(80, &Styles{})
		s.Write(strings.Repeat("# Title\n\nSome *words* of `text`.\n\n- item\n\n```go\nx := 1\n```\n\n", before))
		s.Take()
		return testing.AllocsPerRun(100, func() {
			s.Write("A few words")
			s.Open()
			s.Write(" more.\n\n")
			s.Take()
		})
	}
	if few, many := work(1), work(2000); many > few {
		t.Errorf("a piece takes %v allocations behind a long text, and %v behind a short one", many, few)
	}
}

const sample = "# Title\n\nPara *one* `c` [l](https://a.example)\nline two\n- item\n  1. sub\n     ```go\n     x := `a\n     b`\n     ```\n- [x] done\n\n> quote\n> - in it\nlazy\n\n" +
	"| a | b |\n|---|--:|\n| 1 | two |\n\n    code\n\n\n    more\n~~~\nopen **\n~~~\nSet\n---\nend ~~s~~ \\* &amp; é漢\ttab\n"

// FuzzStream checks that the rows of a text do not depend on where it was cut, that what is open is the rest of them, and that nothing in a
// text is obeyed by a terminal.
func FuzzStream(f *testing.F) {
	f.Add(sample, uint64(1), 20)
	f.Add("|a|\n|-|\n|"+strings.Repeat("b ", 5000)+"|\n|c|", uint64(2), 7)
	f.Add(strings.Repeat("word **x** ", 900), uint64(3), 80)
	f.Add("```\n"+strings.Repeat("x", 9000)+"\n```", uint64(4), 80)
	f.Add("- \n\n- a\n>>- 1. x\n---\n\x1b[2J\u009b", uint64(5), 1)
	f.Fuzz(func(t *testing.T, text string, seed uint64, width int) {
		text, width = strings.ToValidUTF8(text, "?"), width&127
		want := Rows(text, width, &letters)
		r := rand.New(rand.NewPCG(seed, 0))
		s := New(width, &letters)
		var got []string
		for rest := text; rest != ""; {
			n := min(1+r.IntN(40), len(rest))
			for n < len(rest) && !utf8.RuneStart(rest[n]) {
				n++
			}
			s.Write(rest[:n])
			rest = rest[n:]
			if r.IntN(4+len(text)/200) == 0 {
				got = append(got, s.Take()...)
				soFar := Rows(text[:len(text)-len(rest)], width, &letters)
				if diff := cmp.Diff(soFar, append(got[:len(got):len(got)], s.Open()...)); diff != "" {
					t.Fatalf("after %d bytes (-whole +in pieces):\n%s", len(text)-len(rest), diff)
				}
			}
		}
		s.Close()
		got = append(got, s.Take()...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("-whole +in pieces:\n%s", diff)
		}
		for _, row := range got {
			for _, c := range strings.ReplaceAll(row, endStyle, "") {
				if c == '\n' || c == '\t' || safe.Obeyed(c) {
					t.Fatalf("a terminal obeys %U in %q", c, row)
				}
			}
		}
	})
}
