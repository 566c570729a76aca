package agent

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/thinkd/thinkd/agent/fault"
	"github.com/thinkd/thinkd/session"
)

// In a cluster an append may wait for the store servers, for up to 30 s, and so may a reservation at the gate. The agent's goroutine waits for it in the
// middle of a step: the view may have entries whose updates are not published, and nobody knows whether they will be. So nothing may be read, changed or
// published until there is a result. Two kinds of messages do not wait:
//
//	step ── keep ── commit ── await ─┬─ goroutine: Append ──► result ──► the step goes on
//	                                 ├─ cancels ──► halt: the model call and the tools stop, and the cancel waits for the end of the step
//	                                 └─ inbox, if the node is cut off ──► refused with session.ErrCutOff
//
// All else stays where it is: other requests in inbox, and what the model says in the steps of its call, which are bounded and slow the stream down.
// What await does calls neither record nor a method that changes the view, so the order of entries and the numbers of updates are those of the steps.
//
// After a step, endCancelled ends the turn of each cancel that arrived. Until then nothing begins in that turn (halted). If the agent ends instead, its
// store has failed or another node has the session, and the caller asks again.
//
// On one machine appends do not wait, and nothing here does anything.

const (
	standing = time.Second     // how often a session that stands still looks whether it may go on
	looks    = 5 * time.Second // how often one that does not looks whether it was claimed
)

// ends reports whether the cancel is about the turn or the summary that runs.
func (c *cancel) ends(s *state) bool {
	if s.run != nil {
		return c.turn == "" || c.turn == s.run.ID
	}
	return c.turn == "" && s.compacting != nil
}

// commit appends entries to the log. Without entries it makes sure that the log is still this agent's.
func (s *state) commit(ctx context.Context, entries ...session.Entry) error {
	if s.moves == nil {
		_, err := s.owned.Append(ctx, entries...)
		return err
	}
	return s.await(ctx, func(ctx context.Context) error {
		_, err := s.owned.Append(ctx, entries...)
		return err
	})
}

// await runs write, which may wait for the store. ctx ends early if the node gives up what runs (Group.Abandon).
func (s *state) await(ctx context.Context, write func(context.Context) error) error {
	if s.moves == nil {
		return write(ctx)
	}
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	result := make(chan error, 1)
	go func() { // ends when the store gives up, or with ctx; await returns after it
		defer func() {
			if p := recover(); p != nil {
				result <- fault.Panicked(s.log, "store", p)
			}
		}()
		result <- write(ctx)
	}()
	look := time.NewTicker(standing)
	defer look.Stop()
	ending := s.ctx.Done()
	for {
		var refused chan request // requests wait while this is nil
		if !s.moves.InContact() {
			refused = s.inbox
		}
		select {
		case err := <-result:
			return err
		case c := <-s.cancels:
			s.halt(c)
		case r := <-refused:
			if c, ok := r.(*cancel); ok {
				s.halt(c)
			} else {
				r.refuse(session.ErrCutOff)
			}
		case <-look.C:
		case <-ending:
			if ending = nil; errors.Is(context.Cause(s.ctx), session.ErrCutOff) {
				giveUp(session.ErrCutOff)
			}
		}
	}
}

// whole is [session.View.Whole], which may read the log.
func (s *state) whole(ctx context.Context, t *session.Turn) (whole *session.Turn, err error) {
	if !t.Released && !t.Unloaded {
		return t, nil
	}
	err = s.await(ctx, func(ctx context.Context) (err error) {
		whole, err = s.view.Whole(ctx, s.store, t)
		return err
	})
	return whole, err
}

// halt stops what a cancel is about to end. A parked turn has nothing to stop, and its cancel may still be refused.
func (s *state) halt(c *cancel) {
	s.cancelled = append(s.cancelled, c)
	if c.halts = c.ends(s) && (s.works() || s.compacting != nil); !c.halts {
		return
	}
	if r := s.run; r != nil {
		if r.call != nil {
			r.call.stop(nil)
		}
		if r.round != nil {
			r.round.stop(nil)
		}
	}
	if s.compacting != nil {
		s.compacting.stop(errNoSummary)
	}
}

// halted reports whether what runs is about to be cancelled.
func (s *state) halted() bool {
	return slices.ContainsFunc(s.cancelled, func(c *cancel) bool { return c.ends(s) })
}
