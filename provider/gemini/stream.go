package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sse"
)

// reply is the state of one answer, over all requests that it takes.
type reply struct {
	*provider.Teller

	api    *API
	call   *call
	resp   *http.Response // of the request at hand
	origin provider.Origin
	next   int  // our number of the next block
	run    *run // the parts that a block is being made of; nil: none
	calls  int
	told   bool // the request's notices were
	wholly bool // the answer came whole: times mean nothing
	shown  bool // a block of any kind came

	hops  hops
	end   ending
	usage usage
	stop  provider.Stop
	odd   int // things that the protocol does not foresee
}

func (a *API) newReply(call *call, t *provider.Teller) *reply {
	return &reply{
		api: a, call: call, Teller: t,
		origin: provider.Origin{API: wireAPI, Vendor: a.vendor, Host: a.host, Account: a.caller.Key.Account(), Model: call.model},
		stop:   provider.Stop{Model: call.model},
	}
}

// hop makes one request and reads its answer to the end.
func (r *reply) hop(ctx context.Context) error {
	body, err := provider.Encode(r.call.body)
	if err != nil {
		return err
	}
	r.end = ending{}
	r.resp = nil
	resp, err := r.api.caller.Post(ctx, r.api.address(r.call.model), r.call.header.Clone(), body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	r.resp = resp
	r.stop.RequestID = r.api.caller.RequestID(resp.Header)
	if err := r.begin(); err != nil {
		return err
	}
	form, in, err := r.api.caller.Form(ctx, resp, "text/event-stream")
	switch {
	case err != nil:
		return err
	case form == provider.Whole:
		err = r.whole(ctx, in)
	default:
		err = r.events(ctx, in)
	}
	r.usage.hop()
	return err
}

// begin tells that an answer came, and the notices on the request, once.
func (r *reply) begin() error {
	if r.told {
		return r.Alive()
	}
	r.told = true
	if err := r.Emit(provider.Alive{}); err != nil {
		return err
	}
	for _, n := range r.call.notices {
		if err := r.Emit(n); err != nil {
			return err
		}
	}
	return nil
}

// events reads a stream to the end of its body. There is no terminal event: it is whole if a finish reason came.
func (r *reply) events(ctx context.Context, body io.Reader) error {
	for ev, err := range sse.Read(body) {
		switch {
		case errors.Is(err, sse.ErrTooLong):
			return r.api.caller.NoAnswer(r.resp, err.Error())
		case err != nil && r.end.over() && ctx.Err() == nil:
			return nil // all of it came; only the connection's own end did not
		case err != nil:
			return r.api.caller.Broken(ctx, r.resp, err)
		case ev.Kind == sse.Comment, ev.Kind == sse.Part:
			err = r.Alive()
		case ev.Kind == sse.Cut && !gjson.ValidBytes(ev.Data):
			// The connection broke inside of it. What is whole counts even if its blank line did not come.
		default:
			err = r.chunk(ev.Data)
		}
		if err != nil {
			return err
		}
	}
	if !r.end.over() {
		return r.api.caller.Broken(ctx, r.resp, io.ErrUnexpectedEOF)
	}
	return nil
}

// chunk takes in one GenerateContentResponse, or an error in its place.
func (r *reply) chunk(data []byte) error {
	if !gjson.ValidBytes(data) {
		if string(data) == "[DONE]" { // of hosts that add the end mark of another API
			return r.oddity("end mark")
		}
		return r.api.caller.NoAnswer(r.resp, fmt.Sprintf("an event of %d bytes is not JSON", len(data)))
	}
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	root := gjson.ParseBytes(data)
	if root.IsArray() {
		root = root.Get("0")
	}
	var candidate, feedback gjson.Result
	known := false
	root.ForEach(func(name, value gjson.Result) bool {
		switch name.Str {
		case "candidates":
			candidate = first(value)
		case "usageMetadata":
			r.usage.report(value)
		case "promptFeedback":
			feedback = value
		case "modelVersion":
			if value.Str != "" {
				r.origin.Model, r.stop.Model = value.Str, value.Str
			}
		case "responseId":
			r.end.responseID = value.Str
		case "createTime":
		default:
			return true
		}
		known = true
		return true
	})
	if e := root.Get("error"); e.IsObject() || e.Type == gjson.String {
		return r.api.failed(r.resp, data)
	}
	if !known {
		return r.oddity("a chunk of no known member")
	}
	if word := feedback.Get("blockReason").Str; word != "" {
		r.end.block(word, r.api.caller.Text(feedback.Get("blockReasonMessage").Str))
	}
	if err := r.candidate(candidate); err != nil {
		return err
	}
	return r.Alive()
}

// first is the candidate that is ours: one is asked for, more are another's.
func first(list gjson.Result) (found gjson.Result) {
	list.ForEach(func(_, c gjson.Result) bool {
		if c.Get("index").Int() == 0 {
			found = c
		}
		return !found.Exists()
	})
	return found
}

func (r *reply) candidate(c gjson.Result) (err error) {
	var parts, token gjson.Result
	c.ForEach(func(name, value gjson.Result) bool {
		switch name.Str {
		case "content":
			parts = value.Get("parts")
		case "finishReason":
			if value.Str != "" && value.Str != "FINISH_REASON_UNSPECIFIED" {
				r.end.reason = r.api.caller.Text(value.Str)
			}
		case "finishMessage":
			r.end.message = r.api.caller.Text(value.Str)
		case "continuationToken":
			token = value
		}
		return true
	})
	parts.ForEach(func(_, p gjson.Result) bool {
		err = r.part(p)
		return err == nil
	})
	if err == nil && token.Str != "" {
		r.hops.checkpoint(token.Str)
	}
	return err
}

// part takes in one part: a piece of the run that is open, the beginning of another, or a block of its own.
func (r *reply) part(p gjson.Result) error {
	text, call := p.Get("text"), p.Get("functionCall")
	thought := p.Get("thought").Bool()
	switch {
	case !p.IsObject():
		return r.oddity("a part that is no object")
	case call.IsObject() && !thought:
		return r.toolCall(p, call)
	case text.Type == gjson.String && thought:
		return r.text(provider.KindThinking, p, text.Str)
	case text.Type == gjson.String:
		return r.text(provider.KindText, p, text.Str)
	}
	if err := r.hops.only("a part beside text"); err != nil {
		return err
	}
	r.hops.fixed()
	if err := r.seal(); err != nil {
		return err
	}
	return r.opaque([]json.RawMessage{json.RawMessage(p.Raw)})
}

// failed is an error in the place of an answer or in the middle of one.
func (a *API) failed(resp *http.Response, data []byte) error {
	status := int(gjson.GetBytes(data, "error.code").Int())
	if list := gjson.GetBytes(data, "0.error.code"); list.Exists() {
		status = int(list.Int())
	}
	if status < 400 || status > 599 {
		status = http.StatusInternalServerError
	}
	return a.caller.Refusal(status, resp.Header, data)
}

// oddity counts what the protocol does not foresee and says what it was at debug level.
func (r *reply) oddity(what string) error {
	r.odd++
	r.api.log.Debug("not foreseen", "provider", r.api.caller.Provider, "what", r.api.caller.Text(what))
	return r.Alive()
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
