package provider

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBlank(t *testing.T) {
	for text, want := range map[string]bool{"": true, " \n\t": true, "\u00a0\u200b\ufeff": true, "\x00\x1f": true, ".": false, " a ": false, "\ue0a0": false} {
		if got := Blank(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestToolName(t *testing.T) {
	long := strings.Repeat("read", 50)
	for name, want := range map[string]string{
		"read": "read", "mcp__git-hub_2": "mcp__git-hub_2", "read_file<|channel|>commentary": "read_file", "functions.read_file": "read_file",
		"read the file!": "read_the_file", "": "unnamed_tool", " ": "unnamed_tool", "<|call|>": "unnamed_tool", "1st": "_1st", "-x": "_-x", "lisé": "lis",
		"日本": "unnamed_tool", strings.Repeat("r", 64): strings.Repeat("r", 64),
	} {
		got := ToolName(name)
		if got != want || !toolName().MatchString(got) || ToolName(got) != got {
			t.Errorf("%q became %q, want %q", name, got, want)
		}
	}
	got, other := ToolName(long), ToolName(long+"2")
	if len(got) != maxToolName || !toolName().MatchString(got) || got == other || ToolName(long) != got {
		t.Errorf("a long name became %q, and another %q", got, other)
	}
}

func TestTold(t *testing.T) {
	picture := Media{Type: "image/png", Data: []byte{1}}
	for _, tt := range []struct {
		name string
		in   ToolResult
		want Blocks
	}{
		{"what worked", ToolResult{Blocks: Blocks{Text{Text: "a"}, picture}}, Blocks{Text{Text: "a"}, picture}},
		{"what worked, of spaces", ToolResult{Blocks: Blocks{Text{Text: " "}, picture}}, Blocks{picture}},
		{"a failure", ToolResult{Failed: true, Blocks: Blocks{Text{Text: "no"}, Text{Text: "way"}}}, Blocks{Text{Text: "error: no"}, Text{Text: "way"}}},
		{"without a word", ToolResult{Failed: true}, Blocks{Text{Text: "error: (no output)"}}},
		{"of spaces", ToolResult{Failed: true, Blocks: Blocks{Text{Text: "\n"}}}, Blocks{Text{Text: "error: (no output)"}}},
		{"with an image", ToolResult{Failed: true, Blocks: Blocks{picture}}, Blocks{Text{Text: "error: (no output)"}, picture}},
	} {
		before := len(tt.in.Blocks)
		if diff := cmp.Diff(tt.want, Told(tt.in)); diff != "" || len(tt.in.Blocks) != before {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestPrompt(t *testing.T) {
	result := ToolResult{CallID: "c"}
	for _, tt := range []struct{ in, want Blocks }{
		{Blocks{Text{Text: "\n"}}, Blocks{Text{Text: NoText}}},
		{nil, Blocks{Text{Text: NoText}}},
		{Blocks{Text{Text: " "}, Text{Text: "a"}}, Blocks{Text{Text: "a"}}},
		{Blocks{result, Text{Text: ""}}, Blocks{result}},
	} {
		if diff := cmp.Diff(tt.want, Prompt(tt.in)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestInitiator(t *testing.T) {
	result := ToolResult{CallID: "c", Blocks: Blocks{Media{Type: "image/png", Data: []byte{1}}}}
	user := func(blocks ...Block) Message { return Message{Role: User, Blocks: blocks} }
	for _, tt := range []struct {
		name string
		req  Request
		want string
	}{
		{"a prompt", Request{Messages: []Message{user(Text{Text: "a"})}}, "user"},
		{"an image of a tool", Request{Messages: []Message{user(Text{Text: "a"}), user(result)}}, "agent"},
		{"a person beside a tool", Request{Messages: []Message{user(result, Text{Text: "a"})}}, "user"},
		{"an answer that goes on", Request{Messages: []Message{{Role: Assistant, Blocks: Blocks{Text{Text: "a"}}}}}, "agent"},
		{"a summary", Request{Whole: true, Messages: []Message{user(Text{Text: "a"})}}, "agent"},
		{"nothing", Request{}, "user"},
	} {
		if got := tt.req.Initiator(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// Calls of one answer with one id are answered in their order, also where an earlier call had no result.
func TestCallIDsTwice(t *testing.T) {
	c := CallIDs{Fits: func(string) bool { return true }}
	c.New("a")
	c.Answered()
	first, second := c.New("a"), c.New("a")
	if got := []string{c.Of("a"), c.Of("a"), c.Of("a")}; first == second || got[0] != first || got[1] != second || got[2] != second {
		t.Errorf("calls %q and %q are answered as %q", first, second, got)
	}
}
