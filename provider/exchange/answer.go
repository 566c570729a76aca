package exchange

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/refusal"
)

// Answer is the answer to one call, for the adapter that reads it: where the answer came from, and where the events go. It is for
// one goroutine.
type Answer struct {
	caller *Caller
	req    *provider.Request
	yield  func(provider.Event, error) bool
	resp   *http.Response  // the latest; nil: the latest request has none
	came   bool            // any answer with a status of 2xx
	begun  bool            // a block has begun
	named  bool            // a Served was emitted, and nothing is new since
	served provider.Served // the latest, made of these:
	model  string
	host   string
	shown  bool      // an event was emitted since the body was last read
	last   time.Time // of the last event before that
	sent   func() provider.Outline
	grown  growing

	// Whole says that the answer came as one JSON value. Then it says nothing about durations.
	Whole bool
	// Deviations counts what the API does not foresee and the adapter put up with.
	Deviations int
}

// ErrLeft says that the loop over the events was left. An adapter returns it and emits nothing more.
var ErrLeft = errors.New("the loop was left")

// growing is growth of a block that was not emitted yet.
type growing struct {
	index int
	first string
	more  []byte // first and what followed it; empty: nothing did
	size  int    // 0: there is nothing
}

// Delta emits growth of a block. If the request says so, growth that came in one read is joined: each piece alone would cost several
// times as much on its way as the reading. It is emitted before the next read and before any other event, so nothing waits for more.
// The error is that of Emit.
func (a *Answer) Delta(index int, text string) error {
	if !a.req.Joins {
		return a.Emit(provider.Delta{Index: index, Text: text})
	}
	a.shown = true
	g := &a.grown
	if g.size > 0 && (g.index != index || g.size+len(text) > provider.JoinMost) {
		if err := a.flush(); err != nil {
			return err
		}
	}
	switch {
	case g.size == 0:
		g.index, g.first = index, text
	case len(g.more) == 0:
		g.more = append(append(g.more, g.first...), text...)
	default:
		g.more = append(g.more, text...)
	}
	g.size += len(text)
	return nil
}

// flush emits the growth that was not emitted yet. The error is ErrLeft.
func (a *Answer) flush() error {
	g := &a.grown
	if g.size == 0 {
		return nil
	}
	text := g.first
	if len(g.more) > 0 {
		text = string(g.more)
	}
	g.first, g.more, g.size = "", g.more[:0], 0
	if !a.yield(provider.Delta{Index: g.index, Text: text}, nil) {
		return ErrLeft
	}
	return nil
}

// Emit yields an event. If the error is not nil, the adapter returns it: it is ErrLeft, or the error that takes the place
// of a Stop without any block if the conversation filled the model's window.
func (a *Answer) Emit(ev provider.Event) error {
	if err := a.flush(); err != nil {
		return err
	}
	a.shown = true
	switch ev := ev.(type) {
	case provider.Begin:
		a.begun = true
		if err := a.serves(); err != nil {
			return err
		}
	case provider.Stop:
		if !a.begun {
			if err := silent(a.req, ev); err != nil {
				return err
			}
			if err := a.serves(); err != nil {
				return err
			}
		}
		if a.req.Sent != nil {
			a.req.Sent(a.sent())
		}
	}
	if !a.yield(ev, nil) {
		return ErrLeft
	}
	return nil
}

// maxName bounds the names in a [provider.Served], in bytes: they are stored and shown.
const maxName = 200

// Served reports the model that the answer names, and who runs it. Empty names say nothing and leave those that came
// before. It emits only what is new, so an adapter may call it for each event. The error is ErrLeft.
func (a *Answer) Served(model, host string) error {
	if model == a.model && host == a.host {
		return nil
	}
	a.model, a.host = model, host
	now := provider.Served{Model: cmp.Or(a.name(model), a.served.Model), Host: cmp.Or(a.name(host), a.served.Host)}
	if now == a.served {
		return nil
	}
	a.served = now
	if now.Model == "" && !a.named {
		return nil // the first block emits it
	}
	a.named = false
	return a.serves()
}

// serves emits what is known of the model that answers, once.
func (a *Answer) serves() error {
	if a.named {
		return nil
	}
	a.named = true
	return a.Emit(provider.Served{Model: a.served.Model, Host: cmp.Or(a.served.Host, a.caller.Host)})
}

func (a *Answer) name(foreign string) string {
	return strings.TrimSuffix(refusal.Clean(a.caller.scrub(foreign), maxName-len("…")), "…")
}

// Alive reports that something came, at most once a second. The error is ErrLeft.
func (a *Answer) Alive() error {
	if !a.shown && time.Since(a.last) >= time.Second {
		return a.Emit(provider.Alive{})
	}
	return nil
}

// NotStreamed notes that the answer came whole, and reports it.
func (a *Answer) NotStreamed() error {
	a.Whole = true
	return a.Emit(provider.Notice{Kind: provider.NoticeNonStreaming, Text: "the answer came whole, not as a stream"})
}

// Deviation counts something that the API does not foresee, and logs it at debug level. The error is that of Alive.
func (a *Answer) Deviation(what string) error {
	a.Deviations++
	a.caller.Log.Debug("not foreseen", "provider", a.caller.Provider, "what", a.Text(what))
	return a.Alive()
}

// Dropped emits a notice on blocks of earlier thinking that the provider left out. changes are its own words on them.
func (a *Answer) Dropped(blocks int, reason string, changes gjson.Result) error {
	text := fmt.Sprintf("blocks of earlier thinking that the provider left out: %d (%s)", blocks, a.Text(reason))
	return a.Emit(provider.Notice{Kind: provider.NoticeDropped, Text: text, Data: []byte(changes.Raw)})
}

// End emits the Stop. It logs how many deviations there were.
func (a *Answer) End(s provider.Stop) error {
	if a.Deviations > 0 {
		a.caller.Log.Debug("an answer with deviations", "provider", a.caller.Provider, "count", a.Deviations, "request_id", s.RequestID)
	}
	return a.Emit(s)
}

// Stop is the beginning of the reply's Stop.
func (a *Answer) Stop(model string) provider.Stop {
	return provider.Stop{Reason: provider.StopEndTurn, RequestID: a.RequestID(), Model: model}
}

// Origin is that of the blocks of the answer.
func (a *Answer) Origin(model string) provider.Origin { return a.caller.Origin(model) }

// Header is that of the latest answer.
func (a *Answer) Header() http.Header { return a.resp.Header }

// RequestID is the vendor's name for the exchange; empty: it gave none.
func (a *Answer) RequestID() string { return a.caller.RequestID(a.resp.Header) }

// Text is a foreign text without secrets, as it may be shown and logged.
func (a *Answer) Text(foreign string) string { return a.caller.Text(foreign) }

// NoAnswer is the error for an answer that makes no sense. The same request would fare no better.
func (a *Answer) NoAnswer(text string) *provider.Error { return a.caller.NoAnswer(a.resp, text) }

// Failure is an error of the given kind about an answer that the vendor itself gave up.
func (a *Answer) Failure(kind provider.Kind, text string) *provider.Error {
	return &provider.Error{API: a.caller.API, Provider: a.caller.Provider, Kind: kind, Status: a.resp.StatusCode, RequestID: a.RequestID(), Message: text}
}

// Broken is the error for an answer that broke off, or the cause of ctx if that ended it.
func (a *Answer) Broken(ctx context.Context, err error) error {
	return a.caller.Broken(ctx, a.resp, err)
}

// Refusal is the error that an answer of 2xx has in it. status is what it would have come with.
func (a *Answer) Refusal(status int, body []byte) *provider.Error {
	return a.caller.Refusal(status, a.resp.Header, body)
}

// timed is a body that makes a look at the clock before each read. All that was emitted since the previous read was emitted by
// then, because only reading takes time. So a read that brings a hundred events costs one look. It also keeps the pace of the request.
type timed struct {
	io.ReadCloser
	a    *Answer
	ctx  context.Context
	much bool // the previous read brought so much that the next one is not to wait; also before the first
}

// enough is how many bytes a read brings from a vendor that is faster than any pace: a dozen events.
const enough = 2 << 10

func (r *timed) Read(p []byte) (int, error) {
	if err := r.a.flush(); err != nil {
		return 0, err
	}
	if r.a.shown {
		r.a.shown, r.a.last = false, time.Now()
	}
	if !r.much {
		r.collect()
	}
	n, err := r.ReadCloser.Read(p)
	r.much = n >= enough || n == len(p)
	return n, err
}

// collect waits for as long as the pace of the request says, so that the next read brings several events.
func (r *timed) collect() {
	if r.a.req.Pace == nil {
		return
	}
	wait := r.a.req.Pace()
	if wait <= 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.ctx.Done():
	}
}
