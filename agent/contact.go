package agent

import (
	"context"
	"errors"
	"time"

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

// standing is how often a session that stands still looks whether it may go on. One that does not looks as often, if it could be claimed.
const (
	standing = time.Second
	looks    = 5 * time.Second
)

// standsStill reports whether another node may have claimed the session.
func (s *state) standsStill() bool { return s.moves != nil && !s.moves.Current() }

// confirm makes sure that no other node has claimed the session. After an error the agent has ended, or the node is cut off.
func (s *state) confirm() error {
	if !s.standsStill() {
		return nil
	}
	if _, err := s.owned.Append(s.ctx); err != nil {
		if !errors.Is(err, session.ErrCutOff) {
			s.storeFailed(err)
		}
		return err
	}
	pending := s.pending
	s.pending = nil
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
// closed the turn by now. Then an append without entries decides. If that is late too, the session stands still, and again runs after it.
func (s *state) mayBegin(again func()) bool {
	if s.moves == nil || s.moves.Recent() {
		return true
	}
	_, err := s.owned.Append(context.WithoutCancel(s.ctx))
	switch {
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
