package daemon

import (
	"context"
	"errors"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session/bolt"
)

// Drain has the node of the data directory move its sessions to other nodes, and returns when it has ended. waiting is called with the number of turns
// that run.
func (o Options) Drain(ctx context.Context, waiting func(turns int) error) error {
	dir, err := o.Data()
	if err != nil {
		return err
	}
	link, err := o.find(ctx)
	if err != nil {
		return err
	}
	if link == nil {
		return errors.New("no daemon is running")
	}
	pid := link.Status.PID
	var begun door.Draining
	err = link.Call(door.MethodDrain, struct{}{}, &begun)
	if refusal, ok := errors.AsType[*conn.Error](err); ok && refusal.Code == conn.CodeMethodNotFound {
		err = errors.New("the daemon is not a node of a cluster: its config has no [cluster]")
	}
	if err = errors.Join(err, link.Close()); err != nil {
		return err
	}
	if err := waiting(begun.Turns); err != nil {
		return err
	}
	for bolt.Owner(dir) == pid {
		if wait(ctx, maxPause); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}
