package approval

import (
	"encoding/json"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session/tool"
)

func TestDecide(t *testing.T) {
	named := func(host tool.Kind, effect tool.Effect) tool.Tool {
		return tool.Tool{Tool: provider.Tool{Name: "t"}, Host: host, Effect: effect}
	}
	rules := func(name tool.Rule, effects map[tool.Effect]tool.Rule) tool.Policy {
		p := tool.Policy{Effects: effects}
		if name != "" {
			p.Names = map[string]tool.Rule{"t": name}
		}
		return p
	}
	for _, tt := range []struct {
		name              string
		tool              tool.Tool
		operator, session tool.Policy
		want              tool.Rule
	}{
		{"a client's", named(tool.Client, tool.Run), tool.Policy{}, tool.Policy{}, tool.Allow},
		{"a server's that reads", named(tool.MCP, tool.Read), tool.Policy{}, tool.Policy{}, tool.Allow},
		{"a server's that edits", named(tool.MCP, tool.Edit), tool.Policy{}, tool.Policy{}, tool.Ask},
		{"a server's that says nothing", named(tool.MCP, ""), tool.Policy{}, tool.Policy{}, tool.Ask},
		{"our own that runs", named(tool.Builtin, tool.Run), tool.Policy{}, tool.Policy{}, tool.Ask},
		{"allowed by name", named(tool.Builtin, tool.Run), rules(tool.Allow, nil), tool.Policy{}, tool.Allow},
		{"allowed by effect", named(tool.Builtin, tool.Run), rules("", map[tool.Effect]tool.Rule{tool.Run: tool.Allow}), tool.Policy{}, tool.Allow},
		{"a name before its effect", named(tool.Builtin, tool.Run), rules(tool.Deny, map[tool.Effect]tool.Rule{tool.Run: tool.Allow}), tool.Policy{}, tool.Deny},
		{"no effect is other", named(tool.MCP, ""), rules("", map[tool.Effect]tool.Rule{tool.Other: tool.Deny}), tool.Policy{}, tool.Deny},
		{"a session is stricter", named(tool.Client, tool.Read), tool.Policy{}, rules(tool.Deny, nil), tool.Deny},
		{"a session asks", named(tool.MCP, tool.Read), rules(tool.Allow, nil), rules("", map[tool.Effect]tool.Rule{tool.Read: tool.Ask}), tool.Ask},
		{"a session is never laxer", named(tool.MCP, tool.Run), rules(tool.Ask, nil), rules(tool.Allow, nil), tool.Ask},
		{"a session does not undo a no", named(tool.MCP, tool.Run), rules(tool.Deny, nil), rules(tool.Allow, nil), tool.Deny},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Decide(tt.tool, tt.operator, tt.session); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestRule(t *testing.T) {
	var p tool.Policy
	if err := json.Unmarshal([]byte(`{"names":{"x":"maybe"}}`), &p); err == nil {
		t.Error("the rule maybe was taken")
	}
	if err := json.Unmarshal([]byte(`{"names":{"x":"deny"},"effects":{"run":"ask"}}`), &p); err != nil {
		t.Error(err)
	}
}

// Each effect in each mode under each danger. The modes are a person's standing word: read must refuse all that is not known
// to read, a tool without an effect too, and edit lets edits run that nothing else is dangerous about.
func TestQuestion(t *testing.T) {
	allow := tool.Policy{Names: map[string]tool.Rule{"t": tool.Allow}}
	for _, tt := range []struct {
		name    string
		effect  tool.Effect
		mode    tool.Mode
		danger  Danger
		rules   tool.Policy
		granted bool
		want    tool.Rule
	}{
		{"reads", tool.Read, tool.ModeAsk, NoDanger, tool.Policy{}, false, tool.Allow},
		{"edits", tool.Edit, tool.ModeAsk, NoDanger, tool.Policy{}, false, tool.Ask},
		{"edits, granted", tool.Edit, tool.ModeAsk, NoDanger, tool.Policy{}, true, tool.Allow},
		{"read mode, reads", tool.Read, tool.ModeRead, NoDanger, tool.Policy{}, false, tool.Allow},
		{"read mode, edits", tool.Edit, tool.ModeRead, NoDanger, allow, true, tool.Deny},
		{"read mode, runs", tool.Run, tool.ModeRead, NoDanger, allow, true, tool.Deny},
		{"read mode, other", tool.Other, tool.ModeRead, NoDanger, allow, true, tool.Deny},
		{"read mode, not known", "", tool.ModeRead, NoDanger, allow, true, tool.Deny},
		{"edit mode, edits", tool.Edit, tool.ModeEdit, NoDanger, tool.Policy{}, false, tool.Allow},
		{"edit mode, runs", tool.Run, tool.ModeEdit, NoDanger, tool.Policy{}, false, tool.Ask},
		{"edit mode, other", tool.Other, tool.ModeEdit, NoDanger, tool.Policy{}, false, tool.Ask},
		{"edit mode, not known", "", tool.ModeEdit, NoDanger, tool.Policy{}, false, tool.Ask},

		{"broad, reads", tool.Read, tool.ModeAsk, Broad, tool.Policy{}, false, tool.Ask},
		{"broad, allowed", tool.Read, tool.ModeAsk, Broad, allow, false, tool.Allow},
		{"broad, granted", tool.Read, tool.ModeAsk, Broad, tool.Policy{}, true, tool.Allow},
		{"broad, edit mode", tool.Edit, tool.ModeEdit, Broad, tool.Policy{}, false, tool.Ask},
		{"broad, read mode", tool.Read, tool.ModeRead, Broad, tool.Policy{}, false, tool.Ask},

		{"program", tool.Edit, tool.ModeAsk, Program, tool.Policy{}, false, tool.Ask},
		{"program, allowed", tool.Edit, tool.ModeAsk, Program, allow, false, tool.Allow},
		{"program, granted", tool.Edit, tool.ModeAsk, Program, tool.Policy{}, true, tool.Ask},
		{"program, edit mode", tool.Edit, tool.ModeEdit, Program, tool.Policy{}, false, tool.Ask},

		{"secret", tool.Read, tool.ModeAsk, Secret, tool.Policy{}, false, tool.Ask},
		{"secret, allowed", tool.Read, tool.ModeAsk, Secret, allow, false, tool.Ask},
		{"secret, granted", tool.Read, tool.ModeAsk, Secret, allow, true, tool.Ask},
		{"secret, edit mode", tool.Edit, tool.ModeEdit, Secret, allow, true, tool.Ask},
		{"secret, read mode", tool.Read, tool.ModeRead, Secret, allow, true, tool.Ask},
		{"secret, denied", tool.Read, tool.ModeAsk, Secret, tool.Policy{Names: map[string]tool.Rule{"t": tool.Deny}}, true, tool.Deny},

		{"protected", tool.Read, tool.ModeAsk, Protected, allow, true, tool.Deny},
		{"protected, edit mode", tool.Edit, tool.ModeEdit, Protected, allow, true, tool.Deny},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := Question{Tool: tool.Tool{Tool: provider.Tool{Name: "t"}, Host: tool.Builtin, Effect: tt.effect}, Concern: Concern{Danger: tt.danger},
				Operator: tt.rules, Granted: tt.granted, Mode: tt.mode}
			if got := q.Rule(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			q.Denied = true
			if got := q.Rule(); got != tool.Deny {
				t.Errorf("got %s under a standing denial", got)
			}
		})
	}
}

func TestCovers(t *testing.T) {
	key, env := Concern{Danger: Secret, Place: ".ssh"}, Concern{Danger: Secret, Place: ".env*"}
	for _, tt := range []struct {
		decided, found Concern
		want           bool
	}{
		{Concern{}, Concern{}, true}, {Concern{}, Concern{Danger: Broad}, true}, {key, key, true},
		{Concern{}, key, false}, {env, key, false}, {Concern{Danger: Broad}, key, false}, {key, Concern{Danger: Protected, Place: ".ssh"}, false},
		{Concern{Danger: Protected}, Concern{Danger: Protected}, false}, {Concern{}, Concern{Danger: Program}, false},
	} {
		if got := tt.decided.Covers(tt.found); got != tt.want {
			t.Errorf("%+v covers %+v: %v", tt.decided, tt.found, got)
		}
	}
}
