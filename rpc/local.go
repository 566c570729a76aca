package rpc

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/thinkd/thinkd/rpc/acp"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

func localMethods() []method.Method[*client] {
	return []method.Method[*client]{
		method.Define(door.MethodStatus, method.Admin, "What the daemon is at the moment.", method.Now(daemonStatus)),
		method.Define(door.MethodConfig, method.Admin, "What its config is made of.", method.Now(daemonConfig)),
		method.Define(door.MethodLeave, method.Admin, "Ends the daemon as soon as no turn runs.", method.Now(leave), conn.CodeBusy),
		method.Define(door.MethodStop, method.Admin, "Ends the daemon when no turn runs, or after a time.", method.Late(stop), conn.CodeMethodNotFound),
		method.Define(door.MethodListen, method.Admin, "Serves browsers as long as this connection lasts.", method.Now(listen), conn.CodeMethodNotFound, conn.CodeBusy),
		method.Define(door.MethodDoor, method.Admin, "Leaves the connection to the client of a door.", method.Now(beDoor)),
		method.Define(door.MethodBackup, method.Admin, "Copies the store to a new file, and checks the copy.", method.Late(backup), conn.CodeMethodNotFound),
		method.Define(door.MethodCheck, method.Admin, "Checks the whole store.", method.Late(check), conn.CodeMethodNotFound),
		method.Define(door.MethodCompact, method.Admin, "Rewrites the store's file without what was deleted.", method.Late(compactStore), conn.CodeMethodNotFound),
		method.Define(door.MethodCluster, method.Admin, "How the cluster is, as this node sees it.", method.Late(clusterStatus), conn.CodeMethodNotFound),
		method.Define(door.MethodDrain, method.Admin, "Moves the sessions of this node to other nodes, and ends the daemon.", method.Now(drain), conn.CodeMethodNotFound),
	}
}

func daemonStatus(ctx context.Context, c *client, _ method.Nothing) (door.Status, error) {
	s, err := c.local.Status(ctx)
	s.MessageBytes, s.SpreadMS = c.server.config.MessageBytes, c.server.spread().Milliseconds()
	return s, err
}

func daemonConfig(ctx context.Context, c *client, _ method.Nothing) (door.DaemonConfig, error) {
	return c.local.Config(ctx)
}

func leave(ctx context.Context, c *client, _ method.Nothing) (door.Leaving, error) {
	return c.local.Leave(ctx)
}

func stop(_ context.Context, c *client, p door.StopParams) (func(context.Context) (door.Stopping, error), error) {
	run := c.local.Stop
	switch {
	case run == nil:
		return nil, conn.ErrMethodNotFound
	case p.WaitMS < 0:
		return nil, conn.InvalidParams("wait_ms", "%d is negative", p.WaitMS)
	}
	return func(ctx context.Context) (door.Stopping, error) {
		return run(ctx, time.Duration(p.WaitMS)*time.Millisecond)
	}, nil
}

func clusterStatus(_ context.Context, c *client, _ method.Nothing) (func(context.Context) (door.ClusterStatus, error), error) {
	if c.local.Cluster == nil {
		return nil, conn.ErrMethodNotFound
	}
	return reporting(c.local.Cluster), nil
}

func drain(_ context.Context, c *client, _ method.Nothing) (door.Draining, error) {
	if c.local.Drain == nil {
		return door.Draining{}, conn.ErrMethodNotFound
	}
	return c.local.Drain(), nil
}

// beDoor leaves the connection to a client of a door. That client has none of these methods.
func beDoor(_ context.Context, c *client, p door.Params) (method.Nothing, error) {
	switch p.Protocol {
	case "":
	case door.ProtocolACP:
		c.beEditor()
	default:
		return method.Nothing{}, conn.InvalidParams("protocol", "%q is none of this version's", p.Protocol)
	}
	c.local = nil
	return method.Nothing{}, nil
}

// listen begins what ends with this connection.
func listen(_ context.Context, c *client, p door.ListenParams) (door.ListenResult, error) {
	switch {
	case c.local.Listen == nil:
		return door.ListenResult{}, conn.ErrMethodNotFound
	case c.listening:
		return door.ListenResult{}, conn.InvalidRequest("this connection listens already")
	}
	url, end, err := c.local.Listen(p.Address)
	if err != nil {
		if e, ok := errors.AsType[*conn.Error](err); ok {
			return door.ListenResult{}, e
		}
		return door.ListenResult{}, conn.InvalidParams("address", "%v", err)
	}
	c.listening = true
	c.AtEnd(func() {
		if err := end(); err != nil {
			c.Log().Warn("end of listening", keyError, err)
		}
	})
	return door.ListenResult{URL: url}, nil
}

// NewStoreReport returns a report in the form for the wire.
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

func compactStore(_ context.Context, c *client, _ method.Nothing) (func(context.Context) (door.Compaction, error), error) {
	if c.local.Compact == nil {
		return nil, conn.ErrMethodNotFound
	}
	return reporting(c.local.Compact), nil
}

// reporting is why there is no report, in full: the caller is the store's owner.
func reporting[R any](run func(context.Context) (R, error)) func(context.Context) (R, error) {
	return func(ctx context.Context) (r R, err error) {
		r, err = run(ctx)
		if _, stated := errors.AsType[*conn.Error](err); err != nil && !stated && ctx.Err() == nil && !errors.Is(err, session.ErrClosed) {
			return r, &conn.Error{Code: conn.CodeInternal, Message: err.Error()}
		}
		return r, err
	}
}

// beEditor makes it a client that speaks the Agent Client Protocol. Nothing else may run on the connection yet.
func (c *client) beEditor() *acp.Editor {
	return c.server.editors.Begin(c.Client, c.Caller, acp.Native{Method: c.Method, Export: c.exportMarkdown})
}
