package agent

import (
	"context"
	"errors"
	"slices"

	"github.com/thinkd/thinkd/session"
)

// In a cluster another node may claim the log of a session that is loaded here, when this node is cut off from the store servers. The log knows
// whether that may have happened (session.Movable.Current). Then the session stands still: it publishes nothing, starts nothing, and
// answers no request. What arrives from models and tools waits. An append without entries says how it goes on:
//
//	stands still ──append──► stored: what waits happens now
//	                    └──► fenced: the agent ends, and its subscribers attach again
//
// On one machine a log does not move, and nothing here does anything.

// standsStill reports whether another node may have claimed the session.
func (s *state) standsStill() bool { return s.moves != nil && !s.moves.Current() }

// confirm makes sure that no other node has claimed the session. After an error the agent has ended, or the node is cut off.
func (s *state) confirm() error {
	if !s.standsStill() {
		return nil
	}
	if err := s.commit(s.ctx); err != nil {
		if !errors.Is(err, session.ErrCutOff) {
			s.storeFailed(err)
		}
		return err
	}
	pending := s.pending
	s.pending = nil
	if s.halted() { // what waits is of the turn, or of the summary, that the cancel is about to end
		return s.ended
	}
	for _, f := range pending {
		s.guard(f)
	}
	return s.ended
}

// act runs f, or has it wait while the session stands still.
func (s *state) act(f func()) {
	if s.standsStill() {
		s.pending = append(s.pending, f)
		return
	}
	s.guard(f)
}

// mayBegin reports whether a model call or a tool may start whose entry is stored. The acknowledgement may have come late, and another node may have
// closed the turn by now. Then an append without entries decides. If that is late too, the session stands still, and again runs after it. Nothing
// starts in a turn that is about to be cancelled.
func (s *state) mayBegin(again func()) bool {
	if s.halted() {
		return false
	}
	if s.moves == nil || s.moves.Recent() {
		return true
	}
	err := s.commit(context.WithoutCancel(s.ctx))
	switch {
	case err == nil && s.halted():
		return false
	case err == nil && s.moves.Recent():
		return true
	case err != nil && !errors.Is(err, session.ErrCutOff):
		s.storeFailed(err)
		return false
	}
	s.moves.Doubt()
	s.pending = append(s.pending, again)
	return false
}

// endCancelled answers the cancels that were heard. If the node is cut off, those that have stopped something wait for the contact, or for the end of
// the agent (Group.Abandon).
func (s *state) endCancelled() {
	for len(s.cancelled) > 0 && s.ended == nil {
		if err := s.confirm(); err != nil {
			s.cancelled = slices.DeleteFunc(s.cancelled, func(c *cancel) bool {
				if c.ends(s) && (c.halts || s.works() || s.compacting != nil) { // what it is about does not go on, so it counts
					return false
				}
				c.refuse(err)
				return true
			})
			return
		}
		c := s.cancelled[0]
		s.cancelled = slices.Delete(s.cancelled, 0, 1)
		c.do(s)
	}
}
