package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/agent/fault"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/gate"
	"github.com/thinkd/thinkd/agent/privacy"
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
	r.failures = nil
	s.newCall()
}

// newCall makes a call that is not a retry: the first of a model call, or the first with another link of the turn's chain.
func (s *state) newCall() {
	r := s.run
	r.tries, r.suspects, r.trial, r.emptied = 1, nil, nil, false
	if !s.asksFirst() && !s.compactsFirst() && !s.compactBefore() {
		s.startCall()
	}
}

// compactBefore summarises earlier turns before the next call of the running turn, if the conversation fills its share of the
// window. It reports whether the call follows after the summary. If there is no summary, the call is made without one, because the
// conversation still fits.
func (s *state) compactBefore() bool {
	r := s.run
	share := s.cfg.CompactAt
	if share > 0 && s.view.Undone() { // somebody wants the messages and not their summary, as long as they fit
		share = max(share, 1)
	}
	if share <= 0 || r.model.Window <= 0 || r.provider == nil || r.unsummed ||
		slices.ContainsFunc(s.bounds(), func(b budget.Bound) bool { return b.Used >= b.Most }) || // the call will not be made
		float64(s.contextUsed()) < share*float64(r.model.Window) {
		return false
	}
	p, ok := s.planned(transcript.KeptDue)
	if !ok {
		return false
	}
	unsummed := func(why string) {
		r.unsummed = true
		s.tell(r.ID, warn(noticeNotCompacted, "the earlier messages are not summarised: "+why))
	}
	if s.conversation().futile() {
		unsummed("the last summary freed less than a tenth of what a call sends. The next prompt may summarise again")
		return false
	}
	if err := s.affordsSummary(p); err != nil {
		unsummed(s.failure(err).Message)
		return false
	}
	s.compact(p, func(err error) {
		if err != nil {
			unsummed(s.failure(err).Message)
		}
		s.startCall()
	})
	return true
}

// affordsSummary returns why the budgets of the running turn have no room for a summary, nil if they have.
func (s *state) affordsSummary(p transcript.Passage) error {
	b := budget.Exceeded(s.bounds(), summary.Cost(s.summaryModel(), p, s.cfg.Now()))
	if b == nil {
		return nil
	}
	return &provider.Error{Kind: provider.KindQuota, Message: fmt.Sprintf("the %s's budget of %s has no room for a summary", b.Whose, b.Words())}
}

// compactsFirst summarises earlier turns before the first call of the running turn, if a person has chosen that. It reports whether the
// call follows after the summary. Without a summary, the person is asked again.
func (s *state) compactsFirst() bool {
	r, q := s.run, s.run.compacts
	if r.compacts = nil; q == nil {
		return false
	}
	p, ok := s.planned(transcript.KeptAsked)
	err := error(&provider.Error{Kind: provider.KindBadRequest, Message: "there is nothing to summarise"})
	if ok {
		err = s.affordsSummary(p)
	}
	if err != nil {
		s.askToSpend(*q, err)
		return true
	}
	s.compact(p, func(err error) {
		if err != nil {
			s.askToSpend(*q, err)
			return
		}
		s.startCall()
	})
	return true
}

// futile reports whether the newest summary freed too little, and nobody has asked anything since: another one would free as little.
func (v conversation) futile() bool {
	c := v.view.Compaction()
	if c == nil || c.Before == 0 || v.view.AskedSince() {
		return false
	}
	after := c.After
	if counted, ok := v.countedSince(); ok && c.Counted {
		after = counted
	}
	return summary.Futile(c.Before, after)
}

// countedSince is what the vendor counted for the first call behind the newest summary.
func (v conversation) countedSince() (input int, ok bool) {
	first, _ := v.view.Rest()
	for _, t := range v.view.Turns[first:] {
		for _, m := range t.Messages {
			if u := m.End; u != nil && u.Usage.Input > 0 && !u.Usage.Estimated && !v.view.Rebound(m) {
				return u.Usage.Input, true
			}
		}
	}
	return 0, false
}

// current is what a call is made with: as the running turn, or else as the next one.
func (s *state) current() (choice, error) {
	if s.run != nil {
		return s.run.choice, nil
	}
	return s.conversation().next(s.view.Session.Settings, session.Override{})
}

// compact begins a compaction; dropCompaction ends it, and Close waits for it.
func (s *state) compact(p transcript.Passage, over func(error)) {
	set := s.view.Session.Settings
	set.Fallback = provider.Downgrade
	set.Model = refOf(s.summaryModel())
	c, err := s.conversation().decide(set, session.Override{Level: provider.Off})
	if err == nil && !c.model.Known { // it may refuse to be switched off
		c, err = s.conversation().decide(set, session.Override{Level: provider.Auto})
	}
	if set.Model == set.Agent.CompactModel {
		p.FitWindow(c.model.Window)
	}
	if now, err := s.current(); err == nil && now.ref() == set.Model {
		c.key = now.key
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
	id := session.NewSummaryID()
	begins := inform(noticeCompacting, fmt.Sprintf("%d earlier messages are being summarised by %s", p.Messages, c.model.Ref()))
	begins.Summary = id
	s.tell(turn, begins)
	if s.ended != nil { // the store failed; never in a turn, because a turn is in the log
		over(s.ended)
		return
	}
	pass, hold, err := s.enterForSummary(turn, c, p)
	if err != nil {
		if turn == "" || s.ended == nil {
			over(err)
		}
		return
	}
	ctx, stop := context.WithCancelCause(s.ctx)
	summing := &compacting{pass: pass, hold: hold, Call: summary.Call{Model: c.model, Stream: pass.Stream, Decision: c.decision, Passage: p, Keep: set.KeepAlive, Served: s.summariser(c.model), Now: s.cfg.Now},
		id: id, turn: turn, begun: s.cfg.Now(), said: make(chan *summary.Result, 1), stop: stop, over: over}
	if s.uses(c); s.halted() {
		stop(errNoSummary) // before it begins
	}
	s.compacting = summing
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
			summing.said <- &sum
		}()
		sum = summing.Run(ctx, patience)
	})
}

// summaryModel is the model that is asked for a summary: that of the session's agent, if it can be called, or that of the running turn or
// the session.
func (s *state) summaryModel() provider.Model {
	if ref := s.view.Session.Agent.CompactModel; ref != (session.ModelRef{}) && s.cfg.find(ref.Provider) != nil && s.conversation().egress(ref.Provider) == nil {
		if m := s.cfg.Catalog.Model(ref.Provider, ref.ID); gone(m) == nil && privacy.Check(s.view.Session.Storage, m) == nil {
			return m
		}
	}
	if s.run != nil {
		return s.run.model
	}
	c, _ := s.current()
	return c.model
}

// enterForSummary reserves what a summary may cost. hold is its reservation in the ledger, empty if the log has it.
func (s *state) enterForSummary(turn session.TurnID, c choice, p transcript.Passage) (pass *gate.Pass, hold string, err error) {
	s.leaveGate() // the next call of the turn is another one after the summary
	most := s.cfg.atMost(&provider.Request{Model: c.model, Decision: c.decision}, summary.Sent(p))
	pass, err = s.enter(gate.Call{Owner: s.ref.Owner, Provider: c.provider, Model: c.ref(), Level: c.decision.Effective, Payer: c.payer,
		Purpose: session.ForSummary, Sum: s.sum, Usage: probably(c.model, summary.Sent(p), s.cfg.Now()), Most: most})
	if full, ok := s.cfg.full(err); ok {
		return nil, "", &provider.Error{API: c.model.API, Provider: c.model.Provider, Kind: provider.KindQuota, Hint: provider.HintFinal,
			Message: full.Error()}
	}
	if err != nil {
		return nil, "", &provider.Error{API: c.model.API, Provider: c.model.Provider, Kind: provider.KindQuota, Hint: provider.HintFinal,
			Message: err.Error()}
	}
	if turn != "" {
		err = s.record(fact{turn, pass.Reserved, nil})
	} else {
		hold = session.NewConfirmID()
		err = s.await(s.ctx, func(ctx context.Context) error { return s.cfg.Store.Ledger().Hold(ctx, s.ref, hold, pass.Reserved) })
	}
	if err != nil {
		pass.Leave()
	}
	return pass, hold, err
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
	now, _ := s.current()
	model, running := now.ref(), (*session.Turn)(nil)
	if s.run != nil {
		running = s.run.Turn
	}
	return s.conversation().share(model).Plan(running, kept, s.cfg.Catalog.Model(model.Provider, model.ID).Window)
}

// compacted stores a summary. If the call failed, only what it used is stored.
func (s *state) compacted(sum summary.Result) {
	c := s.compacting
	if sum.Err != nil && s.ctx.Err() != nil {
		return // the agent ends, and the call with it: the loop comes to that next, and drops the compaction
	}
	s.compacting = nil
	if s.cfg.Catalog.Served(c.Model, sum.By.Model).Other {
		s.tell(c.turn, warn(noticeSubstituted, substituted(c.Model.Ref(), sum.By)+" with the summary"))
		if s.ended != nil {
			return
		}
	}
	entry := s.countSummary(c, sum.Usage)
	if sum.Err == nil {
		sum.Err = s.describe(c, sum.Text, &entry)
	}
	s.summarised(c, sum, sum.Err)
	usage := fact{c.turn, nil, feed.UsageTotal{Usage: s.usage()}}
	if c.turn == "" {
		usage.event = feed.UsageTotal{Usage: s.usage().Add(sum.Usage)}
	}
	switch {
	case sum.Err == nil:
		notice := inform(noticeCompacted, fmt.Sprintf("models get a summary of %d characters in place of %d earlier messages; earlier thinking is no longer sent, and the prompt cache starts again",
			len([]rune(entry.Summary)), c.Passage.Messages))
		notice.Summary = c.id
		made := feed.SummaryStored{Summary: feed.NewSummary(s.view.Summarised(session.Entry{Turn: c.turn, Body: entry}), entry)}
		if s.record(fact{c.turn, entry, made}, fact{c.turn, nil, notice}, usage) != nil {
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

// describe fills in the entry of a summary that has been written: what it replaces, what stays, and what it frees.
func (s *state) describe(c *compacting, text string, entry *session.Compaction) (err error) {
	v := s.conversation()
	now, err := v.decide(s.view.Session.Settings, session.Override{})
	if s.run != nil {
		now, err = s.run.choice, nil
	}
	if err != nil { // the policy refuses the level, so no call would be made
		now.model = s.cfg.Catalog.Model(s.view.Session.Model.Provider, s.view.Session.Model.ID)
	}
	entry.ID, entry.Upto, entry.Summary = c.id, c.Passage.Upto, text+c.Passage.Verbatim
	if entry.Pinned, err = s.pinnedUpto(now, entry.Upto); err != nil {
		return err
	}
	entry.Before, entry.Counted = v.size(now)
	was := transcript.Weight(v.requestFor(now))
	v.view = s.view.With(*entry)
	entry.After = summary.Remaining(entry.Before, was, transcript.Weight(v.requestFor(now)))
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
		if b := budget.Exceeded(s.cfg.Limits.SessionBudget.Bounds("session", s.others(), &s.notified.near), summary.Cost(s.summaryModel(), p, s.cfg.Now())); b != nil {
			return nil, &provider.Error{Kind: provider.KindQuota, Message: fmt.Sprintf("the session's budget of %s has no room for a summary", b.Words())}
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
			return struct{}{}, s.stopCompaction(errNoSummary)
		}
		return struct{}{}, nil
	})
	return err
}

// Cancelled reports whether an error of [Agent.Compact] means that somebody stopped the summary.
func Cancelled(err error) bool { return errors.Is(err, errNoSummary) }

// Uncompact undoes the newest summary: models get the messages that it replaced, and the prompt cache may still have them. id names the
// summary to undo; empty: the newest. This is possible until the next prompt. It returns the id of the summary, and the undo is on
// disk. If id is the newest summary and it was undone already, the call succeeds. Errors: ErrBusy, ErrCompacting, ErrNotUndoable, and those of the
// store.
func (a *Agent) Uncompact(ctx context.Context, id session.SummaryID) (session.SummaryID, error) {
	return ask(ctx, a, func(s *state) (session.SummaryID, error) {
		newest := s.view.Undoable()
		if all := s.view.Summaries(); id != "" && s.view.Undone() && all[len(all)-1].ID == id {
			return id, nil // the request came twice
		}
		switch {
		case s.run != nil || s.mayStart():
			return "", ErrBusy
		case s.compacting != nil:
			return "", ErrCompacting
		case newest == "" || id != "" && id != newest:
			return "", ErrNotUndoable
		}
		if err := s.writable(); err != nil {
			return "", err
		}
		err := s.record(fact{"", session.Uncompaction{Summary: newest}, feed.SummaryUndone{ID: newest}})
		s.measure()
		return newest, err
	})
}

// Summary is a summary of earlier turns, with what the log has of it.
type Summary struct {
	session.Summary
	Log      session.Compaction
	Undoable bool // now
}

// Summaries returns the last summaries in front of one, or of all, in order, and whether there are earlier ones. Errors: ErrNoSummary,
// and those of the store.
func (a *Agent) Summaries(ctx context.Context, before session.SummaryID, limit int) (page []Summary, more bool, err error) {
	type result struct {
		page []Summary
		more bool
	}
	r, err := ask(ctx, a, func(s *state) (r result, err error) {
		list := s.view.Summaries()
		if before != "" {
			end := slices.IndexFunc(list, func(sum session.Summary) bool { return sum.ID == before })
			if end < 0 {
				return r, ErrNoSummary
			}
			list = list[:end]
		}
		r.more = len(list) > limit
		r.page, err = s.summaries(list[max(len(list)-limit, 0):])
		return r, err
	})
	return r.page, r.more, err
}

// SummariesAfter returns the summaries that were made right after one of these messages, in order. Errors: those of the store.
func (a *Agent) SummariesAfter(ctx context.Context, messages []session.MessageID) ([]Summary, error) {
	return ask(ctx, a, func(s *state) ([]Summary, error) { return s.summariesAfter(messages) })
}

func (s *state) summariesAfter(messages []session.MessageID) ([]Summary, error) {
	var list []session.Summary
	for _, sum := range s.view.Summaries() {
		if slices.Contains(messages, sum.After) {
			list = append(list, sum)
		}
	}
	return s.summaries(list)
}

func (s *state) summaries(list []session.Summary) ([]Summary, error) {
	undoable := s.view.Undoable()
	whole := make([]Summary, 0, len(list))
	for _, sum := range list {
		var c session.Compaction
		err := s.await(s.ctx, func(ctx context.Context) (err error) {
			c, err = s.view.Compacted(ctx, s.store, sum)
			return err
		})
		if err != nil {
			return nil, err
		}
		whole = append(whole, Summary{Summary: sum, Log: c, Undoable: sum.ID == undoable && s.run == nil})
	}
	return whole, nil
}
