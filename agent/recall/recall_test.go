package recall

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
)

func said(id, text string) Message {
	return Message{ID: id, Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: text}}}
}

func TestSearch(t *testing.T) {
	list := []Message{
		said("A", "We talked about the weather in Oslo."),
		{ID: "B", Role: provider.Assistant, Blocks: provider.Blocks{provider.Thinking{Text: "secret thought about refunds"},
			provider.ToolCall{ID: "c", Name: "read_file", Input: []byte(`{"path":"refund_test.go"}`)}}},
		{ID: "C", Role: provider.User, Blocks: provider.Blocks{provider.ToolResult{CallID: "c", Blocks: provider.Blocks{provider.Text{Text: "func TestRefund rounds half up"}}}}},
		said("D", "The code of harbour 12 is HX-77."),
		said("E", "The code of harbour 123 is HX-78."),
		said("F", strings.Repeat("word ", 5000)+"the needle is here "+strings.Repeat("word ", 5000)),
	}
	for _, c := range []struct {
		name  string
		query Query
		first string // id of the first quotation
		has   string
	}{
		{"a number is a whole word", Query{Words: "code of harbour 12"}, "D", "HX-77"},
		{"a longer number", Query{Words: "harbour 123?"}, "E", "HX-78"},
		{"a part of a word", Query{Words: "round refund"}, "C", "rounds half up"},
		{"a call", Query{Words: "refund_test.go path"}, "B", "refund_test.go"},
		{"the place in a long message", Query{Words: "NEEDLE"}, "F", "the needle is here"},
	} {
		got := Search(slices.Values(list), c.query)
		_, after, _ := strings.Cut(got, "message_id ")
		if !strings.HasPrefix(after, c.first+"]") || !strings.Contains(got, c.has) {
			t.Errorf("%s: %.300q", c.name, got)
		}
	}
	for query, want := range map[Query]string{
		{Words: "thought"}:         "None of the 6 messages",
		{Words: " ?! "}:            "Give words",
		{Message: "Z"}:             "no message with this message_id",
		{Message: "D"}:             "[user, message_id D]\nThe code of harbour 12 is HX-77.",
		{Message: "F"}:             "bytes 0 to 16384 of 50019; to read on, give from 16384]",
		{Message: "F", From: 1e9}:  "bytes 50019 to 50019 of 50019]",
		{Message: "F", From: -1}:   "bytes 0 to 16384",
		{Message: "F", From: 49e3}: "bytes 49000 to 50019 of 50019]",
	} {
		if got := Search(slices.Values(list), query); !strings.Contains(got, want) {
			t.Errorf("%+v: %.200q, want %q", query, got, want)
		}
	}
}

// Each of many facts of one form is the first quotation for a question about it, whatever is around it.
func TestSearchFindsEachFact(t *testing.T) {
	testgo.Check(t, func(r *rapid.T) {
		filler := rapid.Map(rapid.SliceOfN(rapid.StringMatching(`[a-zé]{1,9}`), 0, 100), func(words []string) string { return strings.Join(words, " ") + " " })
		n := rapid.IntRange(1, 60).Draw(r, "facts")
		var list []Message
		for i := range n {
			text := filler.Draw(r, "before") + fmt.Sprintf("The value of entry %d is V%dX.", i, i*7919) + filler.Draw(r, "after")
			list = append(list, said(fmt.Sprint("M", i), text))
		}
		i := rapid.IntRange(0, n-1).Draw(r, "asked")
		got := Search(slices.Values(list), Query{Words: fmt.Sprintf("What is the value of entry %d?", i)})
		if !strings.Contains(got, fmt.Sprintf("V%dX", i*7919)) || !utf8.ValidString(got) {
			r.Fatalf("entry %d of %d: %q", i, n, got)
		}
	})
}

// Answers are bounded and valid text, whatever is searched.
func TestSearchIsBounded(t *testing.T) {
	testgo.Check(t, func(r *rapid.T) {
		var list []Message
		for i := range rapid.IntRange(0, 40).Draw(r, "messages") {
			list = append(list, said(fmt.Sprint(i), strings.Repeat(rapid.StringN(1, 20, -1).Draw(r, "text")+" ", rapid.IntRange(1, 3000).Draw(r, "times"))))
		}
		q := Query{Words: rapid.String().Draw(r, "words"), Message: rapid.SampledFrom([]string{"", "", "3", "x"}).Draw(r, "message"), From: rapid.Int().Draw(r, "from")}
		if got := Search(slices.Values(list), q); len(got) > partSize+1000 || !utf8.ValidString(got) {
			r.Fatalf("%d bytes: %.200q", len(got), got)
		}
	})
}
