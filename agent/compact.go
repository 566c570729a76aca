package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// errNoSummary is why a compaction that was stopped came to nothing.
var errNoSummary = errors.New("the compaction was cancelled")

// compacting is a summary on its way: a call of the session's model that belongs to no turn, without tools and with as little
// thinking as the model can do with. It is sent what was said as a text: so no vendor's rules for tools and
// thinking stand in the way, and what is too long for the model can be made to fit.
type compacting struct {
	transcript.Passage
	choice
	turn  session.TurnID // that waits for it; empty: none
	begun time.Time
	sent  int          // characters that went out
	heard atomic.Int64 // characters that came, and one more from the first sign of an answer on
	said  chan summary // buffer 1: the goroutine never waits
	stop  context.CancelCauseFunc
	over  func(error) // on the agent's goroutine: it is kept, or came to nothing
}

// summary is what came of the call.
type summary struct {
	text  string
	usage provider.Usage
	err   error
}

// compact begins a compaction; dropCompaction ends it, and Close waits for it.
func (s *state) compact(p transcript.Passage, over func(error)) {
	set := s.view.Session.Settings
	set.Fallback = provider.Downgrade
	if s.run != nil {
		set.Model = s.run.ref()
	}
	c, err := s.decide(set, session.Override{Level: provider.Off})
	if err == nil && !c.model.Known { // it may refuse to be switched off
		c, err = s.decide(set, session.Override{Level: provider.Auto})
	}
	if err == nil && c.provider == nil {
		err = &provider.Error{Provider: c.model.Provider, Kind: provider.KindAuth, Message: "no such provider is configured"}
	}
	if err != nil {
		over(err)
		return
	}
	var turn session.TurnID
	if s.run != nil {
		turn = s.run.ID
	}
	s.tell(turn, inform(noticeCompacting, fmt.Sprintf("%d earlier messages are being summarised by %s", p.Messages, c.model.Ref())))
	if s.ended != nil { // the store failed; never in a turn, of which the log knows
		over(s.ended)
		return
	}
	ctx, stop := context.WithCancelCause(s.ctx)
	now := &compacting{Passage: p, choice: c, turn: turn, begun: time.Now(), sent: sentFor(p), said: make(chan summary, 1), stop: stop, over: over}
	s.compacting = now
	s.busy.Store(true)
	req := &provider.Request{Model: c.model, System: transcript.AskSummary, Decision: c.decision, Whole: true, Messages: []provider.Message{
		{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: p.Text}}}}}
	limits := s.cfg.patient(c.model.Provider)
	log := s.log
	s.calls.Go(func() { // ends with ctx at the latest
		defer stop(nil)
		var sum summary
		defer func() {
			if p := recover(); p != nil {
				sum.err = panicked(log, "provider", p)
			}
			now.said <- sum
		}()
		sum = summarise(ctx, stop, c, req, limits, &now.heard)
	})
}

// summarise makes the call. A call that is silent, or takes too long, is stopped.
func summarise(ctx context.Context, stop context.CancelCauseFunc, c choice, req *provider.Request, limits Limits, heard *atomic.Int64) summary {
	stalled := func() { stop(errStalled) }
	quiet := time.AfterFunc(limits.Headers, stalled)
	defer quiet.Stop()
	whole := time.AfterFunc(limits.TurnTime, stalled)
	defer whole.Stop()
	guess := budget.Estimate{Sent: len([]rune(req.System)) + transcript.Characters(req.Messages[0].Blocks)}
	var text strings.Builder
	var last *provider.Stop
	var err error
	said := 0
	for event, failed := range c.provider.Stream(ctx, req) {
		quiet.Reset(limits.QuietBytes)
		if _, notice := event.(provider.Notice); event != nil && !notice && heard.Load() == 0 {
			heard.Store(1)
		}
		switch ev := event.(type) {
		case provider.Delta:
			guess.Hear(provider.KindText, ev.Text)
			heard.Store(int64(1 + guess.Said))
			if said += len(ev.Text); said > transcript.MaxSummary {
				failed = &provider.Error{Provider: c.model.Provider, Kind: provider.KindBadRequest,
					Message: fmt.Sprintf("the summary and its thinking are longer than %d bytes", transcript.MaxSummary)}
			}
		case provider.End:
			if said, ok := ev.Block.(provider.Text); ok {
				text.WriteString(said.Text)
			}
		case provider.Stop:
			last = &ev
		}
		if failed != nil {
			err = failed
			break
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, errStalled) {
		err = &provider.Error{Provider: c.model.Provider, Kind: provider.KindStalled, Message: "nothing came of the summary for too long"}
	}
	sum := summary{text: strings.TrimSpace(text.String()), err: err}
	if last != nil {
		sum.usage = last.Usage
	}
	if heard.Load() > 0 && sum.usage.Input+sum.usage.Output == 0 {
		sum.usage = guess.Usage()
	}
	sum.usage = c.priced(sum.usage)
	switch {
	case sum.err != nil:
	case last == nil:
		sum.err = &provider.Error{Provider: c.model.Provider, Kind: provider.KindTransport, Message: "the summary ended without an end"}
	case last.Reason != provider.StopEndTurn || sum.text == "":
		sum.err = &provider.Error{Provider: c.model.Provider, Kind: provider.KindBadRequest, RequestID: last.RequestID,
			Message: fmt.Sprintf("the summary is incomplete: it ended with %s", last.Reason)}
	}
	return sum
}

// priced is a usage with its cost, where the vendor did not tell it.
func (c choice) priced(u provider.Usage) provider.Usage {
	if u.Cost == nil {
		u.Cost = c.model.Price.Cost(u, time.Now())
	}
	return u
}

// sentFor is how many characters are sent for a summary.
func sentFor(p transcript.Passage) int {
	return utf8.RuneCountInString(transcript.AskSummary) + utf8.RuneCountInString(p.Text)
}

// summaryCost is what the request for a summary will use at least.
func (c choice) summaryCost(p transcript.Passage) budget.Used {
	return budget.Of(c.priced(budget.Estimate{Sent: sentFor(p)}.Usage()))
}

// planned chooses what is summarised; ok is false if there is nothing.
func (s *state) planned(kept int) (p transcript.Passage, ok bool) {
	model, running := s.view.Session.Model, (*session.Turn)(nil)
	if s.run != nil {
		model, running = s.run.ref(), s.run.Turn
	}
	return s.share(model).Plan(running, kept, s.cfg.Catalog.Model(model.Provider, model.ID).Window)
}

// summed is where the summary comes, nil while none is on its way.
func (s *state) summed() chan summary {
	if s.compacting == nil {
		return nil
	}
	return s.compacting.said
}

// compacted keeps a summary. One that came to nothing changes nothing but what was used.
func (s *state) compacted(sum summary) {
	c := s.compacting
	s.compacting = nil
	s.summarised(c, sum, sum.err)
	entry := s.countSummary(c, sum.usage)
	usage := fact{c.turn, nil, feed.UsageTotal{Usage: s.usage()}}
	if c.turn == "" {
		usage.event = feed.UsageTotal{Usage: s.usage().Add(sum.usage)}
	}
	switch {
	case sum.err == nil:
		entry.Upto, entry.Summary = c.Upto, sum.text+c.Verbatim
		notice := inform(noticeCompacted, fmt.Sprintf("models get a summary of %d characters in place of %d earlier messages; earlier thinking is no longer sent, and the prompt cache starts again",
			len([]rune(entry.Summary)), c.Messages))
		if s.record(fact{c.turn, entry, notice}, usage) != nil {
			return
		}
	case sum.usage.Input+sum.usage.Output > 0:
		usage.body = entry
		if s.record(usage) != nil {
			return
		}
	}
	c.over(sum.err)
}

// countSummary is the entry of a summary that used so much. In a turn that counts for the turn and its budget.
func (s *state) countSummary(c *compacting, usage provider.Usage) session.Compaction {
	if c.turn != "" && s.run != nil {
		s.run.usage = s.run.usage.Add(usage)
	}
	return session.Compaction{Model: c.ref(), Usage: usage, InTurn: c.turn != ""}
}

// dropCompaction stops a summary that is on its way; nothing changes but what was used, which is in the facts: an
// estimate, if the vendor had begun to answer. Who waits for the summary hears why, but not a turn: it is the one that ends.
func (s *state) dropCompaction(cause error) (facts []fact) {
	c := s.compacting
	if c == nil {
		return nil
	}
	s.compacting = nil
	var sum summary
	if heard := int(c.heard.Load()); heard > 0 {
		sum.usage = c.priced(budget.Estimate{Sent: c.sent, Said: heard - 1}.Usage())
		facts = []fact{{c.turn, s.countSummary(c, sum.usage), nil}}
	}
	s.summarised(c, sum, cmp.Or(cause, errNoSummary))
	c.stop(cause)
	if c.turn == "" {
		c.over(cause)
	}
	return facts
}

// stopCompaction ends a summary that somebody asked for between turns.
func (s *state) stopCompaction() error {
	if facts := s.dropCompaction(errNoSummary); len(facts) > 0 {
		return s.record(append(facts, fact{"", nil, feed.UsageTotal{Usage: s.usage().Add(facts[0].body.(session.Compaction).Usage)}})...)
	}
	return nil
}

// Compact begins to summarise earlier turns, and returns where it is told once how that ended: an error means that nothing has
// changed. Nil: there is nothing to summarise. Errors: ErrBusy, and those of the store.
func (a *Agent) Compact(ctx context.Context) (<-chan error, error) {
	return ask(ctx, a, func(s *state) (<-chan error, error) {
		if err := s.writable(); err != nil {
			return nil, err
		}
		if s.run != nil || s.compacting != nil || s.mayStart() {
			return nil, ErrBusy
		}
		p, ok := s.planned(transcript.KeptAsked)
		if !ok {
			return nil, nil
		}
		if c, err := s.decide(s.view.Session.Settings, session.Override{}); err == nil {
			if b := budget.Exceeded(s.cfg.Limits.SessionBudget.Bounds("session", budget.Of(s.usage()), &s.notified.near), c.summaryCost(p)); b != nil {
				return nil, &provider.Error{Kind: provider.KindQuota, Message: fmt.Sprintf("the session's budget of %s has no room for a summary", b.Words())}
			}
		}
		over := make(chan error, 1) // for one word, also when nobody waits for it any more
		s.compact(p, func(err error) { over <- err })
		return over, nil
	})
}

// StopCompaction ends what Compact began, if it is not over.
func (a *Agent) StopCompaction(ctx context.Context) error {
	_, err := ask(ctx, a, func(s *state) (struct{}, error) {
		if s.run == nil {
			return struct{}{}, s.stopCompaction()
		}
		return struct{}{}, nil
	})
	return err
}

// Cancelled reports whether an error that Compact told means that it was cancelled.
func Cancelled(err error) bool { return errors.Is(err, errNoSummary) }

// compactBefore summarises earlier turns before the next call of the running one, if that is due; then makes the call. A
// summary that came to nothing holds nothing up: the conversation still fits.
func (s *state) compactBefore() bool {
	r := s.run
	if s.cfg.CompactAt <= 0 || r.model.Window <= 0 || r.provider == nil || r.unsummed ||
		slices.ContainsFunc(s.bounds(), func(b budget.Bound) bool { return b.Used >= b.Most }) || // the call will not be made
		float64(s.contextUsed()) < s.cfg.CompactAt*float64(r.model.Window) {
		return false
	}
	p, ok := s.planned(transcript.KeptDue)
	if !ok {
		return false
	}
	if b := budget.Exceeded(s.bounds(), r.summaryCost(p)); b != nil {
		r.unsummed = true
		s.tell(r.ID, warn(noticeNotCompacted,
			fmt.Sprintf("the earlier messages are not summarised: the %s's budget of %s has no room for a summary", b.Whose, b.Words())))
		return false
	}
	s.compact(p, func(err error) {
		if err != nil {
			r.unsummed = true
			s.tell(r.ID, warn(noticeNotCompacted, "the earlier messages are not summarised: "+s.failure(err).Message))
		}
		s.startCall()
	})
	return true
}

// compactAfter summarises earlier turns since a call was refused as too long, once a turn, and makes the call again.
func (s *state) compactAfter(pe *provider.Error) bool {
	r := s.run
	if pe.Kind != provider.KindTooLong || r.overflowed {
		return false
	}
	p, ok := s.planned(transcript.KeptAsked)
	if !ok {
		return false
	}
	r.overflowed = true
	// The window may be smaller than the row says, or not be known: half of what was too long fits rather.
	p.Shorten(s.estimateOf(s.request()).Sent / 2)
	facts, void := s.discard()
	if len(void) > 0 {
		facts = append(facts, r.retryFact(0, pe, void))
	}
	if s.record(facts...) != nil {
		return true
	}
	if b := budget.Exceeded(s.bounds(), r.summaryCost(p)); b != nil {
		s.tell(r.ID, warn(noticeBudgetReached, fmt.Sprintf("the %s's budget of %s has no room for a summary of what is too long", b.Whose, b.Words())))
		s.overLimit(b.Limit)
		return true
	}
	s.compact(p, func(err error) {
		if err == nil {
			s.callAgain()
			return
		}
		if s.tryWithout(pe) {
			return
		}
		end := session.TurnEnd{StopReason: session.StopError, Error: s.failure(pe)}
		end.Error.Message += "; and the earlier messages could not be summarised: " + s.failure(err).Message
		s.endTurn(end, session.Failed, s.unsend(pe)...)
	})
	return true
}
