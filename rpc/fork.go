package rpc

import (
	"context"
	"encoding/json"

	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

type forkParams struct {
	Session method.ID[session.ID]        `json:"session_id"`
	Message method.ID[session.MessageID] `json:"message_id,omitzero"`
	Client  *clientID                    `json:"client_id,omitempty"`
}

type forkResult struct {
	Session session.ID `json:"session_id"`
}

// stamp is that of session/fork. Its digest has the session, so it is none of session/new.
func (p forkParams) stamp() (*session.Stamp, error) {
	id := p.Client
	p.Client = nil
	return stampOf(id, p)
}

func fork(ctx context.Context, c *client, p forkParams) (r forkResult, err error) {
	sessions := c.Sessions()
	stamp, err := p.stamp()
	if err != nil {
		return r, err
	}
	if stamp == nil {
		made, err := sessions.Fork(ctx, p.Session.Value, p.Message.Value)
		return forkResult{made.ID}, err
	}
	first, ok, err := sessions.Creation(ctx, *stamp) // what was once made is answered, though its parent may be gone today
	if !ok && err == nil {
		first, err = sessions.ForkOnce(ctx, p.Session.Value, p.Message.Value, *stamp, func(id session.ID) (json.RawMessage, error) {
			return json.Marshal(forkResult{id})
		})
	}
	if err != nil {
		return r, err
	}
	return forkResult{first.Session}, nil
}
