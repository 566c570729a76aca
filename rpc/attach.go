package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"math"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
)

// attachTo subscribes the client to a session. With a number, the snapshot has what was told since, if that is known.
func (c *client) attachTo(ctx context.Context, id session.ID, after seqNumber, limit int) (agent.Snapshot, error) {
	snap, follow, err := c.attachThen(ctx, id, after, limit)
	if err == nil {
		follow()
	}
	return snap, err
}

// attachThen is attachTo but for the updates: they wait until follow is called, which has to be. It is for those who
// answer late, on a goroutine that nothing keeps from being overtaken.
func (c *client) attachThen(ctx context.Context, id session.ID, after seqNumber, limit int) (snap agent.Snapshot, follow func(), err error) {
	var sub *feed.Subscription
	snap, err = service.OnAgent(ctx, c, id, func(a *agent.Agent) (snap agent.Snapshot, err error) {
		if after.given {
			snap, sub, err = a.AttachAfter(ctx, after.n, limit)
		} else {
			snap, sub, err = a.Attach(ctx, limit)
		}
		if err == nil && c.confirms {
			sub.Confirms()
		}
		return snap, err
	})
	return snap, func() { c.subscribe(id, snap.Seq, sub) }, err
}

type attachParams struct {
	Session method.ID[session.ID] `json:"session_id"`
	After   seqNumber             `json:"after_seq,omitzero"`
	Limit   pageLimit             `json:"limit,omitzero"`
}

// attachResult has updates, or what stands behind them.
type attachResult struct {
	Session  wire.Session   `json:"session"`
	Seq      uint64         `json:"seq"`
	Updates  []wire.Update  `json:"updates,omitzero"`
	Messages []wire.Message `json:"messages,omitzero"`
	More     *bool          `json:"more,omitempty"`
	Open     *openTurn      `json:"open,omitempty"`
}

type openTurn struct {
	Turn      session.TurnID    `json:"turn_id"`
	Model     feed.Model        `json:"model"`
	Reasoning provider.Decision `json:"reasoning"`
	Payer     *provider.Payer   `json:"payer,omitempty"` // absent: not known
	Messages  []wire.Message    `json:"messages"`
	More      bool              `json:"more,omitempty"` // there are older ones of this turn, for which there was no room
	Confirms  []wire.Confirm    `json:"confirms,omitempty"`
	Tools     []wire.OpenTool   `json:"tools,omitempty"`
	Parked    *wire.Parked      `json:"parked,omitempty"` // absent: the turn is not parked
	Continues session.TurnID    `json:"continues,omitempty"`
	Joins     *feed.Joined      `json:"joins,omitempty"`
	wire.Waiting
}

func attach(ctx context.Context, c *client, p attachParams) (attachResult, error) {
	snap, err := c.attachTo(ctx, p.Session.Value, p.After, p.Limit.orDefault())
	if err != nil {
		return attachResult{}, err
	}
	r := attachResult{Session: wire.NewSession(snap.Session, wire.ModelOf(snap.Model, snap.Decision)), Seq: snap.Seq}
	r.Session.Grants = snap.Grants
	room := c.server.out.Room()
	if snap.Since != nil {
		if r.Updates = c.server.out.Updates(snap.Since, room); r.Updates != nil {
			return r, nil
		}
	}
	if t := snap.Turn; t != nil {
		r.Open = &openTurn{Turn: t.ID, Model: t.Model, Reasoning: *wire.NewReasoning(t.Reasoning), Payer: wire.NewPayer(t.Payer), Waiting: wire.NewWaiting(snap.Queue),
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
	r.More = new(snap.More || len(r.Messages) < len(snap.Messages))
	return r, err
}

func detach(_ context.Context, c *client, p sessionParams) (method.Nothing, error) {
	c.Unfollow(p.Session.Value)
	return method.Nothing{}, nil
}

// seqNumber is a sequence number as a client gives it. Any JSON number that is whole will do.
type seqNumber struct {
	n     uint64
	given bool
}

func (s *seqNumber) UnmarshalJSON(data []byte) error {
	s.given = true
	if json.Unmarshal(data, &s.n) == nil {
		return nil
	}
	var n float64
	if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	switch {
	case n != math.Trunc(n):
		return errors.New("must be a whole number")
	case n < 0:
		return errors.New("is negative")
	case n >= 1<<64: // ahead of any session, as the largest is
		s.n = math.MaxUint64
	default:
		s.n = uint64(n)
	}
	return nil
}

// JSONSchema is what rpc.discover tells of it.
func (seqNumber) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Minimum: new(float64)}
}
