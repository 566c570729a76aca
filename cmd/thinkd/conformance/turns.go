package conformance

import (
	"strings"

	"github.com/tidwall/gjson"
)

// turnChecks are about prompts and what they cause.
var turnChecks = []Check{
	{"response-first", "Order", "the response to session/prompt comes before the first notification of its turn", func(t *try) {
		p, id := t.session(nil)
		p.send("session/prompt", params{"session_id": id, "text": quick})
		m := p.read()
		must(m.Get("result.turn_id").Exists(), "the first message is %.200s", m.Raw)
		equal("disposition", m.Get("result.disposition").String(), "started")
	}},
	{"turn", "Notifications", "a turn starts, thinks, answers and ends, and seq grows", func(t *try) {
		p, id := t.session(params{"thinking_level": "high"})
		turn := prompt(p, id, quick)
		var names []string
		last := int64(0)
		for len(names) == 0 || names[len(names)-1] != "turn_end" {
			name, n := anything(p)
			must(n.Get("session_id").String() == id, "%s has the session %s", name, n.Get("session_id").Raw)
			must(n.Get("seq").Int() > last, "%s has the seq %d after %d", name, n.Get("seq").Int(), last)
			must(n.Get("ts").Int() > 1e12, "%s has the ts %s, want Unix milliseconds", name, n.Get("ts").Raw)
			last = n.Get("seq").Int()
			names = append(names, name)
			if name == "turn_end" {
				equal("turn_id", n.Get("turn_id").String(), turn)
				equal("stop_reason", n.Get("stop_reason").String(), "end_turn")
				must(n.Get("usage.output_tokens").Int() > 0, "usage has no output_tokens")
			}
		}
		inOrder(names, "prompt", "turn_start", "thinking_start", "thinking_delta", "thinking_end", "message_delta", "text_end", "message_end", "turn_end")
	}},
	{"deltas", "thinking_end", "the deltas of a block add up to its end", func(t *try) {
		p, id := t.session(params{"thinking_level": "high"})
		turn := prompt(p, id, quick)
		watched, ended := follow(p, turn, nil)
		must(len(ended) >= 2, "%d blocks ended, want thinking and text", len(ended))
		for block, text := range ended {
			equal("the text of block "+block, watched[block], text)
		}
	}},
	{"decision", "turn_start", "turn_start has the decision on thinking before the first delta", func(t *try) {
		p, id := t.session(params{"thinking_level": "low"})
		prompt(p, id, quick)
		n := p.note("turn_start", "thinking_delta", "message_delta")
		equal("reasoning.requested_effort", n.Get("reasoning.requested_effort").String(), "low")
		must(n.Get("reasoning.wire").Exists(), "reasoning lacks wire")
	}},
	{"turn-wait", "turn/wait", "it returns what turn_end said, also later", func(t *try) {
		p, id := t.session(nil)
		turn := prompt(p, id, quick)
		n := end(p, turn)
		r := p.call("turn/wait", params{"session_id": id, "turn_id": turn})
		equal("stop_reason", r.Get("stop_reason").String(), n.Get("stop_reason").String())
		equal("role of the message", r.Get("message.role").String(), "assistant")
	}},
	{"history", "session/history", "it has the prompt and the answer", func(t *try) {
		p, id := t.session(nil)
		end(p, prompt(p, id, quick))
		equal("the roles", p.call("session/history", params{"session_id": id}).Get("messages.#.role").Raw, `["user","assistant"]`)
	}},
	{"prompt-once", "Idempotency", "a repeated prompt with the same client_id is not a second prompt", func(t *try) {
		p, id := t.session(nil)
		again := params{"session_id": id, "text": quick, "client_id": "again"}
		turn := p.call("session/prompt", again).Get("turn_id").String()
		end(p, turn)
		equal("turn_id", p.call("session/prompt", again).Get("turn_id").String(), turn)
		equal("the messages", p.call("session/history", params{"session_id": id}).Get("messages.#").Int(), 2)
	}},
	{"reject", "session/prompt", "with when_busy reject, a prompt during a turn gets 1002", func(t *try) {
		p, id := t.session(nil)
		prompt(p, id, slow)
		p.refused("session/prompt", params{"session_id": id, "text": quick, "when_busy": "reject"}, 1002)
		p.call("session/cancel", params{"session_id": id})
	}},
	{"queue", "session/queue", "prompts during a turn wait, in order, and can be changed and moved", func(t *try) {
		p, id := t.session(nil)
		prompt(p, id, slow)
		second, third := prompt(p, id, "Two."), prompt(p, id, "Three.")
		p.call("queue/update", params{"session_id": id, "turn_id": second, "text": "Two, edited."})
		p.call("queue/move", params{"session_id": id, "turn_id": third, "before": second})
		equal("the queue", p.call("session/queue", params{"session_id": id}).Get("queue.#.text").Raw, `["Three.","Two, edited."]`)
		for _, turn := range []string{second, third} {
			must(p.call("session/cancel", params{"session_id": id, "turn_id": turn}).Get("cancelled").Bool(), "a pending prompt was not cancelled")
		}
		p.call("session/cancel", params{"session_id": id})
	}},
	{"queued-runs", "session/prompt", "a prompt that waits runs after the turn", func(t *try) {
		p, id := t.session(lookup("allow"))
		first := prompt(p, id, call)
		callID := p.note("tool_start").Get("call_id").String()
		second := p.call("session/prompt", params{"session_id": id, "text": quick})
		equal("disposition", second.Get("disposition").String(), "queued")
		p.call("tool/result", result(id, callID, "2026-03-01"))
		end(p, first)
		equal("stop_reason", end(p, second.Get("turn_id").String()).Get("stop_reason").String(), "end_turn")
	}},
	{"cancel", "session/cancel", "the turn ends as cancelled, and what it has written is kept", func(t *try) {
		p, id := t.session(params{"thinking_level": "high"})
		turn := prompt(p, id, slow)
		p.note("thinking_delta")
		must(p.call("session/cancel", params{"session_id": id}).Get("cancelled").Bool(), "cancelled is false")
		equal("stop_reason", end(p, turn).Get("stop_reason").String(), "cancelled")
		m := p.call("session/history", params{"session_id": id}).Get("messages.1")
		equal("incomplete", m.Get("incomplete").String(), "cancelled")
		must(m.Get("content.0.text").String() != "", "nothing of the message is kept")
		must(!p.call("session/cancel", params{"session_id": id}).Get("cancelled").Bool(), "cancelled is true without a turn")
	}},
	{"two-clients", "session/attach", "a client that attaches gets the same notifications", func(t *try) {
		p, id := t.session(nil)
		other := t.open()
		other.call("session/attach", params{"session_id": id})
		turn := prompt(p, id, quick)
		_, one := follow(p, turn, nil)
		_, two := follow(other, turn, nil)
		must(len(one) > 0, "no block ended")
		for block, text := range one {
			equal("block "+block+" of the other client", two[block], text)
		}
	}},
	{"no-gap", "session/attach", "after_seq continues without a gap, on another connection", func(t *try) {
		tool := lookup("allow")
		tool["thinking_level"] = "high"
		p, id := t.session(tool)
		turn := prompt(p, id, `Look it up. [[sim: tool=lookup args={"word":"date"} thinking=60 text=20 pace=100]]`) // it waits for the other connection
		watched := map[string]string{}
		n := p.note("thinking_delta")
		watched[blockOf(n)] += n.Get("delta").String()
		p.close()
		other := t.open()
		r := other.call("session/attach", params{"session_id": id, "after_seq": n.Get("seq").Int()})
		must(r.Get("updates").Exists(), "the result has no updates: %.200s", r.Raw)
		other.notes = append(r.Get("updates").Array(), other.notes...)
		all, ended := follow(other, turn, watched)
		must(len(ended) >= 2, "%d blocks ended", len(ended))
		for block, text := range ended {
			equal("the text of block "+block, all[block], text)
		}
	}},
	{"attach-later", "session/attach", "after the turn, the result has its messages and no open turn", func(t *try) {
		p, id := t.session(nil)
		end(p, prompt(p, id, quick))
		r := t.open().call("session/attach", params{"session_id": id})
		equal("the roles", r.Get("messages.#.role").Raw, `["user","assistant"]`)
		must(!r.Get("open").Exists(), "open is there without a turn")
		equal("status", r.Get("session.status").String(), "idle")
	}},
	{"fork", "session/fork", "a fork has the messages up to its point", func(t *try) {
		p, id := t.session(nil)
		end(p, prompt(p, id, quick))
		message := p.call("session/history", params{"session_id": id}).Get("messages.0.id").String()
		fork := p.call("session/fork", params{"session_id": id, "message_id": message}).Get("session_id").String()
		must(fork != id && isULID(fork), "the fork is %q", fork)
		equal("the messages of the fork", p.call("session/history", params{"session_id": fork}).Get("messages.#.id").Raw, `["`+message+`"]`)
	}},
	{"notifications", "initialize", "a connection gets only the notifications that it listed", func(t *try) {
		p, id := t.session(nil)
		other := t.open()
		other.call("session/attach", params{"session_id": id, "notifications": []string{"turn_end"}})
		turn := prompt(p, id, quick)
		end(p, turn)
		name, n := anything(other)
		must(name == "turn_end" && n.Get("turn_id").String() == turn, "the first notification is %s", name)
	}},
}

// anything is the next notification.
func anything(p *peer) (name string, n gjson.Result) {
	if len(p.notes) == 0 {
		p.notes = append(p.notes, p.read())
	}
	m := p.notes[0]
	p.notes = p.notes[1:]
	return m.Get("method").String(), m.Get("params")
}

// follow reads a turn to its end, and gives its tools a result: what the deltas of each block add up to, after what was watched before, and
// what the ends say.
func follow(p *peer, turn string, watched map[string]string) (all, ended map[string]string) {
	if all = watched; all == nil {
		all = map[string]string{}
	}
	ended = map[string]string{}
	for {
		name, n := anything(p)
		if n.Get("turn_id").String() != turn {
			continue
		}
		switch name {
		case "thinking_delta", "message_delta":
			all[blockOf(n)] += n.Get("delta").String()
		case "thinking_end", "text_end":
			ended[blockOf(n)] = n.Get("text").String()
		case "tool_start":
			p.call("tool/result", result(n.Get("session_id").String(), n.Get("call_id").String(), "2026-03-01"))
		case "turn_end":
			return all, ended
		}
	}
}

func blockOf(n gjson.Result) string { return n.Get("message_id").String() + " " + n.Get("block").Raw }

// inOrder fails unless the names occur in this order, others between them.
func inOrder(got []string, want ...string) {
	at := 0
	for _, name := range got {
		if at < len(want) && name == want[at] {
			at++
		}
	}
	must(at == len(want), "%s does not come in its place: %s", want[min(at, len(want)-1)], strings.Join(got, " "))
}

func join(list []gjson.Result) string {
	var texts []string
	for _, m := range list {
		texts = append(texts, m.Raw)
	}
	return strings.Join(texts, " ")
}
