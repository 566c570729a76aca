package agent

import (
	"context"

	"github.com/thinkd/thinkd/session"
)

// logOf is a Log with another Append or Checkpoint; nil: that of the Log.
type logOf struct {
	session.Log
	append     func(context.Context, ...session.Entry) (uint64, error)
	checkpoint func(block session.BlockRef, from int, text string)
}

func (l *logOf) Append(ctx context.Context, entries ...session.Entry) (uint64, error) {
	if l.append == nil {
		return l.Log.Append(ctx, entries...)
	}
	return l.append(ctx, entries...)
}

func (l *logOf) Checkpoint(block session.BlockRef, from int, text string) {
	if l.checkpoint == nil {
		l.Log.Checkpoint(block, from, text)
		return
	}
	l.checkpoint(block, from, text)
}

// appending claims a session for a store whose holders append in another way.
func appending(ctx context.Context, s session.Sessions, id session.ID, add func(context.Context, session.Log, ...session.Entry) (uint64, error)) (session.Log, error) {
	log, err := s.Claim(ctx, id)
	if err != nil {
		return nil, err
	}
	return &logOf{Log: log, append: func(ctx context.Context, entries ...session.Entry) (uint64, error) {
		return add(ctx, log, entries...)
	}}, nil
}
