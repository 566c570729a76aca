package messages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/sse"
)

// reply is the state of one answer.
type reply struct {
	*exchange.Teller

	api     *API
	resp    *http.Response
	origin  provider.Origin
	next    int              // our number of the next block
	parts   []*part          // all blocks, in order of their start
	blocks  map[int64]*part  // the latest at each of the vendor's indexes
	stencil exchange.Stencil // of the delta before, which grew this part:
	grown   *part
	begun   bool // message_start came
	wholly  bool // the answer came whole: times mean nothing
	usage   usage
	stop    provider.Stop
	odd     int // things that the protocol does not foresee
}

func (a *API) newReply(resp *http.Response, call *call, t *exchange.Teller) *reply {
	account := resp.Header.Get("anthropic-organization-id")
	if account == "" {
		account = a.caller.Key.Account()
	}
	return &reply{
		api: a, resp: resp, Teller: t, blocks: map[int64]*part{},
		origin: provider.Origin{API: wireAPI, Vendor: a.vendor, Host: a.caller.Host, Account: account, Model: call.model},
		stop:   provider.Stop{Reason: provider.StopEndTurn, RequestID: a.caller.RequestID(resp.Header), Model: call.model},
	}
}

// events reads a stream to its message_stop, or to its end if a stop_reason came by then.
func (r *reply) events(ctx context.Context, body io.Reader) error {
	for ev, err := range sse.Read(body) {
		switch {
		case errors.Is(err, sse.ErrTooLong):
			return r.api.caller.NoAnswer(r.resp, err.Error())
		case err != nil && r.stop.Raw != "" && ctx.Err() == nil:
			return r.finish() // all of it came; only the connection's own end did not
		case err != nil:
			return r.api.caller.Broken(ctx, r.resp, err)
		case ev.Kind == sse.Comment, ev.Kind == sse.Part:
			err = r.Alive()
		case ev.Kind == sse.Cut && !gjson.ValidBytes(ev.Data):
			// The connection broke inside of it. What is whole counts even if its blank line did not come.
		default:
			err = r.event(ev.Data)
		}
		if err == errStopped {
			return r.finish()
		}
		if err != nil {
			return err
		}
	}
	if r.stop.Raw != "" {
		return r.finish()
	}
	return r.api.caller.Broken(ctx, r.resp, io.ErrUnexpectedEOF)
}

// errStopped says that message_stop came.
var errStopped = errors.New("message_stop")

// event takes in the data of one event. Most are the delta before with another text.
func (r *reply) event(data []byte) error {
	if piece, ok := r.stencil.Match(data); ok {
		return r.grow(r.grown, piece)
	}
	r.stencil.Clear()
	if !gjson.ValidBytes(data) {
		if string(data) == "[DONE]" { // of hosts that add the end mark of another API
			return r.oddity("end mark")
		}
		return r.api.caller.NoAnswer(r.resp, fmt.Sprintf("an event of %d bytes is not JSON", len(data)))
	}
	kind := gjson.GetBytes(data, "type").Str
	if kind != "content_block_delta" && !utf8.Valid(data) { // a delta's pieces may be cut inside a character
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	switch kind {
	case "content_block_delta":
		return r.delta(data, gjson.GetBytes(data, "index").Int(), gjson.GetBytes(data, "delta"))
	case "content_block_start":
		return r.start(gjson.GetBytes(data, "index").Int(), gjson.GetBytes(data, "content_block"))
	case "content_block_stop":
		return r.end(gjson.GetBytes(data, "index").Int())
	case "ping":
		return r.Alive()
	case "message_start":
		return r.begin(gjson.GetBytes(data, "message"))
	case "message_delta":
		r.ending(gjson.GetBytes(data, "delta"), gjson.GetBytes(data, "usage"))
		if err := r.edited(gjson.GetBytes(data, "context_management")); err != nil {
			return err
		}
		return r.Alive()
	case "message_stop":
		return errStopped
	case "message":
		return r.message(gjson.ParseBytes(data))
	case "error":
		return r.failed(data)
	default:
		if hasError(gjson.ParseBytes(data)) {
			return r.failed(data)
		}
		return r.oddity("event " + kind)
	}
}

// begin takes in what is known of the message at its start.
func (r *reply) begin(message gjson.Result) error {
	if r.begun {
		return r.oddity("second message_start")
	}
	r.begun = true
	if model := message.Get("model").Str; model != "" {
		r.origin.Model, r.stop.Model = model, model
	}
	r.usage.merge(message.Get("usage"))
	if changes := message.Get("input_transformations"); len(changes.Array()) > 0 {
		return r.transformed(changes)
	}
	return r.Alive()
}

// transformed passes on what the server did with earlier thinking (docs: preserved-thinking).
func (r *reply) transformed(changes gjson.Result) error {
	dropped, reason := 0, ""
	for _, c := range changes.Array() {
		if c.Get("type").Str == "thinking_dropped" {
			dropped++
			reason = c.Get("reason").Str
		}
	}
	if dropped == 0 {
		return r.Alive() // mismatches that were let through lose nothing
	}
	text := fmt.Sprintf("blocks of earlier thinking that the provider left out: %d (%s)", dropped, r.api.caller.Text(reason))
	return r.Emit(provider.Notice{Kind: provider.NoticeDropped, Text: text, Data: []byte(changes.Raw)})
}

// ending takes in a message_delta; there may be several, the last word counts.
func (r *reply) ending(delta, used gjson.Result) {
	r.usage.merge(used)
	reason := delta.Get("stop_reason").Str
	if reason == "" {
		return
	}
	r.stop.Raw = reason
	r.stop.Reason = stopReason(reason)
	r.stop.Detail = ""
	if r.stop.Reason == provider.StopRefusal {
		details := delta.Get("stop_details")
		r.stop.Detail = r.api.caller.Text(details.Get("category").Str)
		if why := details.Get("explanation").Str; why != "" {
			r.stop.Detail = r.api.caller.Text(r.stop.Detail + ": " + why)
		}
	}
}

func stopReason(raw string) provider.StopReason {
	switch raw {
	case "max_tokens", "model_context_window_exceeded":
		return provider.StopMaxTokens
	case "tool_use":
		return provider.StopToolUse
	case "refusal":
		return provider.StopRefusal
	case "pause_turn", "compaction": // the latter after a block that stands for all before it, and before the answer
		return provider.StopPause
	}
	return provider.StopEndTurn // end_turn, stop_sequence, and words that this build does not know
}

// hasError reports whether an object of unknown kind tells of an error.
func hasError(object gjson.Result) bool {
	e := object.Get("error")
	return e.IsObject() || e.Type == gjson.String
}

// failed is an error in the stream. It is classified as the status that it would have come with (docs: errors).
func (r *reply) failed(data []byte) error {
	e := r.api.caller.Refusal(errorStatus(gjson.GetBytes(data, "error.type").Str), r.resp.Header, data)
	if e.RequestID == "" {
		e.RequestID = r.stop.RequestID
	}
	return e
}

func errorStatus(word string) int {
	switch word {
	case "invalid_request_error":
		return 400
	case "authentication_error":
		return 401
	case "billing_error":
		return 402
	case "permission_error":
		return 403
	case "not_found_error":
		return 404
	case "conflict_error":
		return 409
	case "request_too_large":
		return 413
	case "rate_limit_error":
		return 429
	case "timeout_error":
		return 504
	case "overloaded_error":
		return 529
	}
	return 500 // api_error, and words that this build does not know
}

// finish ends blocks that their host did not, and the reply.
func (r *reply) finish() error {
	for _, p := range r.parts {
		if !p.ended {
			r.odd++
			if err := r.seal(p); err != nil {
				return err
			}
		}
	}
	raw, err := r.usage.raw()
	if err != nil {
		return r.api.caller.NoAnswer(r.resp, "usage: "+err.Error())
	}
	r.stop.Usage, r.stop.RawUsage = r.usage.usage(), raw
	r.api.caller.Oddities(r.odd, r.stop.RequestID)
	return r.Emit(r.stop)
}

// oddity counts what the protocol does not foresee and says what it was at debug level.
func (r *reply) oddity(what string) error {
	r.odd++
	r.api.caller.Unforeseen(what)
	return r.Alive()
}
