package summary

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
)

// Call is one call for a summary. Run is for the goroutine of the call, and Used for any.
type Call struct {
	Model    provider.Model
	Stream   Stream // makes the call
	Decision provider.Decision
	Passage  transcript.Passage
	Keep     provider.KeepAlive // of the session
	Now      func() time.Time   // the clock, for prices that depend on the date

	// Served decides on the model that answers: the row whose price counts, or an error that ends the call. It is called on
	// the goroutine of Run. Nil: Model counts.
	Served func(provider.Served) (provider.Model, error)

	heard atomic.Int64 // characters that came, and one more from the first sign of an answer
}

// Stream sends a request: see [provider.Provider].
type Stream func(context.Context, *provider.Request) iter.Seq2[provider.Event, error]

// Patience is how long a call may take: until the answer begins, without a byte of it, and in all.
type Patience struct{ Headers, Quiet, Whole time.Duration }

// Result is the result of a call. If Err is not nil, there is no summary, but the usage counts.
type Result struct {
	Text  string
	Usage provider.Usage // with its cost
	By    provider.Served
	Err   error
}

var errStalled = errors.New("stalled")

// Run makes the call. It returns when the summary is complete, when ctx ends, or when the provider takes longer than patience
// allows.
func (c *Call) Run(ctx context.Context, patience Patience) Result {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	stalled := func() { stop(errStalled) }
	quiet := time.AfterFunc(patience.Headers, stalled)
	defer quiet.Stop()
	whole := time.AfterFunc(patience.Whole, stalled)
	defer whole.Stop()
	guess := Sent(c.Passage)
	r := Result{}
	row := c.Model
	text, last, err := c.read(ctx, &guess, func() { quiet.Reset(patience.Quiet) }, func(by provider.Served) (err error) {
		if r.By = by; c.Served != nil {
			row, err = c.Served(by)
		}
		return err
	})
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, errStalled) {
		err = &provider.Error{Provider: c.Model.Provider, Kind: provider.KindStalled, Message: "nothing came of the summary for too long"}
	}
	r.Text, r.Err = strings.TrimSpace(text), err
	if last != nil {
		r.Usage = last.Usage
	}
	if c.heard.Load() > 0 && r.Usage.Input+r.Usage.Output == 0 {
		r.Usage = guess.Usage()
	}
	r.Usage = priced(row, r.Usage, c.Now())
	switch {
	case r.Err != nil:
	case last == nil:
		r.Err = &provider.Error{Provider: c.Model.Provider, Kind: provider.KindTransport, Message: "the summary ended without an end"}
	case last.Reason != provider.StopEndTurn || r.Text == "":
		r.Err = &provider.Error{Provider: c.Model.Provider, Kind: provider.KindBadRequest, RequestID: last.RequestID,
			Message: fmt.Sprintf("the summary is incomplete: it ended with %s", last.Reason)}
	}
	return r
}

// read takes in the answer; last is nil if it has no end.
func (c *Call) read(ctx context.Context, guess *budget.Estimate, alive func(), served func(provider.Served) error) (_ string, last *provider.Stop, err error) {
	var text strings.Builder
	size := 0
	for event, failed := range c.Stream(ctx, c.request()) {
		alive()
		if _, notice := event.(provider.Notice); event != nil && !notice && c.heard.Load() == 0 {
			c.heard.Store(1)
		}
		switch ev := event.(type) {
		case provider.Served:
			failed = served(ev)
		case provider.Delta:
			guess.Hear(provider.KindText, ev.Text)
			c.heard.Store(int64(1 + guess.Said))
			if size += len(ev.Text); size > transcript.MaxSummary {
				failed = &provider.Error{Provider: c.Model.Provider, Kind: provider.KindBadRequest,
					Message: fmt.Sprintf("the summary and its thinking are longer than %d bytes", transcript.MaxSummary)}
			}
		case provider.End:
			if block, ok := ev.Block.(provider.Text); ok {
				text.WriteString(block.Text)
			}
		case provider.Stop:
			last = &ev
		}
		if failed != nil {
			return text.String(), last, failed
		}
	}
	return text.String(), last, nil
}

func (c *Call) request() *provider.Request {
	return &provider.Request{Model: c.Model, System: transcript.AskSummary, Decision: c.Decision, KeepAlive: c.Keep, Whole: true, Messages: []provider.Message{
		{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: c.Passage.Text}}}}}
}

// Used estimates what a call has used that is stopped now; ok is false if the provider has not begun to answer.
func (c *Call) Used() (_ provider.Usage, ok bool) {
	heard := int(c.heard.Load())
	if heard == 0 {
		return provider.Usage{}, false
	}
	return priced(c.Model, budget.Estimate{Sent: Sent(c.Passage).Sent, Said: heard - 1}.Usage(), c.Now()), true
}

// Cost is what a call for a summary of p uses at least.
func Cost(m provider.Model, p transcript.Passage, now time.Time) budget.Used {
	return budget.Of(priced(m, Sent(p).Usage(), now))
}

// Sent is the estimate of a call before its answer.
func Sent(p transcript.Passage) budget.Estimate {
	return budget.Estimate{Sent: utf8.RuneCountInString(transcript.AskSummary) + utf8.RuneCountInString(p.Text)}
}

// priced is a usage with its cost, if the vendor did not report it.
func priced(m provider.Model, u provider.Usage, now time.Time) provider.Usage {
	if u.Cost == nil {
		u.Cost = m.Price.Cost(u, now)
	}
	return u
}

// Futile reports whether a summary freed too little to make another one soon: less than a tenth of the tokens of a call.
func Futile(before, after int) bool { return after*10 > before*9 }

// Remaining estimates the tokens of a call with a summary. before are those without it, and was and now the weights of both calls in
// characters. A vendor may count more or fewer characters as a token than we do, so what shrinks does so in proportion.
func Remaining(before, was, now int) int {
	if now > was {
		return before + budget.Tokens(now-was)
	}
	return before * now / max(was, 1)
}
