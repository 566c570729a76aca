package replay

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
)

func TestBlank(t *testing.T) {
	for text, want := range map[string]bool{"": true, " \n\t": true, "\u00a0\u200b\ufeff": true, "\x00\x1f": true, ".": false, " a ": false, "\ue0a0": false} {
		if got := provider.Blank(text); got != want {
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
		if got != want || !provider.ValidToolName(got) || ToolName(got) != got {
			t.Errorf("%q became %q, want %q", name, got, want)
		}
	}
	got, other := ToolName(long), ToolName(long+"2")
	if len(got) != provider.MaxToolName || !provider.ValidToolName(got) || got == other || ToolName(long) != got {
		t.Errorf("a long name became %q, and another %q", got, other)
	}
}

func TestResult(t *testing.T) {
	picture := provider.Media{Type: "image/png", Data: []byte{1}}
	for _, tt := range []struct {
		name string
		in   provider.ToolResult
		want provider.Blocks
	}{
		{"what worked", provider.ToolResult{Blocks: provider.Blocks{provider.Text{Text: "a"}, picture}}, provider.Blocks{provider.Text{Text: "a"}, picture}},
		{"what worked, of spaces", provider.ToolResult{Blocks: provider.Blocks{provider.Text{Text: " "}, picture}}, provider.Blocks{picture}},
		{"a failure", provider.ToolResult{Failed: true, Blocks: provider.Blocks{provider.Text{Text: "no"}, provider.Text{Text: "way"}}}, provider.Blocks{provider.Text{Text: "error: no"}, provider.Text{Text: "way"}}},
		{"without a word", provider.ToolResult{Failed: true}, provider.Blocks{provider.Text{Text: "error: (no output)"}}},
		{"of spaces", provider.ToolResult{Failed: true, Blocks: provider.Blocks{provider.Text{Text: "\n"}}}, provider.Blocks{provider.Text{Text: "error: (no output)"}}},
		{"with an image", provider.ToolResult{Failed: true, Blocks: provider.Blocks{picture}}, provider.Blocks{provider.Text{Text: "error: (no output)"}, picture}},
	} {
		before := len(tt.in.Blocks)
		if diff := cmp.Diff(tt.want, Result(tt.in)); diff != "" || len(tt.in.Blocks) != before {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestPrompt(t *testing.T) {
	result := provider.ToolResult{CallID: "c"}
	for _, tt := range []struct{ in, want provider.Blocks }{
		{provider.Blocks{provider.Text{Text: "\n"}}, provider.Blocks{provider.Text{Text: NoText}}},
		{nil, provider.Blocks{provider.Text{Text: NoText}}},
		{provider.Blocks{provider.Text{Text: " "}, provider.Text{Text: "a"}}, provider.Blocks{provider.Text{Text: "a"}}},
		{provider.Blocks{result, provider.Text{Text: ""}}, provider.Blocks{result}},
	} {
		if diff := cmp.Diff(tt.want, Prompt(tt.in)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
