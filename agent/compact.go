package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/agent/fault"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/summary"
	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// callModel makes the next call of the turn, with the whole conversation.
func (s *state) callModel() {
	r := s.run
	if r.calls > 0 {
		s.tell(r.ID, feed.UsageTotal{Usage: s.usage()})
	}
	r.calls++
	r.tries, r.suspects, r.trial, r.emptied = 1, nil, nil, false
	if !s.compactBefore() {
		s.startCall()
	}
}

// compactBefore summarises earlier turns before the next call of the running turn, if the conversation fills its share of the
// window. It reports whether the call follows after the summary. If there is no summary, the call is made without one, because the
// conversation still fits.
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
	if b := budget.Exceeded(s.bounds(), summary.Cost(r.model, p, s.cfg.Now())); b != nil {
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

// compact begins a compaction; dropCompaction ends it, and Close waits for it.
func (s *state) compact(p transcript.Passage, over func(error)) {
	set := s.view.Session.Settings
	set.Fallback = provider.Downgrade
	if s.run != nil {
		set.Model = s.run.ref()
	}
	c, err := s.conversation().decide(set, session.Override{Level: provider.Off})
	if err == nil && !c.model.Known { // it may refuse to be switched off
		c, err = s.conversation().decide(set, session.Override{Level: provider.Auto})
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
	now := &compacting{Call: summary.Call{Model: c.model, Provider: c.provider, Decision: c.decision, Passage: p, Keep: set.KeepAlive, Served: s.summariser(c.model), Now: s.cfg.Now},
		turn: turn, begun: s.cfg.Now(), said: make(chan summary.Result, 1), stop: stop, over: over}
	s.uses(c)
	s.compacting = now
	s.busy.Store(true)
	limits := s.cfg.patient(c.model.Provider)
	patience := summary.Patience{Headers: limits.Headers, Quiet: limits.QuietBytes, Whole: limits.TurnTime}
	log := s.log
	s.calls.Go(func() { // ends with ctx at the latest
		defer stop(nil)
		var sum summary.Result
		defer func() {
			if p := recover(); p != nil {
				sum.Err = fault.Panicked(log, "provider", p)
			}
			now.said <- sum
		}()
		sum = now.Run(ctx, patience)
	})
}

// summariser decides on the model that writes a summary, for the goroutine of the call.
func (s *state) summariser(asked provider.Model) func(provider.Served) (provider.Model, error) {
	catalog, stops := s.cfg.Catalog, s.stopsOther()
	return func(by provider.Served) (provider.Model, error) {
		now := catalog.Served(asked, by.Model)
		if now.Other && stops {
			return now.Row, otherModel(asked, by)
		}
		return now.Row, nil
	}
}

// planned chooses what is summarised; ok is false if there is nothing.
func (s *state) planned(kept int) (p transcript.Passage, ok bool) {
	model, running := s.view.Session.Model, (*session.Turn)(nil)
	if s.run != nil {
		model, running = s.run.ref(), s.run.Turn
	}
	return s.conversation().share(model).Plan(running, kept, s.cfg.Catalog.Model(model.Provider, model.ID).Window)
}

// compacted stores a summary. If the call failed, only what it used is stored.
func (s *state) compacted(sum summary.Result) {
	c := s.compacting
	s.compacting = nil
	if s.cfg.Catalog.Served(c.Model, sum.By.Model).Other {
		s.tell(c.turn, warn(noticeSubstituted, substituted(c.Model.Ref(), sum.By)+" with the summary"))
		if s.ended != nil {
			return
		}
	}
	s.summarised(c, sum, sum.Err)
	entry := s.countSummary(c, sum.Usage)
	usage := fact{c.turn, nil, feed.UsageTotal{Usage: s.usage()}}
	if c.turn == "" {
		usage.event = feed.UsageTotal{Usage: s.usage().Add(sum.Usage)}
	}
	switch {
	case sum.Err == nil:
		entry.Upto, entry.Summary = c.Passage.Upto, sum.Text+c.Passage.Verbatim
		notice := inform(noticeCompacted, fmt.Sprintf("models get a summary of %d characters in place of %d earlier messages; earlier thinking is no longer sent, and the prompt cache starts again",
			len([]rune(entry.Summary)), c.Passage.Messages))
		if s.record(fact{c.turn, entry, notice}, usage) != nil {
			return
		}
	case sum.Usage.Input+sum.Usage.Output > 0:
		usage.body = entry
		if s.record(usage) != nil {
			return
		}
	}
	c.over(sum.Err)
}

// stopCompaction ends a summary that a client asked for between turns.
func (s *state) stopCompaction() error {
	if facts := s.dropCompaction(errNoSummary); len(facts) > 0 {
		return s.record(append(facts, fact{"", nil, feed.UsageTotal{Usage: s.usage().Add(facts[0].body.(session.Compaction).Usage)}})...)
	}
	return nil
}

// Compact starts a summary of earlier turns. The channel gets one value when that is over: nil, or an error, after which nothing has
// changed. A nil channel means that there is nothing to summarise. Errors: ErrBusy, a *provider.Error if the budget has no room,
// and those of the store.
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
		if c, err := s.conversation().decide(s.view.Session.Settings, session.Override{}); err == nil {
			if b := budget.Exceeded(s.cfg.Limits.SessionBudget.Bounds("session", s.spent(), &s.notified.near), summary.Cost(c.model, p, s.cfg.Now())); b != nil {
				return nil, &provider.Error{Kind: provider.KindQuota, Message: fmt.Sprintf("the session's budget of %s has no room for a summary", b.Words())}
			}
		}
		over := make(chan error, 1) // for one word, also when nobody waits for it any more
		s.compact(p, func(err error) { over <- err })
		return over, nil
	})
}

// StopCompaction ends the summary that Compact started, if it still runs.
func (a *Agent) StopCompaction(ctx context.Context) error {
	_, err := ask(ctx, a, func(s *state) (struct{}, error) {
		if s.run == nil {
			return struct{}{}, s.stopCompaction()
		}
		return struct{}{}, nil
	})
	return err
}

// Cancelled reports whether an error of [Agent.Compact] means that somebody stopped the summary.
func Cancelled(err error) bool { return errors.Is(err, errNoSummary) }
