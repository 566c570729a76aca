package ephemeral

import (
	"context"
	"errors"
	"strings"

	"github.com/thinkd/thinkd/session"
)

// in is where a session is made.
func (o sessions) in(s session.Session) session.Sessions {
	if s.Ephemeral {
		return o.memory
	}
	return o.durable
}

// of is where a session is.
func (o sessions) of(ctx context.Context, id session.ID) session.Sessions {
	if _, err := o.memory.Get(ctx, id); errors.Is(err, session.ErrNotFound) {
		return o.durable
	}
	return o.memory
}

// Create keeps a new session. The id of one in the other store is ErrExists as well.
func (o sessions) Create(ctx context.Context, s session.Session) error {
	if _, err := o.memory.Get(ctx, s.ID); err == nil {
		return session.ErrExists
	}
	return o.in(s).Create(ctx, s)
}

// CreateOnce is Create for a stamped request.
func (o sessions) CreateOnce(ctx context.Context, s session.Session, c session.Creation) (session.Creation, error) {
	other := o.memory
	if s.Ephemeral {
		o.store.making.Lock()
		defer o.store.making.Unlock()
		other = o.durable
	} else {
		o.store.making.RLock()
		defer o.store.making.RUnlock()
	}
	if first, ok, err := other.Creation(ctx, c.ID); ok || err != nil {
		return first, err
	}
	return o.in(s).CreateOnce(ctx, s, c)
}

// Creation is what CreateOnce kept.
func (o sessions) Creation(ctx context.Context, stamp string) (session.Creation, bool, error) {
	if c, ok, err := o.memory.Creation(ctx, stamp); ok || err != nil {
		return c, ok, err
	}
	return o.durable.Creation(ctx, stamp)
}

// Get is the session's record.
func (o sessions) Get(ctx context.Context, id session.ID) (session.Session, error) {
	s, err := o.memory.Get(ctx, id)
	if errors.Is(err, session.ErrNotFound) {
		return o.durable.Get(ctx, id)
	}
	return s, err
}

// MarkRead notes what a principal has read.
func (o sessions) MarkRead(ctx context.Context, id session.ID, principal string, ended int) error {
	return o.of(ctx, id).MarkRead(ctx, id, principal, ended)
}

// Delete removes a session.
func (o sessions) Delete(ctx context.Context, id session.ID) error {
	in := o.of(ctx, id)
	if err := in.Delete(ctx, id); err != nil || in != o.memory {
		return err
	}
	ref := session.Ref{Owner: o.owner, ID: id}
	if left := o.store.held(ref); left.id != "" {
		o.store.mu.Lock()
		delete(o.store.holds, ref)
		o.store.mu.Unlock()
		o.store.settle(ctx, settling{ref: ref, id: left.id})
	}
	return nil
}

// Entries reads the log after a position, of a session that was deleted too, if a fork shares it.
func (o sessions) Entries(ctx context.Context, id session.ID, after uint64, limit int) ([]session.Entry, error) {
	entries, err := o.memory.Entries(ctx, id, after, limit)
	if errors.Is(err, session.ErrNotFound) {
		return o.durable.Entries(ctx, id, after, limit)
	}
	return entries, err
}

// Claim makes the caller the holder of a log.
func (o sessions) Claim(ctx context.Context, id session.ID) (session.Log, error) {
	l, err := o.memory.Claim(ctx, id)
	if errors.Is(err, session.ErrNotFound) {
		return o.durable.Claim(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	return log{l, o.store, session.Ref{Owner: o.owner, ID: id}}, nil
}

// A cursor of a listing is two: where each store goes on. Either may be at its end.
const (
	cursorSeparator = "."
	cursorAtEnd     = "*" // no store has such a cursor
)

// List merges the pages of both stores by the times of their last changes. Each of the two is cut where the page ends, and asked again up
// to there: so each store lists as it promises.
func (o sessions) List(ctx context.Context, q session.Query) (page []session.Session, next string, err error) {
	var at [2]string
	if q.Cursor != "" {
		durable, memory, ok := strings.Cut(q.Cursor, cursorSeparator)
		if !ok {
			return nil, "", session.ErrCursor
		}
		at = [2]string{durable, memory}
	}
	var lists [2][]session.Session
	after := at
	from := [2]session.Sessions{o.durable, o.memory}
	read := func(i int, limit int) error {
		if at[i] == cursorAtEnd {
			return nil
		}
		part := q
		part.Cursor, part.Limit = at[i], limit
		lists[i], after[i], err = from[i].List(ctx, part)
		if after[i] == "" {
			after[i] = cursorAtEnd
		}
		return err
	}
	for i := range from {
		if err := read(i, q.PageSize()); err != nil {
			return nil, "", err
		}
	}
	taken := merged(lists, q.PageSize())
	for i := range from {
		switch {
		case taken[i] == len(lists[i]):
		case taken[i] == 0:
			lists[i], after[i] = nil, at[i]
		default:
			if err := read(i, taken[i]); err != nil {
				return nil, "", err
			}
		}
	}
	for len(lists[0])+len(lists[1]) > 0 {
		i := first(lists)
		page, lists[i] = append(page, lists[i][0]), lists[i][1:]
	}
	if after == [2]string{cursorAtEnd, cursorAtEnd} {
		return page, "", nil
	}
	return page, after[0] + cursorSeparator + after[1], nil
}

// merged is how many of each list are among the first of both.
func merged(lists [2][]session.Session, limit int) (taken [2]int) {
	for range limit {
		if len(lists[0])+len(lists[1]) == 0 {
			break
		}
		i := first(lists)
		taken[i]++
		lists[i] = lists[i][1:]
	}
	return taken
}

// first is the list with the session that changed last. At least one of them has a session.
func first(lists [2][]session.Session) int {
	if len(lists[0]) == 0 || len(lists[1]) > 0 && lists[1][0].Updated > lists[0][0].Updated {
		return 1
	}
	return 0
}
