package acp

import (
	"encoding/json"
	"testing"

	"github.com/thinkd/thinkd/session/tool"
)

func TestPlanUpdate(t *testing.T) {
	for want, items := range map[string][]tool.PlanItem{
		`{"sessionUpdate":"plan","entries":[]}`: nil,
		`{"sessionUpdate":"plan","entries":[{"content":"Read","status":"in_progress","priority":"high"}]}`: {{Content: "Read", Status: tool.PlanRunning, Priority: tool.PlanHigh}},
	} {
		if got, err := json.Marshal(planUpdate(items)); err != nil || string(got) != want {
			t.Errorf("%s (%v), want %s", got, err, want)
		}
	}
}
