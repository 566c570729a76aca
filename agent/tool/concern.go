package tool

import (
	"context"

	"github.com/thinkd/thinkd/provider"
)

// Danger says what a call could do beyond the effect of its tool. A higher one asks for a stricter rule.
type Danger int

const (
	NoDanger  Danger = iota
	Broad            // it works in a folder that holds more than one project, such as the user's home
	Program          // it changes a file that makes programs run, such as a git hook
	Secret           // it touches a secret place, such as .ssh
	Changed          // its server defines the tool otherwise than when the session began
	Protected        // it touches the daemon's own files, such as its keys
)

// Concern is what a [Host] found out about a call before it runs. The zero Concern is none.
type Concern struct {
	Danger Danger
	Place  string // which entry of the host's list matched; an approval holds for that one
	Why    string // a sentence for a person and for the model
}

// Examiner is a [Host] that looks at the arguments of a call before anybody decides on it.
type Examiner interface {
	// Examine changes nothing. It returns soon after ctx ends.
	Examine(ctx context.Context, t Tool, call provider.ToolCall) Concern
}

// Covers reports whether a decision that was made on c also holds for found, which the host came across when it opened the
// file. A link may have been replaced since the decision.
func (c Concern) Covers(found Concern) bool {
	switch found.Danger {
	case NoDanger, Broad:
		return true
	case Protected:
		return false
	}
	return c.Danger >= found.Danger && c.Place == found.Place
}

// Decision is what a call was decided on.
type Decision struct {
	Tool    Tool // as the session has it; zero: the host need not compare
	Concern Concern
}

type decisionKey struct{}

// WithDecision gives a call's host what the call was decided on.
func WithDecision(ctx context.Context, d Decision) context.Context {
	return context.WithValue(ctx, decisionKey{}, d)
}

// DecisionOn is what a call was decided on, the zero one if nobody did.
func DecisionOn(ctx context.Context) Decision {
	d, _ := ctx.Value(decisionKey{}).(Decision)
	return d
}
