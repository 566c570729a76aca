package rpc

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/rpc/failure"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
)

// attachTo subscribes the client to a session. With a number, the snapshot has the updates since, if they are known.
func (c *client) attachTo(ctx context.Context, id session.ID, after seqNumber, limit int, wants wanted) (agent.Snapshot, error) {
	snap, follow, err := c.attachThen(ctx, id, after, limit, wants)
	if err == nil {
		follow()
	}
	return snap, err
}

// attachThen is like attachTo, except that updates wait until the caller calls follow, which it must. It is for methods
// that respond later, on a goroutine of their own: without the wait, updates could be sent before the response.
func (c *client) attachThen(ctx context.Context, id session.ID, after seqNumber, limit int, wants wanted) (snap agent.Snapshot, follow func(), err error) {
	var sub *feed.Subscription
	snap, err = service.OnAgent(ctx, c, id, func(a *agent.Agent) (snap agent.Snapshot, err error) {
		if after.given {
			snap, sub, err = a.AttachAfter(ctx, after.n, limit)
		} else {
			snap, sub, err = a.Attach(ctx, limit)
		}
		if err == nil && c.confirms && wants.has(feed.Confirm{}) {
			sub.Confirms()
		}
		return snap, err
	})
	snap.Since = wants.of(snap.Since)
	return snap, func() { c.subscribe(id, snap.Seq, sub, wants) }, err
}

type attachParams struct {
	Session method.ID[session.ID] `json:"session_id"`
	After   seqNumber             `json:"after_seq,omitzero"`
	Limit   pageLimit             `json:"limit,omitzero"`

	Notifications []updateName `json:"notifications,omitempty"` // nil: as initialize has it
}

// attachResult has updates, or what stands behind them.
type attachResult struct {
	Session  wire.Session   `json:"session"`
	Seq      uint64         `json:"seq"`
	Updates  []wire.Update  `json:"updates,omitzero"`
	Messages []wire.Message `json:"messages,omitzero"`

	Summaries []wire.Summary `json:"summaries,omitzero"` // that were made right after one of the messages
	Steps     []wire.Step    `json:"steps,omitzero"`     // of their turns, those in open included

	More *bool     `json:"more,omitempty"`
	Open *openTurn `json:"open,omitempty"`
}

type openTurn struct {
	Turn      session.TurnID    `json:"turn_id"`
	Model     feed.Model        `json:"model"`
	Reasoning provider.Decision `json:"reasoning"`
	Payer     *provider.Payer   `json:"payer,omitempty"` // absent: not known

	Options *provider.OptionDecision `json:"options,omitempty"` // absent: none are asked for

	Messages  []wire.Message  `json:"messages"`
	More      bool            `json:"more,omitempty"` // there are older ones of this turn, for which there was no room
	Confirms  []wire.Confirm  `json:"confirms,omitempty"`
	Tools     []wire.OpenTool `json:"tools,omitempty"`
	Parked    *wire.Parked    `json:"parked,omitempty"` // absent: the turn is not parked
	Continues session.TurnID  `json:"continues,omitempty"`
	Joins     *feed.Joined    `json:"joins,omitempty"`
	wire.Waiting
}

func attach(ctx context.Context, c *client, p attachParams) (attachResult, error) {
	wants := c.wants
	if p.Notifications != nil {
		wants = wantedOf(p.Notifications)
	}
	_, guest := c.Guest(p.Session.Value)
	snap, err := c.attachTo(ctx, p.Session.Value, p.After, p.Limit.orDefault(), wants)
	if err != nil {
		return attachResult{}, err
	}
	if _, still := c.Guest(p.Session.Value); guest && !still { // the share has ended before there was a subscription to end
		c.Revoke(p.Session.Value)
	}
	r := attachResult{Session: c.seen(wire.NewSession(snap.Session, wire.ModelOf(snap.Model, snap.Decision)).WithDetails(snap.State)), Seq: snap.Seq}
	room := c.server.out.Room()
	if snap.Since != nil {
		if r.Updates = c.server.out.Updates(snap.Since, room); r.Updates != nil {
			return r, nil
		}
	}
	if t := snap.Turn; t != nil {
		r.Open = &openTurn{Turn: t.ID, Model: t.Model, Reasoning: *wire.NewReasoning(t.Reasoning), Payer: wire.NewPayer(t.Payer), Options: t.Options, Waiting: wire.NewWaiting(snap.Queue),
			Continues: t.Continues, Joins: t.Joins}
		if t.Parked != nil {
			r.Open.Parked = new(wire.NewParked(*t.Parked))
		}
		if r.Open.Messages, err = c.server.out.Newest(t.Messages, room, 1); err != nil {
			return attachResult{}, err
		}
		r.Open.Confirms = wire.NewConfirms(t.Confirms, room/4)
		r.Open.Tools = wire.NewOpenTools(t.Tools, room/4)
		r.Open.More = len(r.Open.Messages) < len(t.Messages)
		for _, m := range r.Open.Messages {
			room -= m.Size()
		}
	}
	least := 1
	if r.Open != nil {
		least = 0
	}
	r.Messages, err = c.server.out.Newest(snap.Messages, room, least)
	r.Summaries = c.server.out.SummariesInPage(shownAfter(snap.Summaries, r))
	r.Steps = wire.StepsInPage(shownMessages(snap, r))
	r.More = new(snap.More || len(r.Messages) < len(snap.Messages))
	return r, err
}

// shownMessages are the messages of a snapshot that an answer has.
func shownMessages(snap agent.Snapshot, r attachResult) []agent.Message {
	list := snap.Messages[len(snap.Messages)-len(r.Messages):]
	if r.Open != nil {
		of := snap.Turn.Messages
		list = slices.Concat(list, of[len(of)-len(r.Open.Messages):])
	}
	return list
}

// shownAfter are the summaries that were made after messages of an answer.
func shownAfter(list []agent.Summary, r attachResult) []agent.Summary {
	shown := make(map[session.MessageID]bool)
	for _, m := range r.Messages {
		shown[m.ID] = true
	}
	if r.Open != nil {
		for _, m := range r.Open.Messages {
			shown[m.ID] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(s agent.Summary) bool { return !shown[s.After] })
}

func detach(_ context.Context, c *client, p sessionParams) (method.Nothing, error) {
	c.Unfollow(p.Session.Value)
	return method.Nothing{}, nil
}

// A client follows sessions, each of them in one of two ways:
//
//	feed.Subscription ──► subscription ──► the connection's queue      a native client
//	feed.Subscription ──► sender ──► Client.Notify ──► the same queue  an editor
//
// A subscription has no goroutine: the connection takes the next update when it has room. An idle session costs next to
// nothing, and a slow client leaves its updates where they merge. But taking must not wait. What an editor gets of one
// update may be several messages, with images that have to be loaded and questions to the agent, so it has a sender: a
// goroutine that may wait.

// subscription is the source of a conn.Subscription.
type subscription struct {
	c       *client
	id      session.ID
	updates updates
	wants   wanted
	seq     uint64             // of the last update that was taken; for the goroutine that calls Next
	conn    *conn.Subscription // set before the first update

	revoked atomic.Bool // the session is not shared with the client any more
}

// updates are those of a session: an *feed.Subscription.
type updates interface {
	TryNext() (*feed.Update, error)
	Close()
}

// subscribe carries a session's updates to the client from now on; the answer to the request comes first. It ends
// with the session, or with stale.
func (c *client) subscribe(id session.ID, seq uint64, updates *feed.Subscription, wants wanted) {
	s := c.subscription(id, seq, updates, wants)
	updates.Notify(s.conn.Ready)
}

func (c *client) subscription(id session.ID, seq uint64, updates updates, wants wanted) *subscription {
	s := &subscription{c: c, id: id, updates: updates, wants: wants, seq: seq}
	s.conn = c.Conn.Subscribe(s)
	c.Hold() // until Close
	c.Enter(id, s)
	return s
}

func (s *subscription) End() { s.conn.Close() }

// Revoke ends the subscription with stale: the session is not shared with the client any more.
func (s *subscription) Revoke() {
	s.revoked.Store(true)
	s.conn.Ready()
}

// Close is called once, by the connection.
func (s *subscription) Close() {
	s.updates.Close()
	s.c.Leave(s.id, s)
	s.c.Release()
}

// Next encodes the next update. After a failure, which has ended the connection, nothing more comes.
func (s *subscription) Next() (message []byte, last bool) {
	message, err := failure.Guard(func() (message []byte, err error) {
		message, last = s.next()
		return message, nil
	})
	if err != nil {
		s.c.UpdatesFailed(s.id, err)
		return nil, true
	}
	return message, last
}

func (s *subscription) next() (message []byte, last bool) {
	if s.revoked.Load() {
		return door.Stale(string(s.id), s.seq), true
	}
	u, err := s.updates.TryNext()
	for u != nil && !s.wants.has(u.Event) { // there are as many as fit into a feed.Subscription
		s.seq = u.Seq
		u, err = s.updates.TryNext()
	}
	if stale, ok := errors.AsType[*feed.Stale](err); ok {
		return door.Stale(string(s.id), stale.After), true
	}
	if err != nil { // the session has ended under this client
		return door.Stale(string(s.id), s.seq), true
	}
	if u == nil {
		return nil, false
	}
	message = u.Encoded(s.c.server.out.Update)
	if len(message) > s.c.server.config.MessageBytes { // growth in one piece: an answer to attach can cut it
		return door.Stale(string(s.id), s.seq), true
	}
	s.seq = u.Seq
	return message, deleted(u.Event)
}
