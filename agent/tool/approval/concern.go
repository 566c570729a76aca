package approval

import (
	"context"

	"github.com/thinkd/thinkd/session/tool"
)

// Danger is what a call could do beyond the effect of its tool. A higher one leads to a stricter rule.
type Danger int

const (
	NoDanger  Danger = iota
	Broad            // it works in a folder that holds more than one project, such as the user's home
	Program          // it changes a file that makes programs run, such as a git hook
	Secret           // it touches a secret place, such as .ssh
	Changed          // its server has changed the definition of the tool since the session began
	Protected        // it touches the daemon's own files, such as its keys
)

// Concern is what a host found in the arguments of a call. The zero Concern is none.
type Concern struct {
	Danger Danger
	Place  string // the entry of the host's list that matched; an approval covers only this one
	Why    string // a sentence for a person and for the model
}

// Covers reports whether a decision about c also covers found, which is what the host found when it opened the file. Somebody may
// have replaced a link since the decision.
func (c Concern) Covers(found Concern) bool {
	switch found.Danger {
	case NoDanger, Broad:
		return true
	case Protected:
		return false
	}
	return c.Danger >= found.Danger && c.Place == found.Place
}

// Decision is what was decided about when a call was allowed.
type Decision struct {
	Tool    tool.Tool // as the session has it; zero: the host does not compare
	Concern Concern
}

type decisionKey struct{}

// WithDecision passes a decision to the host of the call. Only the agent calls it.
func WithDecision(ctx context.Context, d Decision) context.Context {
	return context.WithValue(ctx, decisionKey{}, d)
}

// DecisionOn returns the decision about the call of ctx, or the zero Decision if there is none.
func DecisionOn(ctx context.Context) Decision {
	d, _ := ctx.Value(decisionKey{}).(Decision)
	return d
}
