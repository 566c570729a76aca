package service

import (
	"context"
	"encoding/json"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/agent/watch"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/search"
	"github.com/thinkd/thinkd/session/share"
)

// Sessions are the sessions of one principal, with their agents. Calls come from all connections of the principal in
// parallel. A session of somebody else is not there: session.ErrNotFound. [AgentsOf] is the implementation for a daemon
// that keeps all sessions itself.
type Sessions interface {
	// Create stores a new session. It sets ID, Created, Updated and Status; the rest is the caller's.
	Create(ctx context.Context, s session.Session) (session.Session, error)

	// CreateOnce is Create for a request that may come again. The first request with a stamp creates the session and stores
	// what answer makes of its id; all that follow get the same. Error: session.ErrReused for other params.
	CreateOnce(ctx context.Context, s session.Session, stamp session.Stamp, answer func(session.ID) (json.RawMessage, error)) (session.Creation, error)

	// Creation is what the first request with a stamp was answered; ok is false if there was none.
	Creation(ctx context.Context, stamp session.Stamp) (first session.Creation, ok bool, err error)

	// Fork creates a session that shares what another one has up to a message; ForkOnce is for a request that may come again.
	Fork(ctx context.Context, id session.ID, message session.MessageID) (session.Session, error)
	ForkOnce(ctx context.Context, id session.ID, message session.MessageID, stamp session.Stamp, answer func(session.ID) (json.RawMessage, error)) (session.Creation, error)

	// ForkBefore is Fork from right before a summary; ForkBeforeOnce is for a request that may come again.
	ForkBefore(ctx context.Context, id session.ID, at session.Before) (session.Session, error)
	ForkBeforeOnce(ctx context.Context, id session.ID, at session.Before, stamp session.Stamp, answer func(session.ID) (json.RawMessage, error)) (session.Creation, error)

	// Do runs f with the session's agent, which is loaded if it must be. f may run again with another agent if the first
	// one has ended meanwhile.
	Do(ctx context.Context, id session.ID, f func(*agent.Agent) error) error

	// Get and List read what is stored. Live is what a session does now, given its record; loaded is false if its agent is not loaded.
	Get(ctx context.Context, id session.ID) (session.Session, error)
	List(ctx context.Context, q session.Query) (page []session.Session, next string, err error)
	Live(s session.Session) (now agent.Live, loaded bool)

	// SealCursor makes a cursor of a place that says something about all users; OpenCursor undoes it. Error: session.ErrCursor.
	SealCursor(place string) string
	OpenCursor(cursor string) (string, error)

	// Search finds text in what is stored, within bounds: see [search.Scan].
	Search(ctx context.Context, q search.Query, b search.Bounds) (search.Page, error)

	// Watch subscribes to the changes of all these sessions. The caller closes the subscription.
	Watch() *watch.Subscription

	// Tell sends the change to the lists of a guest that a sharing makes.
	Tell(ctx context.Context, guest session.Owner, id session.ID, kind watch.Kind) error

	// Delete ends what the session is doing and removes it. Deleting what is not there is a success.
	Delete(ctx context.Context, id session.ID) error

	// Used lists what model calls used from one day to another, also in sessions that were deleted. Today is the day in UTC.
	// UsedByAll is Used for the sessions of all owners; only the operator may read it.
	Used(ctx context.Context, from, to session.Day) ([]session.Line, error)
	UsedByAll(ctx context.Context, from, to session.Day) ([]session.Line, error)
	Today() session.Day

	// Budgets is what is spent and reserved now of each limit for all sessions of the daemon; only the operator sees it. Attend says that
	// a person wrote or approved something; only the operator counts.
	Budgets() []session.Spending
	Attend()

	// Decide returns the model and the level that a turn with these settings would get. It waits for nothing.
	Decide(set session.Settings, o session.Override) (provider.Model, provider.Decision, error)

	// Hosts lists who runs tools for a session, or for one that has no id yet. It waits for nothing.
	Hosts(s session.Session) []toolhost.Host
}

// AgentsOf returns the sessions of a group's agents, by principal. It is for [Config].
func AgentsOf(group *agent.Group) func(method.Principal) Sessions { return SharedAgentsOf(group, nil) }

// SharedAgentsOf is AgentsOf for sessions that owners may share. A session that is shared with a principal is there for Do, whatever the access:
// the caller has checked what the principal may do. nil: nothing is shared.
func SharedAgentsOf(group *agent.Group, shares *share.Shares) func(method.Principal) Sessions {
	return func(p method.Principal) Sessions { return agentSessions{group.For(p.Owner), group, p.Owner, shares} }
}

// agentSessions are the sessions of one owner, and what holds for all sessions of the group.
type agentSessions struct {
	*agent.Sessions
	group  *agent.Group
	owner  session.Owner
	shares *share.Shares
}

// Do runs f with a session of the owner, or with one that is shared with the owner.
func (s agentSessions) Do(ctx context.Context, id session.ID, f func(*agent.Agent) error) error {
	if s.shares != nil {
		if one, ok := s.shares.Of(s.owner, id); ok {
			return s.group.For(one.Ref.Owner).Do(ctx, id, f)
		}
	}
	return s.Sessions.Do(ctx, id, f)
}

func (s agentSessions) Decide(set session.Settings, o session.Override) (provider.Model, provider.Decision, error) {
	return s.group.Config().Decide(set, o)
}

func (s agentSessions) Today() session.Day { return s.group.Today() }

func (s agentSessions) UsedByAll(ctx context.Context, from, to session.Day) ([]session.Line, error) {
	if s.owner != session.Operator {
		return nil, method.Forbidden(method.Audit, "the usage of others")
	}
	return s.group.Config().Store.Ledger().Lines(ctx, nil, from, to)
}

// Budgets and Attend are for the operator: the limits for all sessions are theirs.
func (s agentSessions) Budgets() []session.Spending {
	if s.owner != session.Operator {
		return nil
	}
	return s.group.Budgets()
}

func (s agentSessions) Attend() {
	if s.owner == session.Operator {
		s.group.Attend()
	}
}

func (s agentSessions) Hosts(of session.Session) []toolhost.Host {
	if list := s.group.Config().Hosts; list != nil {
		return list(s.owner, of)
	}
	return nil
}
