package serve

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// TestPlan: clients get the plan that a model writes, when it changes and when they attach.
func TestPlan(t *testing.T) {
	t.Parallel()
	config := proof.WriteConfig(t, "[tools]\nbuiltin = true\n")
	s := proof.StartServe(t, proof.Command(t, nil, append([]string{"--config", config}, proof.ServeArgs(t.TempDir())...)...))
	c := proof.DialWS(t, s.Base, s.Token, nil)
	var made struct {
		ID string `json:"session_id"`
	}
	c.Must("session/new", map[string]any{"model_id": "sim/claude", "cwd": t.TempDir()}, &made)
	c.Must("session/prompt", map[string]any{"session_id": made.ID, "text": `Plan it. [[sim: tool=todo args={"items":[{"content":"Read","status":"in_progress"}]} thinking=0 pace=0]]
		[[sim: tool=todo args={"items":[{"content":"Read","status":"done"}]} unchecked thinking=0 pace=0]]
		[[sim: tool=todo args={"items":[{"content":"Read","status":"completed","priority":"low"},{"content":"Write","status":"pending"}]} thinking=0 text=3 pace=0]]`}, nil)
	c.TurnEnd()
	type plan []struct{ Content, Status, Priority string }
	var plans []plan
	for _, u := range c.Updates {
		if u.Method != "plan" {
			continue
		}
		var p struct {
			Items plan `json:"items"`
		}
		if err := json.Unmarshal(u.Raw, &p); err != nil {
			t.Fatal(err)
		}
		plans = append(plans, p.Items)
	}
	last := plan{{"Read", "completed", "low"}, {"Write", "pending", "medium"}}
	if len(plans) != 2 || !slices.Equal(plans[0], plan{{"Read", "in_progress", "medium"}}) || !slices.Equal(plans[1], last) {
		t.Errorf("plans: %v", plans)
	}
	for _, method := range []string{"session/attach", "session/state"} {
		var r struct {
			Session struct {
				Plan plan `json:"plan"`
			} `json:"session"`
		}
		c.Must(method, map[string]any{"session_id": made.ID}, &r)
		if !slices.Equal(r.Session.Plan, last) {
			t.Errorf("%s: %v", method, r.Session.Plan)
		}
	}
	s.Terminate()
}
