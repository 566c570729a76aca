package rpc

import (
	"context"
	"errors"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
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
