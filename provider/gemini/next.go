package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// Next decides whether the answer takes another request, and ends the reply if not.
func (r *reply) Next(ctx context.Context, err error) (json.RawMessage, error) {
	r.caughtUp()
	r.usage.hop()
	again, err := r.again(ctx, err)
	switch {
	case err != nil:
		return nil, err
	case !again:
		return nil, r.finish()
	}
	r.end = ending{}
	r.stencil.Clear() // how the last answer ended counts no more
	r.call.body.Continuation = r.hops.token
	return exchange.Encode(r.call.body)
}

// again decides after a request, which ended in err or well, whether the answer takes another one.
func (r *reply) again(ctx context.Context, err error) (bool, error) {
	h := &r.hops
	if errors.Is(err, errDiffers) {
		return false, r.Broken(ctx, errors.Join(io.ErrUnexpectedEOF, err))
	}
	if err == nil && len(h.overlap) > 0 {
		return false, r.Broken(ctx, errors.Join(io.ErrUnexpectedEOF, errDiffers))
	}
	if h.moved {
		h.idle = 0
	}
	h.idle++
	switch {
	case err == nil && r.end.reason == continues && h.token != "" && r.calls == 0 && h.idle <= reconnects:
		// The limit of one request: nothing comes twice.
		h.since, h.stuck = nil, false
	case err == nil:
		return false, nil
	case !r.resumable(ctx, err):
		return false, err
	}
	h.overlap = append([]piece(nil), h.since...)
	h.moved = false
	return true, nil
}

// resumable reports whether a broken stream can be taken up at its last checkpoint.
func (r *reply) resumable(ctx context.Context, err error) bool {
	e, ok := errors.AsType[*provider.Error](err)
	return ok && e.Kind == provider.KindTransport && e.Status/100 != 4 && e.Passing() && ctx.Err() == nil &&
		r.hops.token != "" && !r.hops.stuck && r.calls == 0 && r.hops.idle <= reconnects
}

// finish ends the block that is open, and the reply: all requests that it took are answered.
func (r *reply) finish() error {
	if err := r.seal(); err != nil {
		return err
	}
	if r.end.failed(r.said, r.calls) {
		e := r.Failure(provider.KindTransport, cmp.Or(r.end.message, "the model's answer failed, and the vendor does not say why"))
		e.Code, e.Subject, e.RequestID = r.end.reason, provider.SubjectOutput, cmp.Or(e.RequestID, r.Text(r.end.responseID))
		return e
	}
	if err := r.linkedImages(); err != nil {
		return err
	}
	if err := r.unseen(); err != nil {
		return err
	}
	s := &r.stop
	s.Cited = r.lateSources()
	s.Reason = r.end.stopReason(r.calls)
	s.Raw = cmp.Or(r.end.reason, r.end.blocked)
	if s.Raw != "STOP" && s.Raw != "MAX_TOKENS" {
		s.Detail = strings.TrimSuffix(s.Raw+": "+r.end.message, ": ")
	}
	s.Usage, s.RawUsage = r.usage.sum, r.usage.raw
	s.Usage.Searches = len(r.served.queries)
	if !leveled(r.call.req.Model) {
		s.Usage.Searches = min(s.Usage.Searches, 1) // the second generation charges for prompts
	}
	s.RequestID = cmp.Or(r.RequestID(), r.Text(r.end.responseID)) // no header names an exchange
	return r.End(*s)
}
