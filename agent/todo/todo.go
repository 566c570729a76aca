package todo

import (
	"encoding/json"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// Of returns the latest plan of a session; nil: there is none. It takes time in proportion to the messages since that plan.
func Of(v *session.View) []tool.PlanItem {
	if !slices.ContainsFunc(v.Session.Tools, is) {
		return nil
	}
	for _, t := range slices.Backward(v.Turns) {
		for _, results := range slices.Backward(t.Messages) {
			if results.Answers == "" {
				continue
			}
			if plan, ok := last(t.Message(results.Answers), results); ok {
				return plan
			}
		}
	}
	return nil
}

// is reports whether a tool writes plans.
func is(t tool.Tool) bool { return t.Host == tool.Builtin && t.Name == tool.PlanTool }

// last is the plan of the last call in a reply that succeeded.
func last(reply, results *session.Message) ([]tool.PlanItem, bool) {
	if reply == nil {
		return nil, false
	}
	calls := reply.Calls()
	for _, p := range slices.Backward(results.Parts) {
		r, ok := p.Block.(provider.ToolResult)
		if !ok || p.Number >= len(calls) {
			continue
		}
		if plan, ok := Written(calls[p.Number].Name, calls[p.Number].Input, r.Failed); ok {
			return plan, true
		}
	}
	return nil, false
}

// Written returns the plan that a call of a built-in tool wrote. ok is false for a call of another tool, and for one that failed.
func Written(name string, input json.RawMessage, failed bool) (plan []tool.PlanItem, ok bool) {
	if name != tool.PlanTool || failed {
		return nil, false
	}
	plan, err := tool.ReadPlan(input)
	return plan, err == nil
}
