package conformance

import "github.com/tidwall/gjson"

// lookup offers a tool with a rule about its calls.
func lookup(rule string) params {
	return params{
		"tools":       []params{{"name": "lookup", "description": "Looks up a word.", "input_schema": params{"type": "object"}}},
		"tool_policy": params{"names": params{"lookup": rule}},
	}
}

func result(id, callID, text string) params {
	return params{"session_id": id, "call_id": callID, "content": []params{{"type": "text", "text": text}}}
}

// answer answers the next question about a call.
func answer(p *peer, id, action string) (question, r gjson.Result) {
	q := p.note("confirm")
	return q, p.call("confirm/answer", params{"session_id": id, "confirm_id": q.Get("confirm_id").String(), "action": action})
}

// toolChecks are about tools that a client runs.
var toolChecks = []Check{
	{"tool", "tool_start", "a client runs its tool, and the turn continues with the result", func(t *try) {
		p, id := t.session(lookup("allow"))
		turn := prompt(p, id, call)
		start := p.note("tool_start")
		equal("name", start.Get("name").String(), "lookup")
		equal("host", start.Get("host").String(), "client")
		equal("arguments", start.Get("arguments").Raw, `{"word":"date"}`)
		p.call("tool/result", result(id, start.Get("call_id").String(), "2026-03-01"))
		equal("the content of tool_end", p.note("tool_end").Get("content.0.text").String(), "2026-03-01")
		equal("stop_reason", end(p, turn).Get("stop_reason").String(), "end_turn")
	}},
	{"first-result", "tool/result", "the first result counts, a second one gets 1001", func(t *try) {
		p, id := t.session(lookup("allow"))
		turn := prompt(p, id, call)
		callID := p.note("tool_start").Get("call_id").String()
		p.call("tool/result", result(id, callID, "one"))
		p.refused("tool/result", result(id, callID, "two"), 1001)
		equal("the content of tool_end", p.note("tool_end").Get("content.0.text").String(), "one")
		end(p, turn)
	}},
	{"confirm", "confirm", "with the rule ask, the call runs after a yes only", func(t *try) {
		p, id := t.session(lookup("ask"))
		prompt(p, id, call)
		q := p.note("confirm", "tool_start")
		must(q.Get("confirm_id").Exists(), "tool_start came before confirm")
		must(len(q.Get("parts").Array()) > 0 && len(q.Get("actions").Array()) > 0 && q.Get("message").String() != "", "the question lacks parts, actions or a message: %.200s", q.Raw)
		r := p.call("confirm/answer", params{"session_id": id, "confirm_id": q.Get("confirm_id").String(), "action": "allow"})
		must(r.Get("accepted").Bool(), "accepted is false")
		equal("host", p.note("tool_start").Get("host").String(), "client")
		p.call("session/cancel", params{"session_id": id})
	}},
	{"deny", "confirm/answer", "after a no the call does not run, and the model learns it", func(t *try) {
		p, id := t.session(lookup("ask"))
		turn := prompt(p, id, call)
		answer(p, id, "deny")
		must(!p.note("tool_start").Get("host").Exists(), "tool_start has a host")
		must(p.note("tool_end").Get("is_error").Bool(), "tool_end is no error")
		equal("stop_reason", end(p, turn).Get("stop_reason").String(), "end_turn")
	}},
	{"first-answer", "confirm/answer", "the first answer counts, and all clients learn it", func(t *try) {
		p, id := t.session(lookup("ask"))
		other := t.open()
		other.call("session/attach", params{"session_id": id})
		prompt(p, id, call)
		q, r := answer(p, id, "deny")
		must(r.Get("accepted").Bool(), "the first answer is not accepted")
		equal("confirm_resolved of the other client", other.note("confirm_resolved").Get("action").String(), "deny")
		late := other.call("confirm/answer", params{"session_id": id, "confirm_id": q.Get("confirm_id").String(), "action": "allow"})
		must(!late.Get("accepted").Bool(), "the second answer is accepted")
	}},
	{"open-call", "session/attach", "a client that attaches sees a call that waits", func(t *try) {
		p, id := t.session(lookup("allow"))
		prompt(p, id, call)
		callID := p.note("tool_start").Get("call_id").String()
		r := t.open().call("session/attach", params{"session_id": id})
		equal("open.tools", r.Get("open.tools.0.call_id").String(), callID)
		equal("status", r.Get("session.status").String(), "waiting")
		p.call("session/cancel", params{"session_id": id})
	}},
}
