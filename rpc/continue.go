package rpc

import (
	"context"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
)

type continueParams struct {
	Session method.ID[session.ID] `json:"session_id"`
	Client  *clientID             `json:"client_id,omitempty"`
	Dry     bool                  `json:"dry_run,omitempty"`
}

type continueResult struct {
	Turn      session.TurnID  `json:"turn_id,omitempty"` // absent: none was started
	Continues session.TurnID  `json:"continues"`
	Parts     []continuedPart `json:"parts"`
}

// continuedPart says what becomes of one block, or of one result of a tool.
type continuedPart struct {
	Message session.MessageID       `json:"message_id"`
	Block   int                     `json:"block"`
	Type    provider.BlockKind      `json:"type"`
	Action  provider.ContinueAction `json:"action"`
}

// continueTurn starts a turn that goes on with an unfinished one.
func continueTurn(ctx context.Context, c *client, p continueParams) (continueResult, error) {
	stamp, err := p.stamp()
	if err != nil {
		return continueResult{}, err
	}
	on, err := service.OnAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (agent.Continued, error) { return a.Continue(ctx, stamp, p.Dry) })
	r := continueResult{Turn: on.Turn, Continues: on.Continuation.Turn, Parts: []continuedPart{}}
	for _, part := range on.Parts {
		if part.Type != provider.KindOpaque { // nobody may see it
			r.Parts = append(r.Parts, continuedPart(part))
		}
	}
	return r, err
}

// stamp is that of session/continue. A dry run has none: it may be repeated as it is.
func (p continueParams) stamp() (*session.Stamp, error) {
	if p.Dry {
		return nil, nil
	}
	return stampOf(p.Client, struct {
		Method  string                `json:"method"` // the other params are those of a prompt that says nothing
		Session method.ID[session.ID] `json:"session_id"`
	}{"session/continue", p.Session})
}
