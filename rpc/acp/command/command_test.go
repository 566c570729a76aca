package command

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/agent/tool/toolhost"
)

func TestSplit(t *testing.T) {
	for text, want := range map[string][]string{
		"/compact": {"compact", ""}, " /export  a b.md ": {"export", "a b.md"}, "/mcp:s:p\nx": {"mcp:s:p", "x"},
		"compact": nil, "/": nil, "/ x": nil, "": nil,
	} {
		name, rest, ok := Split(text)
		if ok != (want != nil) || ok && (name != want[0] || rest != want[1]) {
			t.Errorf("%q: %q, %q, %v", text, name, rest, ok)
		}
	}
}

func TestArguments(t *testing.T) {
	p := toolhost.Prompt{Name: "p", Arguments: []toolhost.Argument{{Name: "file", Required: true}, {Name: "tone"}}}
	for text, want := range map[string]map[string]string{
		"a.go": {"file": "a.go"}, "a.go very  kind": {"file": "a.go", "tone": "very  kind"}, "": nil,
	} {
		got, err := Arguments(p, text)
		if (err != nil) != (want == nil) || want != nil && !cmp.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), "/NAME FILE [TONE]") {
			t.Error(err)
		}
	}
	list := List(map[string][]toolhost.Prompt{"s": {p, {Name: "q"}}}, []string{"s"})
	if c := list[len(list)-2]; c.Name != "mcp:s:p" || c.Input.Hint != "FILE [TONE]" || c.Description == "" {
		t.Errorf("%+v", c)
	}
	if c := list[len(list)-1]; c.Name != "mcp:s:q" || c.Input != nil {
		t.Errorf("%+v", c)
	}
}
