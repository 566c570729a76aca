package rpc

import (
	"context"
	"errors"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
)

type compactResult struct {
	Compacted bool `json:"compacted"` // false: there was nothing to summarise, or it was cancelled
}

// compact begins in order and is answered when the summary is kept. It outlives the connection, but not its request's cancel.
func compact(ctx context.Context, c *client, p sessionParams) (func(context.Context) (compactResult, error), error) {
	over, err := service.OnAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (<-chan error, error) { return a.Compact(ctx) })
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (compactResult, error) {
		if over == nil {
			return compactResult{}, nil
		}
		select {
		case err := <-over:
			if agent.Cancelled(err) {
				return compactResult{}, nil
			}
			return compactResult{err == nil}, err
		case <-ctx.Done():
		}
		if errors.Is(context.Cause(ctx), conn.ErrCancelled) {
			_, err := service.OnAgent(context.WithoutCancel(ctx), c, p.Session.Value, func(a *agent.Agent) (method.Nothing, error) {
				return method.Nothing{}, a.StopCompaction(context.WithoutCancel(ctx))
			})
			if err != nil {
				return compactResult{}, err
			}
		}
		return compactResult{}, context.Cause(ctx)
	}, nil
}

type uncompactParams struct {
	Session method.ID[session.ID]        `json:"session_id"`
	Summary method.ID[session.SummaryID] `json:"summary_id,omitzero"`
}

type uncompactResult struct {
	Summary session.SummaryID `json:"summary_id"` // that was undone
}

func uncompact(ctx context.Context, c *client, p uncompactParams) (uncompactResult, error) {
	id, err := service.OnAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (session.SummaryID, error) { return a.Uncompact(ctx, p.Summary.Value) })
	return uncompactResult{id}, err
}

type summariesParams struct {
	Session method.ID[session.ID]        `json:"session_id"`
	Before  method.ID[session.SummaryID] `json:"before,omitzero"`
	Limit   pageLimit                    `json:"limit,omitzero"`
}

type summariesResult struct {
	Summaries []wire.Summary `json:"summaries"`
	More      bool           `json:"more"`
}

func summaries(ctx context.Context, c *client, p summariesParams) (summariesResult, error) {
	limit, err := p.Limit.page()
	if err != nil {
		return summariesResult{}, err
	}
	more := false
	list, err := service.OnAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (list []agent.Summary, err error) {
		list, more, err = a.Summaries(ctx, p.Before.Value, limit)
		return list, err
	})
	shown, left := c.server.out.Summaries(list, c.server.out.Room())
	return summariesResult{shown, more || left}, err
}

type pinParams struct {
	Session method.ID[session.ID]        `json:"session_id"`
	Message method.ID[session.MessageID] `json:"message_id"`
}

type pinResult struct {
	Pinned  []session.MessageID `json:"pinned"` // all of the session
	Applies agent.PinApplies    `json:"applies"`
}

func pin(ctx context.Context, c *client, p pinParams) (pinResult, error) {
	return c.pin(ctx, p, true)
}

func unpin(ctx context.Context, c *client, p pinParams) (pinResult, error) {
	return c.pin(ctx, p, false)
}

func (c *client) pin(ctx context.Context, p pinParams, on bool) (pinResult, error) {
	pins, err := service.OnAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (agent.Pins, error) { return a.Pin(ctx, p.Message.Value, on) })
	return pinResult{append([]session.MessageID{}, pins.Pinned...), pins.Applies}, err
}

// summariesAfter shows the summaries that were made right after messages of a page.
func (c *client) summariesAfter(ctx context.Context, id session.ID, messages []agent.Message) ([]wire.Summary, error) {
	list, err := service.OnAgent(ctx, c, id, func(a *agent.Agent) ([]agent.Summary, error) { return a.SummariesAfter(ctx, agent.IDsOf(messages)) })
	return c.server.out.SummariesInPage(list), err
}
