package rpc

import (
	"context"
	"encoding/json"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/watch"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/rpc/failure"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
)

// theList stands for the list of sessions among the sessions that a client follows.
const theList session.ID = ""

type watchParams struct {
	Limit pageLimit `json:"limit,omitzero"`
}

// watchList subscribes before it lists, so that no change is in neither. What changes in between is in both, and the update has the
// later state.
func watchList(ctx context.Context, c *client, p watchParams) (r listResult, err error) {
	w := &watched{c: c, changes: c.Sessions().Watch()}
	r.Sessions = []wire.Session{}
	if limit := p.Limit.orDefault(); limit > 0 {
		r, err = c.listPage(ctx, session.Query{Limit: limit}, nil)
	}
	if err != nil {
		w.changes.Close()
		return listResult{}, err
	}
	w.conn = c.Conn.Subscribe(w)
	c.Hold() // until Close
	c.Enter(theList, w)
	w.changes.Notify(w.conn.Ready)
	return r, nil
}

func unwatchList(_ context.Context, c *client, _ method.Nothing) (method.Nothing, error) {
	c.Unfollow(theList)
	return method.Nothing{}, nil
}

// watched is the source of a conn.Subscription: the list of sessions.
//
//	watch.Subscription ──► watched ──► the connection's queue
//
// The connection takes the next update when it has room, and what changes meanwhile merges in the watch.Subscription.
type watched struct {
	c       *client
	changes *watch.Subscription
	conn    *conn.Subscription // set before the first update
}

// listUpdate says what changed in the list.
type listUpdate struct {
	Created []wire.Session `json:"created,omitempty"`
	Changed []wire.Session `json:"changed,omitempty"`
	Removed []session.ID   `json:"removed,omitempty"`
	Stale   bool           `json:"stale,omitempty"` // see door.ListStale
}

// updateBytes is about how large an update is at most, unless a single session is larger.
const updateBytes = 64 << 10

func (w *watched) End() { w.conn.Close() }

// Close is called once, by the connection.
func (w *watched) Close() {
	w.changes.Close()
	w.c.Leave(theList, w)
	w.c.Release()
}

// Next encodes what changed. After a failure, which has ended the connection, nothing more comes.
func (w *watched) Next() (message []byte, last bool) {
	message, err := failure.Guard(func() (message []byte, err error) {
		message, last, err = w.next()
		return message, err
	})
	if err != nil {
		w.c.UpdatesFailed(theList, err)
		return nil, true
	}
	return message, last
}

func (w *watched) next() (message []byte, last bool, err error) {
	for {
		changes, err := w.changes.Take(updateBytes)
		if err != nil {
			return door.ListStale(), true, nil
		}
		if len(changes) == 0 {
			return nil, false, nil
		}
		u, empty := w.update(changes)
		if empty {
			continue
		}
		params, err := json.Marshal(u)
		if err != nil {
			return nil, true, err
		}
		return door.ListUpdate(params), false, nil
	}
}

// update is what the client gets of changes. Those of a session that is not shared with the client's user any more are left out: they waited
// while the sharing ended, and the removal waits behind them.
func (w *watched) update(changes []watch.Change) (u listUpdate, empty bool) {
	for _, c := range changes {
		if c.Kind == watch.Removed {
			u.Removed = append(u.Removed, c.Session.ID)
			continue
		}
		row, ok := w.row(c)
		switch {
		case !ok:
		case c.Kind == watch.Created:
			u.Created = append(u.Created, row)
		default:
			u.Changed = append(u.Changed, row)
		}
	}
	return u, len(u.Created)+len(u.Changed)+len(u.Removed) == 0
}

// row shows a session that is the user's own, or shared with the user.
func (w *watched) row(c watch.Change) (row wire.Session, ok bool) {
	if c.Of == w.c.Owner() {
		return w.c.listed(c), true
	}
	of, ok := w.c.sharedWith(c.Session.ID)
	if !ok || of.Ref.Owner != c.Of {
		return row, false
	}
	return w.c.listedOf(of, c), true
}

type readParams struct {
	Session method.ID[session.ID]     `json:"session_id"`
	Turn    method.ID[session.TurnID] `json:"turn_id,omitzero"`
}

func markRead(ctx context.Context, c *client, p readParams) (method.Nothing, error) {
	return service.OnAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (method.Nothing, error) {
		return method.Nothing{}, a.MarkRead(ctx, c.Principal.Name, p.Turn.Value)
	})
}
