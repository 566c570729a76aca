package conformance

const nowhere = "01KAK2V7M0Q2X4T6V8Y0A2C4E6" // a session that is not there

// sessionChecks are about sessions without turns.
var sessionChecks = []Check{
	{"session-new", "session/new", "the result has a ULID, the model and the decision on thinking", func(t *try) {
		p := t.open()
		r := t.create(p, params{"thinking_level": "high"})
		must(isULID(r.Get("session_id").String()), "session_id is %s", r.Get("session_id").Raw)
		equal("reasoning.requested_effort", r.Get("reasoning.requested_effort").String(), "high")
		must(r.Get("reasoning.effective_effort").String() != "" && r.Get("reasoning.reason").String() != "", "reasoning lacks the level in effect: %.200s", r.Get("reasoning").Raw)
	}},
	{"unknown-level", "thinking/set", "an unknown level gets 1010 with the levels of the model", func(t *try) {
		data := t.open().refused("session/new", params{"model_id": t.model, "thinking_level": "extreme"}, 1010)
		must(len(data.Get("thinking_levels").Array()) > 0, "data has no thinking_levels: %.200s", data.Raw)
	}},
	{"unknown-model", "Errors", "an unknown model gets 1003", func(t *try) {
		t.open().refused("session/new", params{"model_id": "no/such"}, 1003)
	}},
	{"session-once", "Idempotency", "a repeated session/new with the same client_id returns the same session, also on another connection", func(t *try) {
		id := params{"client_id": "once " + t.unique()}
		first := t.create(t.open(), id).Get("session_id").String()
		equal("session_id", t.create(t.open(), id).Get("session_id").String(), first)
	}},
	{"client-id-other-params", "Idempotency", "the same client_id with other params gets -32602", func(t *try) {
		p, key := t.open(), "other "+t.unique()
		t.create(p, params{"client_id": key})
		p.refused("session/new", params{"model_id": t.model, "client_id": key, "title": "Other"}, -32602)
	}},
	{"not-found", "Errors", "a session that is not there gets 1001", func(t *try) {
		t.open().refused("session/state", params{"session_id": nowhere}, 1001)
	}},
	{"session-list", "session/list", "the last changed session is first", func(t *try) {
		p, _ := t.session(nil)
		_, id := t.session(params{"title": "Conformance"})
		equal("the first session", p.call("session/list", params{"limit": 1}).Get("sessions.0.session_id").String(), id)
	}},
	{"session-update", "session/update", "other clients of the session get session_update", func(t *try) {
		p, id := t.session(nil)
		other := t.open()
		other.call("session/attach", params{"session_id": id})
		p.call("session/update", params{"session_id": id, "title": "Dates"})
		equal("title", other.note("session_update").Get("title").String(), "Dates")
	}},
	{"session-delete", "session/delete", "its clients learn it, and the session is not found any more", func(t *try) {
		p, id := t.session(nil)
		p.call("session/delete", params{"session_id": id})
		must(p.note("session_update").Get("deleted").Bool(), "session_update has no deleted")
		p.refused("session/state", params{"session_id": id}, 1001)
	}},
	{"detach", "session/detach", "after it, no notifications follow", func(t *try) {
		p, id := t.session(nil)
		other := t.open()
		other.call("session/attach", params{"session_id": id})
		other.call("session/detach", params{"session_id": id})
		turn := prompt(p, id, quick)
		end(p, turn)
		other.call("session/state", params{"session_id": id})
		must(len(other.notes) == 0, "a notification came: %.200s", join(other.notes))
	}},
	{"append", "session/append", "an added message is stored without a model call", func(t *try) {
		p, id := t.session(nil)
		equal("disposition", p.call("session/append", params{"session_id": id, "text": "A fact."}).Get("disposition").String(), "appended")
		h := p.call("session/history", params{"session_id": id})
		equal("the messages", h.Get("messages.#").Int(), 1)
		equal("the text", h.Get("messages.0.content.0.text").String(), "A fact.")
	}},
}
