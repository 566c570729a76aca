package rpc

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/rpc/method"
)

// Local is what the daemon tells and does for commands of the same user, who come over the unix socket. No other
// connection has these methods, and rpc.discover does not tell of them: they may change with each version.
type Local struct {
	// Status is what the daemon is at the moment.
	Status func(ctx context.Context) (door.Status, error)

	// Config describes the config in effect. Commands ask for it where Inputs differ.
	Config func(ctx context.Context) (door.DaemonConfig, error)

	// Leave begins the daemon's end, or lets it begin as soon as no turn runs. It is refused with an [*conn.Error] if the daemon
	// was started to stay.
	Leave func(ctx context.Context) (door.Leaving, error)

	// Stop waits until no turn runs, for so long at most, and begins the daemon's end. Turns that still run then are
	// interrupted. If ctx ends during the wait, the daemon goes on. nil: this daemon cannot.
	Stop func(ctx context.Context, wait time.Duration) (door.Stopping, error)

	// Listen serves clients at a TCP address until close is called, and answers where a browser finds it. Its errors
	// reach the caller as they are. nil: this daemon cannot.
	Listen func(address string) (url string, close func() error, err error)

	// Backup copies the store to a new file and checks the copy; Check makes a copy for that alone. Their errors reach
	// the caller as they are. nil: the store of this daemon is no file.
	Backup func(ctx context.Context, path string) (door.StoreReport, error)
	Check  func(ctx context.Context) (door.StoreReport, error)
}

// ServeLocal is [Server.Serve] with the methods of local besides the protocol's.
func (s *Server) ServeLocal(ctx context.Context, pipe io.ReadWriteCloser, local *Local) error {
	c := s.newClient(ctx, method.Operator(), conn.NewByteFrames(pipe, s.MessageBytes()))
	c.local, c.SameUser = local, local != nil
	return c.Serve()
}

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

// beDoor leaves the connection to a client of a door, who has none of these methods.
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
