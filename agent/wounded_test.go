package agent

import (
	"context"
	"errors"
	"sync"

	"github.com/thinkd/thinkd/session"
)

// wound is what happens to one Append of a store.
type wound int

const (
	readOnly        wound = iota + 1 // refused
	readOnlyWritten                  // refused, and there all the same
	failing                          // another error
	failingWritten
	killed        // the process is killed before the commit
	killedWritten // after it, and before anybody hears
)

var (
	errDisk = errors.New("input/output error on the disk at /a/path")
	errDead = errors.New("the process is dead")
)

// wounded is a store that fails as a test directs.
type wounded struct {
	session.Sessions
	mu          sync.Mutex
	appends     int
	checkpoints int
	wounds      map[int]wound // by number of Append
	lost        map[int]bool  // checkpoints that never reach the disk
	dead        bool
}

func (w *wounded) next() wound {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		return killed
	}
	w.appends++
	hit := w.wounds[w.appends]
	w.dead = hit == killed || hit == killedWritten
	return hit
}

func (w *wounded) Claim(ctx context.Context, id session.ID) (session.Log, error) {
	log, err := w.Sessions.Claim(ctx, id)
	if err != nil {
		return nil, err
	}
	return &logOf{
		Log: log,
		append: func(ctx context.Context, entries ...session.Entry) (uint64, error) {
			return w.add(ctx, log, entries...)
		},
		checkpoint: func(block session.BlockRef, from int, text string) { w.checkpoint(log, block, from, text) },
	}, nil
}

func (w *wounded) add(ctx context.Context, log session.Log, entries ...session.Entry) (uint64, error) {
	switch hit := w.next(); hit {
	case readOnly:
		return 0, session.ErrReadOnly
	case failing:
		return 0, errDisk
	case killed:
		return 0, errDead
	case readOnlyWritten, failingWritten, killedWritten:
		if _, err := log.Append(ctx, entries...); err != nil {
			return 0, err
		}
		return 0, map[wound]error{readOnlyWritten: session.ErrReadOnly, failingWritten: errDisk, killedWritten: errDead}[hit]
	}
	return log.Append(ctx, entries...)
}

func (w *wounded) checkpoint(log session.Log, block session.BlockRef, from int, text string) {
	w.mu.Lock()
	w.checkpoints++
	lost := w.dead || w.lost[w.checkpoints]
	w.mu.Unlock()
	if !lost {
		log.Checkpoint(block, from, text)
	}
}

func (w *wounded) isDead() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead
}

func (w *wounded) kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = true
}

func (w *wounded) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wounds, w.dead = nil, false
}
