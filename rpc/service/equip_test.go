package service

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// A client from the network cannot declare that its tool only reads: such tools run in all modes.
func TestHostileEffects(t *testing.T) {
	testgo.Cost(t)
	for _, declared := range []tool.Effect{"", tool.Read, tool.Edit, tool.Run, tool.Other} {
		for _, sameUser := range []bool{true, false} {
			want := declared
			if declared == tool.Read && !sameUser {
				want = tool.Other
			}
			tools, err := ownTools([]tool.Tool{{Tool: provider.Tool{Name: "t"}, Effect: declared}}, sameUser)
			if err != nil || tools[0].Effect != want {
				t.Errorf("%q of the same user %v: %+v, %v", declared, sameUser, tools, err)
			}
		}
	}
}

// TestInstruct: a session that works on a project has its instructions. A client from the network gets them only if the operator says so.
func TestInstruct(t *testing.T) {
	found := session.Instructions{Files: []session.InstructionFile{{Path: "/p/AGENTS.md", Bytes: 9}}, Text: "Be exact."}
	working := session.Session{CWD: "/p", Tools: []tool.Tool{{Host: tool.Client}, {Host: tool.Builtin}}}
	for _, test := range []struct {
		name       string
		sameUser   bool
		instructed bool
		record     session.Session
		want       bool
	}{
		{"the user", true, false, working, true},
		{"a network client", false, false, working, false},
		{"a network client that may", false, true, working, true},
		{"without a folder", true, true, session.Session{Tools: working.Tools}, false},
		{"without the built-in tools", true, true, session.Session{CWD: "/p", Tools: working.Tools[:1]}, false},
	} {
		c := Caller{SameUser: test.sameUser, config: &Config{Log: slog.New(slog.DiscardHandler), Tools: Tools{Instructed: test.instructed,
			Instructions: func(folder string) (session.Instructions, error) { return found, nil }}}}
		record := test.record
		if c.instruct(&record); (record.SystemPrompt() == "Be exact.") != test.want {
			t.Errorf("%s: %v", test.name, record.Instructions)
		}
		c.config.Tools.Instructions = func(string) (session.Instructions, error) { return found, errors.New("unreadable") }
		record = test.record
		if c.instruct(&record); !record.Instructions.IsZero() {
			t.Errorf("%s, after an error: %v", test.name, record.Instructions)
		}
		c.config.Tools.Instructions = nil
		if c.instruct(&record); !record.Instructions.IsZero() {
			t.Errorf("%s, switched off: %v", test.name, record.Instructions)
		}
	}
	both := session.Session{System: "Be brief.", Instructions: found}
	if got := both.SystemPrompt(); got != "Be brief.\n\nBe exact." {
		t.Errorf("with a system prompt of the client: %q", got)
	}
}
