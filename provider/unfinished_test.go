package provider_test

import (
	"encoding/json"
	"slices"
	"testing"

	. "github.com/thinkd/thinkd/provider"
)

// TestContinue is the decision for each block and each wire API. A row of the table is an answer, with the letters of what
// becomes of its blocks: k kept, p prefilled, a requested again, - dropped.
func TestContinue(t *testing.T) {
	apis := []string{"messages", "responses", "chat", "gemini", "ollama", "converse", "cohere"}
	blocks := func(api string) map[string]Block {
		state := State{Origin: Origin{API: api}, Data: json.RawMessage(`{}`)}
		foreign := State{Origin: Origin{API: "other"}, Data: json.RawMessage(`{}`)}
		return map[string]Block{
			"sealed":    Thinking{Text: "hm", Signed: true, State: state},
			"open":      Thinking{Text: "hm"},
			"foreign":   Thinking{Text: "hm", State: foreign},
			"text":      Text{Text: "It is"},
			"whole":     Text{Text: "It is", State: state},
			"space":     Text{Text: "It is "},
			"blank":     Text{Text: " \n"},
			"call":      ToolCall{ID: "c", Name: "read", Input: json.RawMessage(`{}`), State: state},
			"half call": ToolCall{ID: "c", Name: "read", Invalid: `{"pa`},
			"image":     Media{Type: "image/png", State: state},
			"own tool":  Opaque{State: state},
			"other's":   Opaque{State: foreign},
		}
	}
	const (
		last = 1 << iota
		followed
		thinks
		prefill
	)
	for _, c := range []struct {
		answer []string
		how    int
		want   string            // on all wire APIs
		but    map[string]string // on some
	}{
		{[]string{"text"}, last, "k", nil},
		{[]string{"text"}, last | thinks, "k", nil},
		{[]string{"text"}, last | prefill, "p", nil},
		{[]string{"text"}, last | prefill | thinks, "k", nil}, // refused while thinking is on
		{[]string{"space"}, last | prefill, "k", nil},         // refused with white space at its end
		{[]string{"blank"}, last | prefill, "-", nil},
		{[]string{"text", "blank"}, last | prefill, "p-", nil},
		{[]string{"text", "text"}, last | prefill, "kp", nil},
		{[]string{"text", "image"}, last | prefill, "kk", nil},
		{[]string{"sealed"}, last | thinks, "a", nil}, // no answer may end in thinking
		{[]string{"sealed"}, last, "-", nil},
		{[]string{"sealed", "blank"}, last | thinks, "a-", nil},
		{[]string{"sealed", "text"}, last | thinks, "kk", map[string]string{"responses": "-k"}},
		{[]string{"sealed", "sealed", "text"}, last, "kkk", map[string]string{"responses": "--k"}},
		{[]string{"sealed", "whole"}, last | thinks, "kk", nil},
		{[]string{"sealed", "whole", "open"}, last | thinks, "kka", nil},
		{[]string{"sealed", "whole", "open"}, last, "kk-", nil},
		{[]string{"open"}, last | thinks, "a", nil},
		{[]string{"open"}, last, "-", nil},
		{[]string{"open", "text"}, last | thinks, "ak", nil},
		{[]string{"foreign", "text"}, last | thinks, "-k", nil},
		{[]string{"sealed", "call"}, followed | thinks, "kk", nil},
		{[]string{"sealed", "text", "call"}, followed | prefill, "kkk", map[string]string{"responses": "-kk"}},
		{[]string{"sealed", "call", "half call"}, followed | thinks, "kk-", nil},
		{[]string{"own tool", "text"}, last, "kk", nil},
		{[]string{"text", "own tool"}, last | prefill, "p-", nil},
		{[]string{"other's", "text"}, last, "-k", nil},
		{nil, last | prefill, "", nil},
	} {
		for _, api := range apis {
			m := Model{API: api}
			if c.how&prefill != 0 {
				m.Prefill = PrefillNotInThinking
			}
			u := Unfinished{Cut: true, Last: c.how&last != 0, Rethinks: c.how&thinks != 0,
				Returns: func(b Thinking) bool { return b.State.Origin.API == api }}
			for _, name := range c.answer {
				u.Blocks = append(u.Blocks, blocks(api)[name])
			}
			want := c.want
			if other, ok := c.but[api]; ok {
				want = other
			}
			got := ""
			for _, a := range Continue(m, u) {
				got += string("kpa-"[slices.Index(ContinueAction("").Words(), string(a))])
			}
			if got != want {
				t.Errorf("%s: %q, how %04b: %q, not %q", api, c.answer, c.how, got, want)
			}
		}
	}
}
