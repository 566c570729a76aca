package exchange

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sse"
)

// How a call runs:
//
//	request ── build ──► Call ── Post ──► 2xx ── Form ──┬─ stream: Event, Event, … Done ── Finish ──► Stop
//	    ▲                             │                   └─ one value: Value ──────────────────────► Stop
//	    └── once, with a lower limit ─┘ refused
//
// An adapter has the boxes' contents: it builds the Call and reads the events. All else happens here. A refusal of the
// limit on output is repeated once with a limit that the refusal names. Other retries are the agent's: an error says
// whether one may help. There is no deadline here either, because a model may think for minutes without a byte. The agent ends
// ctx if the events, with their Alive, stop coming.

// Call is a request in the words of a wire API.
type Call struct {
	URL      string
	Header   http.Header
	Body     json.RawMessage
	Notices  []provider.Notice // on what was left out or rewritten; emitted once, when an answer comes
	Limit    int               // on output, in tokens, as Body has it; 0: none
	MaxValue int               // bytes that an answer which comes whole may have; 0: 8 MiB, several times the longest output
	Prompt   Prompt            // where the prompt is in Body
	Framing  *Framing          // of the stream; nil: server-sent events
	Dialect
}

// Override adds a notice on something that was asked for and does not go out.
func (c *Call) Override(format string, values ...any) {
	c.Notices = append(c.Notices, provider.Notice{Kind: provider.NoticeOverride, Text: fmt.Sprintf(format, values...)})
}

// LeftOut adds a notice on parameters that were asked for and that the model does not take, if there are any.
func (c *Call) LeftOut(names []string, model string) {
	if len(names) > 0 {
		c.Override("%s left out: %s does not take it", strings.Join(names, ", "), model)
	}
}

// Dialect is how a wire API words the answer to one Call.
type Dialect interface {
	// Reply makes the reader of the answer. Its header is there, its body was not read.
	Reply(a *Answer) Reply

	// Refine completes an error of the call by what only this API knows: the kind that the vendor's words mean, and the
	// repair that may help. It must not name a repair that is in effect already.
	Refine(e *provider.Error)
}

// Reply reads one answer and emits its events. An error that a method returns ends the answer. Events that the API does not
// foresee are counted as [Answer.Deviation] and skipped.
type Reply interface {
	// Event takes in an event of a stream. name is that of its field "event", data is valid until Event returns. Done
	// says that the stream is over, whatever follows.
	Event(name string, data []byte) error

	// Over reports whether the end of the body is the end of the reply, without a terminal event. If it is false, the
	// answer has broken off.
	Over() bool

	// Finish ends the reply after Done, or after a body that was Over: it ends what is open and emits the Stop.
	Finish() error

	// Value takes in an answer that came as one JSON value. With Done, Finish ends the reply; with nil it has ended.
	// io.ErrUnexpectedEOF says that the answer has broken off.
	Value(root gjson.Result) error
}

// LineReply is a Reply of an API whose stream has a JSON object on each line. An answer that is one object is such a stream,
// too, and its Value is not called.
type LineReply interface {
	Reply

	// Known reports whether a line is JSON for certain. The line becomes the next event, without a check.
	Known(line []byte) bool
}

// Continuer is a Reply that may take several requests.
type Continuer interface {
	// Next is called after each request. err is what it ended with, nil after Finish or Value. Next returns the body of
	// another request, or nil and the error that the answer ends with.
	Next(ctx context.Context, err error) (json.RawMessage, error)
}

// ErrDone is what [Reply.Event] returns for the terminal event of a stream.
var ErrDone = errors.New("the terminal event came")

const maxValue = 8 << 20

// Stream makes the call that build writes for req, and yields the events of the answer. It keeps the contract of
// [provider.Provider]. build makes no call. It may be called a second time, with a copy of req that asks for less output.
func (c *Caller) Stream(ctx context.Context, req *provider.Request, build func(*provider.Request) (*Call, error)) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		a := &Answer{caller: c, req: req, yield: yield}
		if err := a.run(ctx, build); err != nil && err != ErrLeft {
			yield(nil, overflow(req, err))
		}
	}
}

func (a *Answer) run(ctx context.Context, build func(*provider.Request) (*Call, error)) error {
	c := a.caller
	if err := c.NoKey(); err != nil {
		return err
	}
	call, err := c.built(build, a.req)
	if err != nil {
		return c.unbuilt(err)
	}
	a.sent = call.Outline
	err = a.take(ctx, call)
	if smaller := c.Lower(err, a.req, call.Limit); smaller != nil && !a.came {
		first := call.Limit
		if call, err = c.built(build, smaller); err != nil {
			return c.unbuilt(err)
		}
		call.Notices = append(call.Notices, c.lowered(a.req.Model.ID, first, call.Limit))
		a.sent = call.Outline
		err = a.take(ctx, call)
	}
	if e, ok := err.(*provider.Error); ok {
		call.Refine(e)
	}
	return err
}

// built is what build writes for req, with the operator's additions. They come last: first those for the provider, then those for the
// model. A notice names what they replaced, since the decision on thinking and the report of options do not know of it.
func (c *Caller) built(build func(*provider.Request) (*Call, error), req *provider.Request) (*Call, error) {
	call, err := build(req)
	if err != nil {
		return nil, err
	}
	for _, extra := range []json.RawMessage{c.Extra, req.Model.ExtraBody} {
		if extra == nil {
			continue
		}
		body, replaced, err := Merge(call.Body, extra)
		if err != nil {
			return nil, err
		}
		if call.Body = body; len(replaced) > 0 {
			call.Override("extra_body replaced %s", strings.Join(replaced, ", "))
		}
	}
	return call, nil
}

// Outline is what build writes for req, in pieces.
func (c *Caller) Outline(req *provider.Request, build func(*provider.Request) (*Call, error)) (provider.Outline, error) {
	call, err := c.built(build, req)
	if err != nil {
		return provider.Outline{}, c.unbuilt(err)
	}
	return call.Outline(), nil
}

// Outline is the prompt of the call in pieces.
func (c *Call) Outline() provider.Outline { return c.Prompt.outline(c.Body) }

func (c *Caller) unbuilt(err error) *provider.Error {
	return &provider.Error{API: c.API, Provider: c.Provider, Kind: provider.KindBadRequest, Err: err}
}

// take makes the requests of one answer and reads them.
func (a *Answer) take(ctx context.Context, call *Call) error {
	var reply Reply
	for {
		err := a.request(ctx, call, &reply)
		if left := a.flush(); left != nil {
			return left
		}
		next, more := reply.(Continuer)
		if !more {
			return err
		}
		body, err := next.Next(ctx, err)
		if body == nil {
			return err
		}
		call.Body = body
	}
}

// request makes one request and reads its answer, by a new reply if there is none.
func (a *Answer) request(ctx context.Context, call *Call, reply *Reply) error {
	a.resp = nil
	resp, err := a.caller.Post(ctx, call.URL, call.Header.Clone(), call.Body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	a.resp, a.came = resp, true
	if err := a.Alive(); err != nil {
		return err
	}
	for _, n := range call.Notices {
		if err := a.Emit(n); err != nil {
			return err
		}
	}
	call.Notices = nil
	for _, l := range a.caller.Quota.News() {
		if err := a.Emit(provider.Notice{Kind: provider.NoticeLimit, Text: a.caller.Provider + ": " + l.Words()}); err != nil {
			return err
		}
	}
	if *reply == nil {
		*reply = call.Reply(a)
	}
	resp.Body = &timed{ReadCloser: resp.Body, a: a, ctx: ctx, much: true}
	if lines, ok := (*reply).(LineReply); ok {
		form, body, err := a.caller.Form(ctx, resp, "application/x-ndjson", a.Alive)
		if err != nil {
			return err
		}
		a.Whole = form == Whole
		return a.events(ctx, lines, sse.Lines(body, lines.Known))
	}
	read := sse.Read
	form, body, err := a.caller.form(ctx, resp, call.Framing, a.Alive)
	if call.Framing != nil {
		read = call.Framing.Read
	}
	switch {
	case err != nil:
		return err
	case form == Streamed:
		return a.events(ctx, *reply, read(body))
	}
	value, err := a.caller.Value(ctx, resp, body, cmp.Or(call.MaxValue, maxValue), a.Alive)
	if err != nil {
		return err
	}
	switch err := (*reply).Value(gjson.ParseBytes(value)); err {
	case ErrDone:
		return (*reply).Finish()
	case io.ErrUnexpectedEOF:
		return a.Broken(ctx, err)
	default:
		return err
	}
}

// events reads a stream to its terminal event, or to the end of the body. An event that the end of the body cut off counts if it is
// JSON. After the end of a reply that was Over, an error of the connection says nothing about the reply.
func (a *Answer) events(ctx context.Context, r Reply, list iter.Seq2[sse.Event, error]) error {
	came := false
	for ev, err := range list {
		failed, own := errors.AsType[*Failed](err)
		switch {
		case errors.Is(err, ErrLeft): // while growth was emitted before a read
			return ErrLeft
		case own:
			return a.Refusal(failed.Status, failed.Body)
		case errors.Is(err, sse.ErrTooLong):
			return a.NoAnswer(err.Error())
		case err != nil && r.Over() && ctx.Err() == nil:
			return r.Finish()
		case err != nil:
			return a.Broken(ctx, err)
		case ev.Kind == sse.Comment, ev.Kind == sse.Part:
			err = a.Alive()
		case ev.Kind == sse.Cut && !gjson.ValidBytes(ev.Data) && string(ev.Data) != "[DONE]":
			came = true
		default:
			came = true
			err = r.Event(ev.Name, ev.Data)
		}
		if err == ErrDone {
			return r.Finish()
		}
		if err != nil {
			return err
		}
	}
	switch {
	case r.Over():
		return r.Finish()
	case a.Whole && !came:
		return a.NoAnswer("the answer says that it is JSON, and is none")
	}
	return a.Broken(ctx, io.ErrUnexpectedEOF)
}
