package session_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/storetest"
	"github.com/thinkd/thinkd/session/tool"
)

// Grants follow from the verdicts of the log, also from those that an older daemon kept, and end when they are revoked.
func TestViewGrants(t *testing.T) {
	v := session.NewView(session.Session{ID: storetest.ID(1)})
	apply := func(bodies ...session.Body) {
		t.Helper()
		for _, b := range bodies {
			if err := v.Apply(session.Entry{Turn: "A", Body: b}); err != nil {
				t.Fatal(err)
			}
		}
	}
	prefix := tool.Grant{ID: "2", Text: "Commands that begin with `ls`", Scope: tool.PrefixScope, Tool: "run", Prefix: []string{"ls"}}
	apply(session.Prompt{Message: storetest.MsgA, Content: provider.Blocks{provider.Text{Text: "Go."}}}, session.TurnStart{},
		session.Verdict{Confirm: "1", Tool: "look", Action: session.AllowSession}, session.Verdict{Confirm: "2", Tool: "run", Action: session.AllowOnce, Grant: &prefix},
		session.Verdict{Confirm: "3", Tool: "run", Action: session.AllowOnce}, session.Verdict{Confirm: "4", Tool: "write", Action: session.Deny},
		session.Verdict{Confirm: "5", Tool: "look", Action: session.AllowSession})
	old := tool.Grant{ID: "1", Text: "All calls of look", Scope: tool.ToolScope, Tool: "look"}
	if diff := cmp.Diff([]tool.Grant{old, prefix}, v.Grants); diff != "" {
		t.Error(diff)
	}
	before := v.Grants
	apply(session.Setting{Revoke: []string{"1", "none"}})
	if diff := cmp.Diff([]tool.Grant{prefix}, v.Grants); diff != "" {
		t.Error(diff)
	}
	if before[0].ID != "1" { // it is shared with clients
		t.Error("a list that was given away has changed")
	}
	denial := tool.Grant{ID: "6", Text: "All calls of write", Scope: tool.ToolScope, Tool: "write", Deny: true}
	verdict := session.NewVerdict("6", "write", session.Deny, "client", &denial)
	if verdict.Grant != nil {
		t.Error("an older daemon takes the denial for an approval")
	}
	apply(verdict)
	if diff := cmp.Diff([]tool.Grant{prefix, denial}, v.Grants); diff != "" {
		t.Error(diff)
	}
}
