package thinktag_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider/thinktag"
)

func tags(start thinktag.Start) thinktag.Tags {
	return thinktag.Tags{Pair: thinktag.Pair{Open: "<think>", Close: "</think>"}, Start: start}
}

// parted is what a text comes to: thinking in brackets, text as it is, a turn as a bar.
func parted(t testing.TB, tags thinktag.Tags, pieces ...string) string {
	t.Helper()
	s := thinktag.NewSplitter(tags)
	var all []thinktag.Piece
	for _, p := range pieces {
		all = append(all, s.Add(p)...)
	}
	all = append(all, s.Flush()...)
	return written(t, all, strings.Join(pieces, ""))
}

func written(t testing.TB, all []thinktag.Piece, whole string) string {
	t.Helper()
	var b, raw strings.Builder
	open := false
	for _, p := range all {
		raw.WriteString(p.Raw)
		switch p.Kind {
		case thinktag.Opened:
			b.WriteString("[")
			open = true
		case thinktag.Ended:
			if !open {
				t.Errorf("%q: an end without thinking", whole)
			}
			b.WriteString("]")
			open = false
		case thinktag.Turned:
			b.WriteString("|")
		case thinktag.Thought:
			if !open || p.Text == "" {
				t.Errorf("%q: thinking %q outside of thinking, or empty", whole, p.Text)
			}
			b.WriteString(p.Text)
		case thinktag.Said:
			if open {
				t.Errorf("%q: said %q while thinking", whole, p.Text)
			}
			b.WriteString(p.Text)
		}
	}
	if open {
		t.Errorf("%q: thinking has no end", whole)
	}
	if raw.String() != whole {
		t.Errorf("raw %q, want %q", raw.String(), whole)
	}
	return b.String()
}

func TestSplit(t *testing.T) {
	multi := tags(thinktag.Closed)
	multi.Multi = true
	kimi := thinktag.Tags{Pair: thinktag.Pair{Open: "◁think▷", Close: "◁/think▷"}, Start: thinktag.Closed}
	more := tags(thinktag.Auto)
	more.Others = []thinktag.Pair{{Open: "<thought>", Close: "</thought>"}}
	tests := []struct {
		name string
		tags thinktag.Tags
		text string
		want string
	}{
		{"split tags", tags(thinktag.Closed), "<think>a</think>b", "[a]b"},
		{"white space around", tags(thinktag.Closed), "\n<think>\na\n</think>\n\nb", "[a]b"},
		{"white space inside stays", tags(thinktag.Closed), "<think>a \n b</think>c \n d ", "[a \n b]c \n d "},
		{"empty", tags(thinktag.Closed), "<think></think>\n\nb", "[]b"},
		{"opened by the prompt", tags(thinktag.Open), "a</think>b", "[a]b"},
		{"opened by both", tags(thinktag.Open), "<think>\na</think>b", "[a]b"},
		{"turned", tags(thinktag.Auto), "a</think>b", "a|b"},
		{"turned and spaced", tags(thinktag.Auto), "Hello!</think>\n\n", "Hello!|"},
		{"turned only once", tags(thinktag.Auto), "a</think>b</think>c", "a|b</think>c"},
		{"in quotes", tags(thinktag.Auto), "the tag `</think>` ends it", "the tag `</think>` ends it"},
		{"in code", tags(thinktag.Auto), "write `a </think>b` or\n```\nx\n</think>\ny\n```\nand more", "write `a </think>b` or\n```\nx\n</think>\ny\n```\nand more"},
		{"behind code", tags(thinktag.Auto), "use `x` and\n```\ny\n```\nso\n</think>\n\nb", "use `x` and\n```\ny\n```\nso\n|b"},
		{"behind a stray backtick", tags(thinktag.Auto), "it`s\nso\n</think>\nb", "it`s\nso\n|b"},
		{"a word of a sentence", tags(thinktag.Auto), "It ends with </think> and goes on.", "It ends with </think> and goes on."},
		{"before punctuation", tags(thinktag.Auto), "It ends with </think>.", "It ends with </think>."},
		{"an example", tags(thinktag.Auto), "Like this:\n<think>\na\n</think>\nb", "Like this:\n<think>\na\n</think>\nb"},
		{"an answer that begins with the tag", tags(thinktag.Auto), "</think> ends it", "</think> ends it"},
		{"of another family", more, "a</thought>b", "a</thought>b"},
		{"not a tag", tags(thinktag.Closed), "a < b and <thi", "a < b and <thi"},
		{"not a tag, watching", tags(thinktag.Auto), "a < b and </thi", "a < b and </thi"},
		{"begun tag at the end", tags(thinktag.Closed), "<thi", "<thi"},
		{"unclosed", tags(thinktag.Closed), "<think>a", "[a]"},
		{"unclosed, tag begun", tags(thinktag.Closed), "<think>a </thi", "[a </thi]"},
		{"first close wins", tags(thinktag.Closed), "<think>x <think>y</think>z</think>w", "[x <think>y]z</think>w"},
		{"later open is text", tags(thinktag.Closed), "Use the <think> tag", "Use the <think> tag"},
		{"close in quotes", tags(thinktag.Closed), `<think>say "</think>" now</think>b`, `[say "]" now</think>b`},
		{"closed at the start", tags(thinktag.Closed), "</think>b", "b"},
		{"closed at the start, watching", tags(thinktag.Auto), "\n</think>\n\nb", "b"},
		{"nothing but an empty block", tags(thinktag.Closed), "<think>\n\n</think>\n\nb", "[]b"},
		{"white space is the answer's", tags(thinktag.Closed), "  \n b", "  \n b"},
		{"only white space", tags(thinktag.Auto), " \n", " \n"},
		{"nothing", tags(thinktag.Open), "", ""},
		{"other case", tags(thinktag.Closed), "<Think>a</Think>", "<Think>a</Think>"},
		{"again on a new line", multi, "<think>a</think>b\n<think>c</think>\nd", "[a]b\n[c]d"},
		{"again at once", multi, "<think>a</think>\n<think>b</think>c", "[a][b]c"},
		{"not again inside a line", multi, "<think>a</think>b <think>c</think>", "[a]b <think>c</think>"},
		{"not again in code", multi, "<think>a</think>b\n```\n<think>\n```\n<think>c</think>d", "[a]b\n```\n<think>\n```\n[c]d"},
		{"wide tags", kimi, "◁think▷ä ◁ ö◁/think▷b", "[ä ◁ ö]b"},
		{"another pair", more, "<thought>a</think></thought>b", "[a</think>]b"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := parted(t, test.tags, test.text); got != test.want {
				t.Errorf("%q comes to %q, want %q", test.text, got, test.want)
			}
			var runes []string
			for _, r := range test.text {
				runes = append(runes, string(r))
			}
			if got := parted(t, test.tags, runes...); got != test.want {
				t.Errorf("character by character %q, want %q", got, test.want)
			}
			for i := range test.text {
				for j := i; j < len(test.text); j++ {
					if !utf8.RuneStart(test.text[j]) {
						continue
					}
					if got := parted(t, test.tags, test.text[:i], test.text[i:j], test.text[j:]); got != test.want {
						t.Fatalf("cut at %d and %d: %q, want %q", i, j, got, test.want)
					}
				}
			}
		})
	}
}

// A whole text is parted as it should have been from the start.
func TestSplitWhole(t *testing.T) {
	tests := []struct{ start, text, want string }{
		{"auto", " a\n</think>\n\nb", "[a]b"},
		{"auto", "<think>a</think>b", "[a]b"},
		{"auto", "plain", "plain"},
		{"auto", "</think>b", "b"},
		{"open", "a</think>b", "[a]b"},
	}
	for _, test := range tests {
		var b strings.Builder
		for _, p := range thinktag.Split(test.text, tags(thinktag.Start(test.start))) {
			switch p.Kind {
			case thinktag.Opened:
				b.WriteByte('[')
			case thinktag.Ended:
				b.WriteByte(']')
			}
			b.WriteString(p.Text)
		}
		if got := b.String(); got != test.want {
			t.Errorf("%s %q comes to %q, want %q", test.start, test.text, got, test.want)
		}
	}
}

// A call to a tool in the middle of thinking ends it, and what follows is said.
func TestFlushInside(t *testing.T) {
	s := thinktag.NewSplitter(tags(thinktag.Closed))
	got := append(s.Add("<think>a</th"), s.Flush()...)
	got = append(got, s.Add("b")...)
	want := []thinktag.Piece{
		{Kind: thinktag.Opened, Raw: "<think>"}, {Kind: thinktag.Thought, Text: "a", Raw: "a"},
		{Kind: thinktag.Thought, Text: "</th", Raw: "</th"}, {Kind: thinktag.Ended}, {Kind: thinktag.Said, Text: "b", Raw: "b"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pieces (-want +got):\n%s", diff)
	}
}

// White space without end is shown in the end.
func TestEndlessSpace(t *testing.T) {
	for _, start := range []string{"", "<think>a", "<think>a</think>", "a</th"} {
		s := thinktag.NewSplitter(tags(thinktag.Closed))
		s.Add(start)
		shown := 0
		for range 100_000 {
			for _, p := range s.Add("\n") {
				shown += len(p.Text)
			}
		}
		dropped := strings.HasSuffix(start, "</think>") // the answer has not begun
		if (shown < 90_000) != dropped {
			t.Errorf("after %q: %d of 100000 characters shown", start, shown)
		}
	}
}

// A family has its own tags and no others; where the family is not known, an answer may begin with any of them.
func TestFamilies(t *testing.T) {
	all := tags(thinktag.Auto)
	all.Others = []thinktag.Pair{{Open: "<thinking>", Close: "</thinking>"}, {Open: "<seed:think>", Close: "</seed:think>"}, {Open: "[THINK]", Close: "[/THINK]"}}
	for _, test := range []struct{ model, text, want string }{
		{"qwen/qwen3-8b", "<think>a</think>b", "[a]b"},
		{"qwen/qwen3-8b", "<thinking>a</thinking>b", "<thinking>a</thinking>b"},
		{"qwen/qwen3-8b", "a</thinking>b", "a</thinking>b"},
		{"ByteDance-Seed/Seed-OSS-36B", "a</seed:think>b", "a|b"},
		{"ByteDance-Seed/Seed-OSS-36B", "a</think>b", "a</think>b"},
		{"mistralai/magistral-small", "[THINK]a[/THINK]b", "[a]b"},
		{"my-tune", "<thinking>a</thinking>b", "[a]b"},
		{"my-tune", "a</thinking>b", "a</thinking>b"},
		{"my-tune", "a</think>b", "a|b"},
	} {
		if got := parted(t, all.For(test.model), test.text); got != test.want {
			t.Errorf("%s: %q comes to %q, want %q", test.model, test.text, got, test.want)
		}
	}
	one := tags(thinktag.Closed) // a dialect that names one pair means it
	if got := one.For("magistral-small"); got.Pair != one.Pair {
		t.Errorf("one pair becomes %v", got.Pair)
	}
}

func TestUnclosed(t *testing.T) {
	for text, want := range map[string]bool{"a": true, "a</think>b": false, "<think>a": false} {
		s := thinktag.NewSplitter(tags(thinktag.Open))
		s.Add(text)
		s.Flush()
		if got := s.Unclosed(); got != want {
			t.Errorf("%q: unclosed %v, want %v", text, got, want)
		}
	}
}

// Whatever comes, cut as it may be: the same result, and nothing is lost.
func FuzzSplit(f *testing.F) {
	f.Add("\n<think>a</think>\n```\n<think>x\n```b</think>c", uint8(3), uint8(7), uint8(0))
	f.Add("a</think>b`</think>`", uint8(1), uint8(2), uint8(5))
	f.Fuzz(func(t *testing.T, text string, i, j, mode uint8) {
		text = strings.ToValidUTF8(text, "?")
		if len(text) > 1000 {
			return
		}
		set := tags([]thinktag.Start{thinktag.Closed, thinktag.Open, thinktag.Auto}[mode%3])
		set.Multi = mode&4 != 0
		a, b := min(int(i), len(text)), min(int(i)+int(j), len(text))
		whole, cut := parted(t, set, text), parted(t, set, text[:a], text[a:b], text[b:])
		if whole != cut {
			t.Errorf("%q comes to %q, cut at %d and %d to %q", text, whole, a, b, cut)
		}
	})
}
