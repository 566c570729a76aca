package tool

import (
	"testing"
)

func TestAddTo(t *testing.T) {
	list := Grant{ID: "1", Scope: ToolScope, Tool: "a"}.AddTo(nil)
	both := Grant{ID: "2", Scope: ToolScope, Tool: "b"}.AddTo(list)
	if again := (Grant{ID: "3", Scope: ToolScope, Tool: "a"}).AddTo(both); len(again) != 2 || len(list) != 1 || again[1].ID != "2" {
		t.Errorf("%v, %v", list, again)
	}
	if other := (Grant{ID: "4", Scope: ToolScope, Tool: "a", Definition: "x"}).AddTo(both); len(other) != 3 {
		t.Errorf("a grant for another definition adds nothing: %v", other)
	}
	denial := Grant{ID: "5", Scope: ToolScope, Tool: "a", Deny: true}
	if denied := denial.AddTo(both); len(denied) != 2 || denied[0].ID != "2" || denied[1].ID != "5" || both[0].ID != "1" {
		t.Errorf("a denial does not replace the approval: %v of %v", denied, both)
	} else if allowed := list[0].AddTo(denied); len(allowed) != 2 || allowed[1].ID != "1" {
		t.Errorf("an approval does not replace the denial: %v", allowed)
	}
}
