package jet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/lease"
)

// log is the [session.Log] of one holder.
type log struct {
	d        driver
	accounts *accounts
	ready    func(context.Context) error // why nothing can be done
	released func(*log)                  // says that the log is not open any more
	taken    func(*log)                  // says that another holder has claimed the session
	since    time.Time                   // when it was claimed

	place place
	epoch uint64
	held  bool
	turn  session.TurnID
	grown *growths

	gate // for an append; what follows is its holder's
	own  lease.Log
	last found // the newest message, and
	base found // the newest that commits
	acct *account

	mu   sync.Mutex
	ends error // what later calls return: the log is of no use any more
}

// Held reports whether the queue waits for a person: the holder before did not hand the log over.
func (l *log) Held() bool { return l.held }

// Turn is the turn that was open when the log was claimed; empty: none was.
func (l *log) Turn() session.TurnID { return l.turn }

// Epoch begins with 0: the first claim of a session has the epoch 1 in the store.
func (l *log) Epoch() uint64 { return l.epoch - 1 }

func (l *log) state(ctx context.Context) error {
	if err := l.ready(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ends
}

// why is the error of a call to a log that has ended: a claim may have been that of a deletion.
func (l *log) why(ctx context.Context, err error) error {
	if !errors.Is(err, session.ErrFenced) {
		return err
	}
	if last, _, failed := l.d.lastOf(ctx, l.place); failed == nil && last.Deleted {
		return notFound(l.place.ref)
	}
	return err
}

// fence ends the log. The first reason counts.
func (l *log) fence(why error) {
	l.grown.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ends == nil {
		l.ends = why
	}
}

// Append adds entries. Without entries it confirms that the log is still this holder's. After an error whose outcome is unknown, the log is of no use:
// a message may be on the way, and only a new claim fences it.
func (l *log) Append(ctx context.Context, entries ...session.Entry) (last uint64, err error) {
	values, err := session.EncodeEntries(entries)
	if err != nil {
		return 0, fmt.Errorf("session %s: %w", l.place.ref, err)
	}
	return l.add(ctx, entries, values, false)
}

// add is one append. run says that it gives up the log.
func (l *log) add(ctx context.Context, entries []session.Entry, values [][]byte, run bool) (last uint64, err error) {
	if err := l.lock(ctx); err != nil {
		return 0, err
	}
	defer l.unlock()
	if err := l.state(ctx); err != nil {
		return 0, l.why(ctx, err)
	}
	after := l.acct.copy()
	running := after.Turn
	charges := after.apply(l.place.ref.Owner, l.base.Pos+uint64(len(entries)), entries)
	h := next(l.base, l.last)
	h.Pos, h.N, h.Turn, h.Run = after.Pos, len(entries), string(after.Turn), run
	b := body{entries: values}
	if b.record, err = json.Marshal(after.Session); err != nil {
		return 0, fmt.Errorf("session %s: %w", l.place.ref, err)
	}
	if err := l.put(ctx, h, b); err != nil {
		return 0, err
	}
	if len(entries) > 0 {
		l.grown.end(entries)
		l.acct.set(after, charges)
		l.accounts.changed(l.acct)
		if after.Turn == "" && running != "" {
			l.accounts.now()
		}
	}
	return after.Pos, nil
}

// put stores one append, in one message or more.
func (l *log) put(ctx context.Context, h head, b body) error {
	if h.Since >= mapEvery {
		items, err := l.d.items(ctx, l.place, l.last)
		if err != nil {
			return err
		}
		from, _ := slices.BinarySearchFunc(items, h.Map, func(it item, seq uint64) int { return int(int64(it.Seq) - int64(seq)) })
		b.items, h.Mapped = items[from:], true
	}
	data, err := b.encode()
	if err != nil {
		return fmt.Errorf("session %s: %w", l.place.ref, err)
	}
	stored, err := l.d.putParts(ctx, &l.own, l.place, l.last, h, data, &b)
	if stored.seq != 0 {
		l.last = stored
	}
	if err != nil {
		l.failed(err)
		return err
	}
	l.base = stored
	return nil
}

// putParts stores a body. It returns the newest message that is stored.
func (d driver) putParts(ctx context.Context, own *lease.Log, p place, last found, h head, data []byte, b *body) (stored found, err error) {
	parts := max((len(data)+partSize-1)/partSize, 1)
	committed := h
	for i := range parts {
		h := committed
		h.Part, h.Parts = i+1, parts
		chunk := data[i*partSize : min((i+1)*partSize, len(data))]
		if i > 0 {
			h.Prev = stored.digest()
		}
		var commits *body
		if !h.commits() {
			h.Pos, h.N, h.Mapped = committed.Pos-uint64(committed.N), 0, false
		} else {
			commits = b
		}
		one, err := d.store(ctx, own, p, h, chunk)
		if err != nil {
			return stored, err
		}
		stored = one
		if err := d.appended(context.WithoutCancel(ctx), p, stored, commits); err != nil {
			return stored, err
		}
	}
	return stored, nil
}

// failed takes note of an append that failed. If the message was refused, the log stays as it is.
func (l *log) failed(err error) {
	switch {
	case errors.Is(err, session.ErrNotFound):
		l.fence(notFound(l.place.ref))
	case errors.Is(err, session.ErrFenced):
		l.taken(l)
		l.fence(fmt.Errorf("session %s: %w", l.place.ref, session.ErrFenced))
	case errors.Is(err, ErrUnknown), errors.Is(err, session.ErrLost):
		l.fence(fmt.Errorf("session %s: %w", l.place.ref, session.ErrFenced))
	}
}

// Checkpoint takes in growth.
func (l *log) Checkpoint(ref session.BlockRef, from int, text string) {
	l.acct.mu.Lock()
	pos := l.acct.now.Pos
	l.acct.mu.Unlock()
	l.grown.grow(ref, pos, from, text)
}

// Checkpoints is what is stored of open blocks.
func (l *log) Checkpoints(ctx context.Context) ([]session.Growth, error) {
	if err := l.ready(ctx); err != nil {
		return nil, err
	}
	return l.grown.list(), nil
}

// Release gives up the log. It writes nothing: this node answers "not mine" to other nodes.
func (l *log) Release(ctx context.Context) error {
	if err := l.lock(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	defer l.unlock()
	l.fence(fmt.Errorf("session %s: %w", l.place.ref, session.ErrFenced))
	l.released(l)
	return nil
}

// HandOver gives up the log by a message: the next holder runs the queue.
func (l *log) HandOver(ctx context.Context) error {
	if _, err := l.add(ctx, nil, nil, true); err != nil {
		return err
	}
	return l.Release(ctx)
}

// copy is the account as it is now, to be changed.
func (a *account) copy() record {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now
	now.Lines = slices.Clone(now.Lines)
	return now
}

// set takes in an append.
func (a *account) set(now record, charges []session.Charge) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now = now
	if len(charges) > 0 {
		a.charges = append(a.charges, charged{now.Pos, charges})
	}
}
