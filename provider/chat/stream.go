package chat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/refusal"
)

// Over reports whether a finish_reason came, after which some hosts leave [DONE] out. With other hosts one may stand at the
// end of an answer that was cut.
func (r *reply) Over() bool { return r.finished && r.form.EOFWithoutDone != "error" }

// Finish ends a reply at its [DONE]. Without a finish reason the answer was cut off: gateways end a stream in good order when
// the host behind them is gone. Complete calls still count as an answer, since some hosts forget the reason
// there (OpenRouterTeam/ai-sdk-provider 420).
func (r *reply) Finish() error {
	if r.finished || r.form.NoFinishReason || r.calledWhole() {
		return r.finish()
	}
	return r.failure(provider.KindTransport, "the host ended the answer without a finish reason, so it was cut off")
}

// calledWhole reports whether there are calls, and all of each.
func (r *reply) calledWhole() bool {
	for _, c := range r.calls {
		if c.name == "" || !complete(c.text.String()) {
			return false
		}
	}
	return len(r.calls) > 0
}

// Event takes in one event. Most are the chunk before with another text.
func (r *reply) Event(name string, data []byte) error {
	data = bytes.TrimSpace(data)
	if piece, ok := r.stencil.Match(data); ok && piece.Str != "" && name != "error" {
		return r.again(piece)
	}
	r.stencil.Clear()
	switch {
	case string(data) == "[DONE]":
		return exchange.ErrDone
	case len(data) == 0:
		return r.Alive()
	case !gjson.ValidBytes(data):
		return r.NoAnswer(fmt.Sprintf("an event of %d bytes is not JSON", len(data)))
	}
	root := gjson.ParseBytes(data)
	if root.IsArray() { // Google's compatible endpoint puts its errors into a list
		root = root.Get("0")
	}
	if name == "error" || r.mayFail(data) && r.failing(root) {
		return r.failed(root)
	}
	err := r.chunk(root, "delta")
	if err == nil {
		r.likewise(data, root)
	}
	return err
}

// chunk takes in a chunk, or a whole answer, whose choices have their words under the given name.
func (r *reply) chunk(root gjson.Result, words string) error {
	if !root.IsObject() {
		return r.Deviation("an event that is no object")
	}
	var choices, model, host gjson.Result
	pages := false
	root.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "model":
			if model = value; value.Str != "" {
				r.origin.Model, r.stop.Model = exchange.Valid(value.Str), exchange.Valid(value.Str)
			}
		case "provider": // OpenRouter's name for who runs the model
			host = value
		case "id":
			if r.stop.RequestID == "" {
				r.stop.RequestID = exchange.Valid(value.Str)
			}
		case "choices":
			choices = value
		case "citations", "search_results":
			pages = true
		case "prompt_filter_results":
			r.filters = cmp.Or(refusal.Filters(value), r.filters)
		}
		return true
	})
	if err := r.Served(model.Str, host.Str); err != nil {
		return err
	}
	if pages {
		r.searched(root)
	}
	if slices.ContainsFunc(r.bills, func(name string) bool { return strings.Contains(root.Raw, name) }) {
		r.count(root)
	}
	var err error
	choices.ForEach(func(_, choice gjson.Result) bool {
		// Copilot parts one answer into several choices, so all of them are one here: more than one is never asked for.
		err = r.choice(choice, words)
		return err == nil
	})
	if err != nil {
		return err
	}
	return r.Alive()
}

// count takes in a usage: each one is of all so far, so the last one counts.
func (r *reply) count(root gjson.Result) {
	if tier := root.Get("service_tier"); tier.Type == gjson.String {
		r.tier = r.Text(tier.Str)
	}
	for _, path := range r.form.UsagePaths {
		if u := root.Get(path); u.IsObject() {
			r.usage = u
			return
		}
	}
}

func (r *reply) choice(choice gjson.Result, words string) error {
	var said, text, reason gjson.Result
	choice.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case words:
			said = value
		case "text":
			text = value
		case "finish_reason":
			reason = value
		case "content_filter_results": // of Azure
			r.filters = cmp.Or(refusal.Filters(value), r.filters)
		}
		return true
	})
	var err error
	if said.IsObject() {
		err = r.message(said)
	} else if text.Type == gjson.String { // of hosts that mix in the older API's form
		err = r.text(text)
	}
	if reason.Type == gjson.String {
		r.finished = true
		if reason.Str != "" {
			r.stop.Raw = exchange.Valid(reason.Str)
		}
	}
	return err
}

// message takes in what one delta says, or a whole message: thinking, text and calls, in the order in which they are
// meant where one chunk has several of them.
func (r *reply) message(m gjson.Result) error {
	if err := r.thinking(m); err != nil {
		return err
	}
	if err := r.opaque(m); err != nil {
		return err
	}
	if content := m.Get("content"); content.IsArray() {
		if err := r.array(content); err != nil {
			return err
		}
	} else if content.Type == gjson.String {
		if err := r.text(content); err != nil {
			return err
		}
	}
	if refusal := m.Get("refusal"); refusal.Type == gjson.String && refusal.Str != "" {
		r.stop.Detail = "the model refused"
		if err := r.text(refusal); err != nil {
			return err
		}
	}
	r.cited(m)
	if err := r.images(m); err != nil {
		return err
	}
	var err error
	m.Get("tool_calls").ForEach(func(_, call gjson.Result) bool {
		err = r.toolCall(call)
		return err == nil
	})
	return err
}

// finish ends what is open, and the reply.
func (r *reply) finish() error {
	if err := r.flush(); err != nil {
		return err
	}
	if r.learned && r.split.Unclosed() && r.stop.Raw != "length" {
		r.api.opensNot(r.call.model)
	}
	if err := r.skippedThinking(); err != nil {
		return err
	}
	if err := r.closeOpen(); err != nil {
		return err
	}
	if err := r.linkedImages(); err != nil {
		return err
	}
	if err := r.closeOpen(); err != nil {
		return err
	}
	for _, c := range r.calls {
		if err := r.endCall(c); err != nil {
			return err
		}
	}
	switch reason, ok := stopReason(r.stop.Raw, len(r.calls) > 0); {
	case !ok:
		return r.brokeOff()
	case r.stop.Detail != "" && reason == provider.StopEndTurn:
		r.stop.Reason = provider.StopRefusal
	case reason == provider.StopRefusal && r.filters != "":
		r.stop.Reason, r.stop.Detail = reason, "content filter: "+r.Text(r.filters)
	default:
		r.stop.Reason = reason
	}
	if len(r.details.list) == 0 && r.details.came {
		r.late[r.form.DetailsField] = json.RawMessage("[]")
	} else if r.details.late {
		r.late[r.form.DetailsField] = r.details.raw()
	}
	if len(r.late) > 0 {
		data, err := exchange.Encode(r.late)
		if err != nil {
			return r.NoAnswer(err.Error())
		}
		r.stop.State = provider.State{Origin: r.origin, Data: data}
	}
	r.stop.Cited = r.lateSources()
	r.stop.Usage = r.api.dialect.usage(r.usage)
	r.stop.Usage.Tier = r.tier
	if r.usage.Exists() {
		r.stop.RawUsage = json.RawMessage(exchange.Valid(r.usage.Raw))
	}
	return r.End(r.stop)
}

// brokeOff is the error for a reply that the host itself broke off: it is like a connection that broke.
func (r *reply) brokeOff() error {
	kind, subject := provider.KindTransport, provider.SubjectUnknown
	if malformed(r.stop.Raw) {
		subject = provider.SubjectOutput
	}
	if r.stop.Raw == "insufficient_system_resource" {
		kind = provider.KindOverloaded
	}
	e := r.failure(kind, "the host broke the answer off")
	e.Code, e.Subject = r.Text(r.stop.Raw), subject
	return e
}

// stopReason says what a finish_reason means; ok is false for the hosts' words for a failure. Calls mean that they are
// to be run, whatever the word: some hosts say stop.
func stopReason(raw string, calls bool) (reason provider.StopReason, ok bool) {
	switch {
	case !calls && malformed(raw):
		return "", false
	case slices.Contains([]string{"length", "max_tokens", "model_length"}, raw):
		return provider.StopMaxTokens, true
	case slices.Contains([]string{"content_filter", "sensitive", "refusal"}, raw):
		return provider.StopRefusal, true
	case slices.Contains([]string{"insufficient_system_resource", "error", "network_error", "abort"}, raw):
		return "", false
	case calls || raw == "tool_calls" || raw == "function_call":
		return provider.StopToolUse, true
	}
	return provider.StopEndTurn, true // stop, eos, nothing, and words that this build does not know
}

// malformed reports whether a finish_reason has one of Gemini's words for an answer that failed. Its compatible endpoint
// and others pass these on, with more around them.
func malformed(raw string) bool {
	return slices.ContainsFunc([]string{"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"}, func(word string) bool {
		return strings.Contains(strings.ToUpper(raw), word)
	})
}

// Value takes in an answer that is one JSON value: a completion, an error, or a list of chunks.
func (r *reply) Value(root gjson.Result) error {
	list := []gjson.Result{root}
	if root.IsArray() { // Google's compatible endpoint puts its errors into a list
		list = root.Array()
	}
	answered := false
	for _, v := range list {
		if r.failing(v) {
			return r.failed(v)
		}
		answered = answered || v.Get("choices.0").IsObject()
	}
	if !answered {
		return r.NoAnswer("the answer is JSON, but no completion")
	}
	if err := r.NotStreamed(); err != nil {
		return err
	}
	for _, v := range list {
		words := "message"
		if v.Get("choices.0.delta").IsObject() && !v.Get("choices.0.message").IsObject() {
			words, r.Whole = "delta", false
		}
		if err := r.chunk(v, words); err != nil {
			return err
		}
	}
	return r.finish()
}
