package rpc

import (
	"context"
	"errors"

	"github.com/thinkd/thinkd/agent/watch"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/share"
)

type shareParams struct {
	Session method.ID[session.ID] `json:"session_id"`
	User    string                `json:"user,omitempty"`   // empty: nothing changes
	Access  shareAccess           `json:"access,omitempty"` // empty: read
}

// shareAccess is what a user may do from now on.
type shareAccess string

const noAccess shareAccess = "none"

// Words lists all that a client can ask for.
func (shareAccess) Words() []string {
	return provider.Words(shareAccess(session.ReadAccess), shareAccess(session.WriteAccess), noAccess)
}

type shareResult struct {
	Guests []wireGuest `json:"guests"` // by name
}

type wireGuest struct {
	User   string         `json:"user"`
	Access session.Access `json:"access"`
}

func shareSession(ctx context.Context, c *client, p shareParams) (shareResult, error) {
	shares := c.server.config.Shares
	if _, err := c.Sessions().Get(ctx, p.Session.Value); err != nil {
		return shareResult{}, err
	}
	if shares == nil {
		return shareResult{}, conn.InvalidRequest("this daemon serves one person, so there is nobody to share with")
	}
	ref := session.Ref{Owner: c.Owner(), ID: p.Session.Value}
	switch {
	case p.User != "":
		if err := c.setShare(ctx, shares, ref, p); err != nil {
			return shareResult{}, err
		}
	case p.Access != "":
		return shareResult{}, conn.InvalidParams("user", "is missing: whose access is to change?")
	}
	r := shareResult{Guests: []wireGuest{}}
	for _, one := range shares.With(ref) {
		r.Guests = append(r.Guests, wireGuest{one.Guest.User, one.Access})
	}
	return r, nil
}

// setShare changes what a user may do with a session. It tells the user's lists, and ends the user's subscriptions if the user may do nothing.
func (c *client) setShare(ctx context.Context, shares *share.Shares, ref session.Ref, p shareParams) error {
	of := session.Owner{Tenant: ref.Owner.Tenant, User: p.User}
	if err := auth.CheckOwner(of); err != nil {
		return conn.InvalidParams("user", "%v", err)
	}
	access := session.ReadAccess
	switch p.Access {
	case noAccess:
		access = ""
	case shareAccess(session.WriteAccess):
		access = session.WriteAccess
	}
	c.server.sharing.Lock() // so that lists hear of changes in their order
	defer c.server.sharing.Unlock()
	before, there := shares.Of(of, ref.ID)
	err := shares.Set(ref, p.User, access)
	switch {
	case errors.Is(err, share.ErrOperator), errors.Is(err, share.ErrFull):
		return conn.InvalidParams("session_id", "%v", err)
	case errors.Is(err, share.ErrSelf):
		return conn.InvalidParams("user", "%v", err)
	case errors.Is(err, share.ErrNotKept):
		c.Log().Error("a share was not stored", keyError, err)
		return session.ErrReadOnly
	case err != nil:
		return err
	}
	switch {
	case before.Access == access: // also if there is no access before and after
		return nil
	case access == "":
		c.server.Revoke(of, ref.ID)
	}
	if shares.Watched() { // ShareChanged tells the lists at all nodes
		return nil
	}
	return c.Sessions().Tell(ctx, of, ref.ID, told(there, access))
}

// told is what the lists of a guest hear of a change.
func told(before bool, after session.Access) watch.Kind {
	switch {
	case after == "":
		return watch.Removed
	case before:
		return watch.Changed
	}
	return watch.Created
}

// ShareChanged is called after a share was changed, by any node: see [share.Shares.Watch]. It does here what session/share does for a share of one
// daemon: it tells the guest's lists, and ends what the guest follows if the guest may do nothing.
func (s *Server) ShareChanged(ctx context.Context, before, after share.Share) {
	one := before
	if before.Access == "" {
		one = after
	}
	if after.Access == "" {
		s.Revoke(one.Guest, one.Ref.ID)
	}
	err := s.config.Sessions(method.Principal{Owner: one.Ref.Owner}).Tell(ctx, one.Guest, one.Ref.ID, told(before.Access != "", after.Access))
	if err != nil && !errors.Is(err, session.ErrNotFound) { // it was deleted meanwhile
		s.config.Log.Warn("the lists of a guest do not show a change of a shared session", "session", one.Ref.ID, keyError, err)
	}
}

type sharedResult struct {
	Sessions []sharedSession `json:"sessions"` // the oldest first
}

// sharedSession is a session of another user of the same tenant.
type sharedSession struct {
	Session session.ID     `json:"session_id"`
	User    string         `json:"user"` // whose it is
	Access  session.Access `json:"access"`
	Title   string         `json:"title,omitempty"`
	Updated int64          `json:"updated_at"` // Unix milliseconds
}

func sharedSessions(ctx context.Context, c *client, _ method.Nothing) (sharedResult, error) {
	r := sharedResult{Sessions: []sharedSession{}}
	if c.server.config.Shares == nil {
		return r, nil
	}
	for _, one := range c.server.config.Shares.To(c.Owner()) {
		s, err := c.server.config.Sessions(method.Principal{Owner: one.Ref.Owner}).Get(ctx, one.Ref.ID)
		if errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrDamaged) { // deleted meanwhile, or of no use
			continue
		}
		if err != nil {
			return sharedResult{}, err
		}
		r.Sessions = append(r.Sessions, sharedSession{s.ID, one.Ref.Owner.User, one.Access, s.Title, s.Updated})
	}
	return r, nil
}
