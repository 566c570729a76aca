package aside

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/provider"
)

// MaxAnswer bounds thinking and answer of a call, in bytes.
const MaxAnswer = 256 << 10

// Preface stands in front of a question. The tools stay in the request, to keep the cached prefix. For some vendors this sentence is
// the only way to turn them off.
const Preface = "This is a side question. Answer it briefly, from the conversation so far and from what you know. " +
	"Do not call any tool, and do not continue other work: what you write here is not part of the conversation."

// Stream sends a request: see [provider.Provider].
type Stream func(context.Context, *provider.Request) iter.Seq2[provider.Event, error]

// Patience is how long a call may take: until the answer begins, without a byte of it, and in all.
type Patience struct{ Headers, Quiet, Whole time.Duration }

// Call is one side question, ready to be asked. Run may be called once, on any goroutine.
type Call struct {
	Model    provider.Model
	Stream   Stream // makes the call
	Request  *provider.Request
	Estimate budget.Estimate // of the prompt
	Bounds   []budget.Bound  // of the session's budget, with what is used so far, without this call
	Patience Patience
	Price    func(provider.Usage) *provider.Cost
	Premium  *float64 // of the model: what a question counts for a plan that counts requests; nil: nothing
	Now      func() time.Time
	Load     func(*provider.Request) // puts the data of stored media into the request
}

// Answer is the result of a call. If Err is not nil, the answer is incomplete; its text and the usage count all the same.
type Answer struct {
	Thinking, Text string
	Reason         provider.StopReason // empty: there is no end
	Usage          provider.Usage      // with its cost
	Heard          time.Time           // the first event; zero: none came
	As             string              // the name of the model in the answer
	Err            error
}

var errStalled = errors.New("stalled")

// Run makes the call, and calls said with each piece of thinking and text as it comes; said must not wait. It returns when the answer is
// complete, when it is refused, or when ctx ends, whose cause is then the error.
func (c *Call) Run(ctx context.Context, said func(provider.BlockKind, string)) (a Answer) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	stalled := func() { stop(errStalled) }
	quiet := time.AfterFunc(c.Patience.Headers, stalled)
	defer quiet.Stop()
	whole := time.AfterFunc(c.Patience.Whole, stalled)
	defer whole.Stop()
	c.Load(c.Request)
	r := reader{call: c, guess: c.Estimate, said: said, blocks: make(map[int]provider.BlockKind)}
	for event, err := range c.Stream(ctx, c.Request) {
		quiet.Reset(c.Patience.Quiet)
		if a.Heard.IsZero() && err == nil {
			a.Heard = c.Now()
		}
		if err == nil {
			err = r.take(event)
		}
		if err != nil {
			a.Err = err
			break
		}
	}
	a.Thinking, a.Text = r.thinking.String(), r.text.String()
	if cause := context.Cause(ctx); cause != nil && (a.Err != nil || r.last == nil) {
		a.Err = cause
	}
	if errors.Is(a.Err, errStalled) {
		a.Err = c.refusal(provider.KindStalled, "nothing came of the answer for too long")
	}
	switch {
	case r.last != nil:
		a.Reason, a.Usage, a.As = r.last.Reason, r.last.Usage, r.last.Model
	case a.Err == nil:
		a.Err = c.refusal(provider.KindTransport, "the answer ended without an end")
	}
	if a.Usage.Input+a.Usage.Output == 0 && r.begun {
		a.Usage = r.guess.Usage()
	}
	if a.Usage.Cost == nil {
		a.Usage.Cost = c.Price(a.Usage)
	}
	if c.Premium != nil && a.Usage.Input+a.Usage.Output > 0 {
		a.Usage.Premium = provider.MoneyOf(*c.Premium)
	}
	return a
}

// reader takes in an answer.
type reader struct {
	call           *Call
	guess          budget.Estimate
	said           func(provider.BlockKind, string)
	blocks         map[int]provider.BlockKind
	thinking, text strings.Builder
	begun          bool // the vendor has begun to answer, so the call costs something
	last           *provider.Stop
}

func (r *reader) take(event provider.Event) error {
	switch ev := event.(type) {
	case provider.Begin:
		r.begun = true
		r.blocks[ev.Index] = provider.KindOf(ev.Block)
		return r.tool(ev.Block)
	case provider.Delta:
		return r.grow(r.blocks[ev.Index], ev.Text)
	case provider.End:
		r.begun = true
		return r.tool(ev.Block)
	case provider.Stop:
		r.last = &ev
	}
	return nil
}

// tool refuses a call of a tool, as soon as it begins: neither arguments nor results are waited for.
func (r *reader) tool(b provider.Block) error {
	if call, ok := b.(provider.ToolCall); ok {
		return r.call.refusal(provider.KindBadRequest, "the model called the tool %s; a side question runs no tools, so the answer ends here", call.Name)
	}
	return nil
}

func (c *Call) refusal(kind provider.Kind, format string, args ...any) error {
	return &provider.Error{API: c.Model.API, Provider: c.Model.Provider, Kind: kind, Message: fmt.Sprintf(format, args...)}
}

func (r *reader) grow(kind provider.BlockKind, text string) error {
	if kind != provider.KindThinking && kind != provider.KindText {
		return nil
	}
	if r.thinking.Len()+r.text.Len()+len(text) > MaxAnswer {
		return r.call.refusal(provider.KindBadRequest, "the answer and its thinking are longer than %d bytes", MaxAnswer)
	}
	into := &r.text
	if kind == provider.KindThinking {
		into = &r.thinking
	}
	into.WriteString(text)
	r.guess.Hear(kind, text)
	r.said(kind, text)
	now := r.guess.Usage()
	now.Cost = r.call.Price(now)
	return r.call.Affordable(now)
}

// Affordable returns an error if the session's budget has no room for a call that uses so much.
func (c *Call) Affordable(used provider.Usage) error {
	if b := budget.Exceeded(c.Bounds, budget.Of(used)); b != nil {
		return c.refusal(provider.KindQuota, "the %s's budget of %s has no room for the side question", b.Whose, b.Words())
	}
	return nil
}
