package rpc

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/search"
	"github.com/thinkd/thinkd/session/share"
)

// Lists of a user end with the sessions that others share with the user, in the order of their ids: a program that takes the first session
// takes one of the user's own. Searches begin with them. A cursor of that part has sharedCursor, the id after which it goes on, and for a
// search that ended inside a session its cursor.
const sharedCursor = "shared:"

// behindShared is behind the ids of all sessions: the user's own follow in a search.
const behindShared session.ID = "~"

// sharedRecord is a session that somebody shares with the client's user.
type sharedRecord struct {
	session.Session
	of share.Share
}

// sharedAt reads a cursor; ok is false if there is none, or if it is one of the user's own sessions.
func sharedAt(cursor string) (after session.ID, inside string, ok bool) {
	rest, ok := strings.CutPrefix(cursor, sharedCursor)
	if !ok {
		return "", "", false
	}
	id, inside, _ := strings.Cut(rest, ":")
	return session.ID(id), inside, true
}

func sharedNext(after session.ID, inside string) string {
	return sharedCursor + string(after) + ":" + inside
}

// sharedWith returns whose session an id is, if somebody shares it with the user.
func (c *client) sharedWith(id session.ID) (share.Share, bool) {
	if c.server.config.Shares == nil || id == "" {
		return share.Share{}, false
	}
	return c.server.config.Shares.Of(c.Owner(), id)
}

// ofOwner are the sessions of the user who shares.
func (c *client) ofOwner(s share.Share) service.Sessions {
	return c.server.config.Sessions(method.Principal{Owner: s.Ref.Owner})
}

// sharedAfter returns sessions behind an id that others share with the user and that f selects. What people have pinned or archived is
// for their own lists.
func (c *client) sharedAfter(ctx context.Context, after session.ID, f session.Filter) (list []sharedRecord, err error) {
	if c.server.config.Shares == nil {
		return nil, nil
	}
	for _, one := range c.server.config.Shares.To(c.Owner()) {
		if one.Ref.ID <= after {
			continue
		}
		s, err := c.ofOwner(one).Get(ctx, one.Ref.ID)
		if errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrDamaged) { // deleted meanwhile, or of no use
			continue
		}
		if err != nil {
			return nil, err
		}
		s.OnTop, s.Archived = false, false
		if f.Matches(s) {
			list = append(list, sharedRecord{s, one})
		}
	}
	return list, nil
}

// sharedFound is what a search found in a shared session.
type sharedFound struct {
	search.Found
	of share.Share
}

// searchShared searches sessions that others share with the user, within the bounds. next is the cursor for the rest; empty: all were read.
func (c *client) searchShared(ctx context.Context, q search.Query, b search.Bounds) (all []sharedFound, page search.Page, next string, err error) {
	after, inside, _ := sharedAt(q.Cursor)
	list, err := c.sharedAfter(ctx, after, q.Of)
	if err != nil {
		return nil, page, "", err
	}
	end := time.Now().Add(b.Time)
	for _, one := range list {
		if b.Time = time.Until(end); b.Time <= 0 || len(all) == q.Limit || b.Result <= 0 {
			return all, page, sharedNext(after, inside), nil
		}
		within := search.Query{Text: q.Text, In: q.In, Session: one.ID, Cursor: inside, Limit: 100}
		found, err := c.ofOwner(one.of).Search(ctx, within, b)
		if err != nil {
			return nil, page, "", err
		}
		page.Read, page.Unreadable = page.Read+found.Read, page.Unreadable+found.Unreadable
		for _, f := range found.Found {
			f.Session.OnTop, f.Session.Archived = false, false
			all = append(all, sharedFound{f, one.of})
			for _, x := range f.Excerpts {
				b.Result -= len(x.Text)
			}
		}
		if found.Next != "" {
			return all, page, sharedNext(after, found.Next), nil
		}
		after, inside = one.ID, ""
	}
	return all, page, "", nil
}

// seen is a session as the client's user sees it. A guest also sees whose it is, and what the guest may do with it.
func (c *client) seen(w wire.Session) wire.Session {
	if of, ok := c.sharedWith(w.ID); ok {
		return asGuest(w, of)
	}
	return w
}

// asGuest is a session that somebody shares with the user. What its owner has pinned or archived is for the owner's own list.
func asGuest(w wire.Session, of share.Share) wire.Session {
	w.Owner, w.Access, w.OnTop, w.Archived = of.Ref.Owner.User, of.Access, false, false
	return w
}
