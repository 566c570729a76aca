package cohere

import (
	"fmt"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// thinking is the member of the body (docs: reasoning, reference/chat).
type thinking struct {
	Type   string `json:"type"` // enabled or disabled
	Budget int    `json:"token_budget,omitempty"`
}

// control turns the decision into the member; nil: nothing is said. clamped says what the vendor has no word for.
func control(req *provider.Request) (t *thinking, clamped string, err error) {
	want := req.Decision.Control
	if exchange.Withholds(req, wireAPI, "thinking") {
		return nil, "", nil
	}
	switch want.Mode {
	case provider.ModeOmit, "":
		return nil, "", nil
	case provider.ModeOff:
		if req.Model.Thinking.Control == provider.ControlNone { // which refuses the member
			return nil, "", nil
		}
		return &thinking{Type: "disabled"}, "", nil
	case provider.ModeOn:
		return &thinking{Type: "enabled"}, "", nil
	case provider.ModeBudget:
		return &thinking{"enabled", want.Budget}, "", nil
	case provider.ModeEffort:
		return &thinking{Type: "enabled"}, fmt.Sprintf("thinking level %s sent as on, since the vendor has no levels", want.Effort), nil
	}
	return nil, "", fmt.Errorf("decision on thinking: unknown mode %q", want.Mode)
}

// answerRoom is what a budget has to leave of the limit on output, in tokens (docs: reasoning).
const answerRoom = 1_000

// shrink lowers a budget that leaves no room for an answer below the limit on output. The text says what changed.
func (t *thinking) shrink(limit int) (changed string) {
	if t == nil || t.Budget == 0 || limit == 0 || t.Budget <= limit-answerRoom {
		return ""
	}
	before := t.Budget
	if limit < 2*answerRoom {
		*t = thinking{Type: "disabled"}
		return fmt.Sprintf("thinking is off for this call: its limit on output of %d tokens leaves no budget", limit)
	}
	t.Budget = limit - answerRoom
	return fmt.Sprintf("the budget for thinking was lowered from %d to %d tokens: the limit on output is %d", before, t.Budget, limit)
}
