package agent

import (
	"context"
	"encoding/json"

	"github.com/thinkd/thinkd/session"
)

// Fork makes a session that goes on from a message of another one, or, without a message, from the turns that have ended. It
// shares what was said up to there, so models are sent the same bytes, and thinking that is bound to them stays valid. What a
// person allowed for the whole session, the fork asks again. The other session does not change, and may be deleted.
// Errors: ErrNoMessage, session.ErrUnfinished, and those of the store.
func (g *Group) Fork(ctx context.Context, id session.ID, message session.MessageID) (session.Session, error) {
	s, err := g.forked(ctx, id, message)
	if err != nil {
		return s, err
	}
	return g.Create(ctx, s)
}

// ForkOnce is Fork for a stamped request, as CreateOnce is Create. Error: session.ErrReused too.
func (g *Group) ForkOnce(ctx context.Context, id session.ID, message session.MessageID, stamp session.Stamp, answer func(session.ID) (json.RawMessage, error)) (session.Made, error) {
	s, err := g.forked(ctx, id, message)
	if err != nil {
		return session.Made{}, err
	}
	return g.CreateOnce(ctx, s, stamp, answer)
}

// forked is the record of a fork, without an id.
func (g *Group) forked(ctx context.Context, id session.ID, message session.MessageID) (fork session.Session, err error) {
	err = g.Do(ctx, id, func(a *Agent) error {
		fork, err = ask(ctx, a, func(s *state) (session.Session, error) {
			if err := s.writable(); err != nil { // what closes a crash's turn is to be in the log
				return session.Session{}, err
			}
			fork, ok, err := s.view.Fork(message)
			if !ok {
				return fork, ErrNoMessage
			}
			return fork, err
		})
		return err
	})
	return fork, err
}
