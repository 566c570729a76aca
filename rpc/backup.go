package rpc

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// NewStoreReport is a report for the wire.
func NewStoreReport(r session.Report) door.StoreReport {
	w := door.StoreReport{Sessions: r.Sessions, Entries: r.Entries, Size: r.Size, Free: r.Free, Damaged: []door.StoreDamage{}}
	for _, d := range r.Damaged {
		w.Damaged = append(w.Damaged, door.StoreDamage{Session: d.Session.String(), Error: d.Err.Error()})
	}
	return w
}

func backup(_ context.Context, c *client, p door.BackupParams) (func(context.Context) (door.StoreReport, error), error) {
	run := c.local.Backup
	switch {
	case run == nil:
		return nil, conn.ErrMethodNotFound
	case !filepath.IsAbs(p.Path):
		return nil, conn.InvalidParams("path", "%q is not absolute", p.Path)
	}
	return reporting(func(ctx context.Context) (door.StoreReport, error) { return run(ctx, p.Path) }), nil
}

func check(_ context.Context, c *client, _ method.Nothing) (func(context.Context) (door.StoreReport, error), error) {
	if c.local.Check == nil {
		return nil, conn.ErrMethodNotFound
	}
	return reporting(c.local.Check), nil
}

// reporting tells why there is no report: whoever asks is the store's owner.
func reporting(run func(context.Context) (door.StoreReport, error)) func(context.Context) (door.StoreReport, error) {
	return func(ctx context.Context) (door.StoreReport, error) {
		r, err := run(ctx)
		if err != nil && ctx.Err() == nil && !errors.Is(err, session.ErrClosed) {
			return door.StoreReport{}, &conn.Error{Code: conn.CodeInternal, Message: err.Error()}
		}
		return r, err
	}
}
