package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session/tool"
)

// Grants follow from the verdicts of the log, also from those that an older daemon kept, and end when they are revoked.
func TestViewGrants(t *testing.T) {
	v := NewView(Session{ID: testID(1)})
	apply := func(bodies ...Body) {
		t.Helper()
		for _, b := range bodies {
			if err := v.Apply(Entry{Turn: "A", Body: b}); err != nil {
				t.Fatal(err)
			}
		}
	}
	prefix := tool.Grant{ID: "2", Text: "Commands that begin with `ls`", Scope: tool.PrefixScope, Tool: "run", Prefix: []string{"ls"}}
	apply(Prompt{Message: msgA, Content: provider.Blocks{provider.Text{Text: "Go."}}}, TurnStart{},
		Verdict{Confirm: "1", Tool: "look", Action: AllowSession}, Verdict{Confirm: "2", Tool: "run", Action: AllowOnce, Grant: &prefix},
		Verdict{Confirm: "3", Tool: "run", Action: AllowOnce}, Verdict{Confirm: "4", Tool: "write", Action: Deny},
		Verdict{Confirm: "5", Tool: "look", Action: AllowSession})
	old := tool.Grant{ID: "1", Text: "All calls of look", Scope: tool.ToolScope, Tool: "look"}
	if diff := cmp.Diff([]tool.Grant{old, prefix}, v.Grants); diff != "" {
		t.Error(diff)
	}
	before := v.Grants
	apply(Setting{Revoke: []string{"1", "none"}})
	if diff := cmp.Diff([]tool.Grant{prefix}, v.Grants); diff != "" {
		t.Error(diff)
	}
	if before[0].ID != "1" { // it is shared with clients
		t.Error("a list that was given away has changed")
	}
}
