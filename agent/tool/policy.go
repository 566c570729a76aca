package tool

import "fmt"

// Rule says what becomes of a call.
type Rule string

const (
	Allow Rule = "allow" // it runs
	Ask   Rule = "ask"   // a person is asked, and silence is a no
	Deny  Rule = "deny"  // it never runs, and the model is told so
)

// UnmarshalText reads a rule as configs and clients write it.
func (r *Rule) UnmarshalText(text []byte) error {
	switch word := Rule(text); word {
	case Allow, Ask, Deny:
		*r = word
		return nil
	}
	return fmt.Errorf("%q is not one of allow, ask, deny", text)
}

// Policy is a set of rules. The zero Policy says nothing.
type Policy struct {
	Names   map[string]Rule `json:"names,omitempty"`   // by a tool's name
	Effects map[Effect]Rule `json:"effects,omitempty"` // for tools without a rule of their own
}

// rule is the policy's word on a tool, empty if it has none. A tool's own rule comes before that of its effect.
func (p Policy) rule(t Tool) Rule {
	if r := p.Names[t.Name]; r != "" {
		return r
	}
	effect := t.Effect
	if effect == "" {
		effect = Other
	}
	return p.Effects[effect]
}

// Decide is the rule for a tool from the operator's policy and the session's. A session comes from a client, and no word
// of a client is an approval: it makes the operator's rule stricter, never laxer. Where the operator says nothing, the
// tools of a client run, since that client runs them and can ask its own user; so do tools that only read; all others ask.
func Decide(t Tool, operator, session Policy) Rule {
	rule := operator.rule(t)
	switch {
	case rule != "":
	case t.Host == Client, t.Effect == Read:
		rule = Allow
	default:
		rule = Ask
	}
	return stricter(rule, session.rule(t))
}

func stricter(a, b Rule) Rule {
	for _, r := range []Rule{Deny, Ask} {
		if a == r || b == r {
			return r
		}
	}
	return Allow
}

// Mode is a person's standing word on the calls of a session, which a client of the session gives as it answers questions.
type Mode string

const (
	ModeAsk  Mode = "ask"  // as the rules say; the zero Mode is the same
	ModeEdit Mode = "edit" // what changes data runs where the rules would ask
	ModeRead Mode = "read" // what does not only read is refused
)

// UnmarshalText reads a mode as clients write it.
func (m *Mode) UnmarshalText(text []byte) error {
	switch word := Mode(text); word {
	case ModeAsk, ModeEdit, ModeRead:
		*m = word
		return nil
	}
	return fmt.Errorf("%q is not one of ask, edit, read", text)
}

// Question is all that decides whether a call runs.
type Question struct {
	Tool     Tool
	Concern  Concern // what the host found in the call's arguments
	Operator Policy
	Session  Policy
	Granted  bool // a standing grant of a person covers the call
	Mode     Mode
}

// Rule decides. What the operator and the session say comes first, see [Decide]. A concern makes the rule stricter; the
// graver it is, the fewer standing words answer for a person:
//
//	danger     operator's allow   grant   tool mode edit
//	none       runs               runs    runs
//	broad      runs               runs    asks
//	program    runs               asks    asks
//	secret     asks               asks    asks
//	protected  refused            refused refused
func (q Question) Rule() Rule {
	rule := Decide(q.Tool, q.Operator, q.Session)
	danger := q.Concern.Danger
	switch {
	case danger >= Protected:
		return Deny
	case danger >= Secret, danger > NoDanger && q.Operator.rule(q.Tool) != Allow:
		rule = stricter(rule, Ask)
	}
	if rule == Ask && q.Granted && danger <= Broad {
		rule = Allow
	}
	switch {
	case q.Mode == ModeRead && q.Tool.Effect != Read:
		return Deny
	case q.Mode == ModeEdit && q.Tool.Effect == Edit && rule == Ask && danger == NoDanger:
		return Allow
	}
	return rule
}
