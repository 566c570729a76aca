package tool

// Decide is the rule for a tool from the operator's policy and the session's. A session comes from a client, and no word
// of a client is an approval: it makes the operator's rule stricter, never laxer. Where the operator says nothing, the
// tools of a client run, since that client runs them and can ask its own user; so do tools that only read; all others ask.
func Decide(t Tool, operator, session Policy) Rule {
	rule := operator.Rule(t)
	switch {
	case rule != "":
	case t.Host == Client, t.Effect == Read:
		rule = Allow
	default:
		rule = Ask
	}
	return stricter(rule, session.Rule(t))
}

func stricter(a, b Rule) Rule {
	for _, r := range []Rule{Deny, Ask} {
		if a == r || b == r {
			return r
		}
	}
	return Allow
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
	case danger >= Secret, danger > NoDanger && q.Operator.Rule(q.Tool) != Allow:
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
