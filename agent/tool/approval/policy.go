package approval

import (
	"github.com/thinkd/thinkd/session/tool"
)

// Decide returns the rule for a tool from the operator's policy and the session's. The session's policy comes from a client, so it
// makes the operator's rule stricter, and never less strict. If the operator has no rule, a client's tools run, because the client
// runs them itself and can ask its own user. Tools that only read run as well. All others ask.
func Decide(t tool.Tool, operator, session tool.Policy) tool.Rule {
	rule := operator.Rule(t)
	switch {
	case rule != "":
	case t.Host == tool.Client, t.Effect == tool.Read:
		rule = tool.Allow
	default:
		rule = tool.Ask
	}
	return stricter(rule, session.Rule(t))
}

func stricter(a, b tool.Rule) tool.Rule {
	for _, r := range []tool.Rule{tool.Deny, tool.Ask} {
		if a == r || b == r {
			return r
		}
	}
	return tool.Allow
}

// Question is everything that decides whether a call runs.
type Question struct {
	Tool     tool.Tool
	Concern  Concern // what the host found in the call's arguments
	Operator tool.Policy
	Session  tool.Policy
	Granted  bool // a standing approval of a person covers the call
	Denied   bool // a standing denial of a person covers the call
	Mode     tool.Mode
}

// Rule decides. A standing denial of a person counts more than anything else. Then the policies come, see [Decide]. A concern makes the rule stricter. The more serious it is, the fewer
// earlier approvals count:
//
//	danger     operator's allow   grant   tool mode edit
//	none       runs               runs    runs
//	broad      runs               runs    asks
//	program    runs               asks    asks
//	secret     asks               asks    asks
//	protected  refused            refused refused
func (q Question) Rule() tool.Rule {
	rule := Decide(q.Tool, q.Operator, q.Session)
	danger := q.Concern.Danger
	switch {
	case q.Denied, danger >= Protected:
		return tool.Deny
	case danger >= Secret, danger > NoDanger && q.Operator.Rule(q.Tool) != tool.Allow:
		rule = stricter(rule, tool.Ask)
	}
	if rule == tool.Ask && q.Granted && danger <= Broad {
		rule = tool.Allow
	}
	switch {
	case q.Mode == tool.ModeRead && q.Tool.Effect != tool.Read:
		return tool.Deny
	case q.Mode == tool.ModeEdit && q.Tool.Effect == tool.Edit && rule == tool.Ask && danger == NoDanger:
		return tool.Allow
	}
	return rule
}
