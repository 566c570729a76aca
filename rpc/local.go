package rpc

import (
	"context"
	"errors"
	"io"

	"github.com/thinkd/thinkd/rpc/conn"
)

// Local is what the daemon tells and does for commands of the same user, who come over the unix socket. No other
// connection has these methods, and rpc.discover does not tell of them: they may change with each version.
type Local struct {
	// Status is what the daemon is at the moment.
	Status func(ctx context.Context) (Status, error)

	// Config describes the config in effect. Commands ask for it where Inputs differ.
	Config func(ctx context.Context) (DaemonConfig, error)

	// Leave begins the daemon's end. It is refused with an [*conn.Error] while a turn runs.
	Leave func(ctx context.Context) error

	// Listen serves clients at a TCP address until close is called, and answers where a browser finds it. Its errors
	// reach the caller as they are. nil: this daemon cannot.
	Listen func(address string) (url string, close func() error, err error)

	// Backup copies the store to a new file and checks the copy; Check makes a copy for that alone. Their errors reach
	// the caller as they are. nil: the store of this daemon is no file.
	Backup func(ctx context.Context, path string) (StoreReport, error)
	Check  func(ctx context.Context) (StoreReport, error)
}

// Status is a daemon as its own commands see it.
type Status struct {
	Version      string `json:"version"`
	PID          int    `json:"pid"`
	Inputs       string `json:"inputs"`        // a sum of what the config is made of: where it is equal nothing else need be looked at
	Variables    string `json:"variables"`     // the names of the environment's variables among that, apart by spaces
	Running      int    `json:"running"`       // sessions in which a turn runs
	Clients      int    `json:"clients"`       // this one included
	Listen       string `json:"listen"`        // where it serves browsers; empty: nowhere
	MessageBytes int    `json:"message_bytes"` // the largest message
	SpreadMS     int64  `json:"spread_ms"`     // over which the doors of a daemon that went look for the next one
}

// DaemonConfig describes the config of a daemon.
type DaemonConfig struct {
	Path  string            `json:"path"`  // the file; empty: there is none
	Facts map[string]string `json:"facts"` // a digest of each value, for comparisons
}

// ServeLocal is [Server.Serve] with the methods of local besides the protocol's.
func (s *Server) ServeLocal(ctx context.Context, pipe io.ReadWriteCloser, local *Local) error {
	c := s.newClient(ctx, conn.NewByteFrames(pipe, s.MessageBytes()))
	c.local, c.sameUser = local, local != nil
	return c.serve()
}

// The private methods.
const (
	methodStatus = "daemon/status"
	methodConfig = "daemon/config"
	methodLeave  = "daemon/leave"
	methodListen = "daemon/listen"
	methodDoor   = "daemon/door"
	methodBackup = "daemon/backup"
	methodCheck  = "daemon/check"
)

func localMethods() []method {
	return []method{
		define(method{name: methodStatus}, daemonStatus),
		define(method{name: methodConfig}, daemonConfig),
		define(method{name: methodLeave}, leave),
		define(method{name: methodListen}, listen),
		define(method{name: methodDoor}, beDoor),
		defineLate(method{name: methodBackup}, backup),
		defineLate(method{name: methodCheck}, check),
	}
}

func daemonStatus(ctx context.Context, c *client, _ nothing) (Status, error) {
	s, err := c.local.Status(ctx)
	s.MessageBytes, s.SpreadMS = c.server.config.MessageBytes, c.server.spread().Milliseconds()
	return s, err
}

func daemonConfig(ctx context.Context, c *client, _ nothing) (DaemonConfig, error) {
	return c.local.Config(ctx)
}

func leave(ctx context.Context, c *client, _ nothing) (nothing, error) {
	return nothing{}, c.local.Leave(ctx)
}

type doorParams struct {
	Protocol string `json:"protocol,omitempty"` // empty: the native one
}

// beDoor leaves the connection to a client of a door, who has none of these methods.
func beDoor(_ context.Context, c *client, p doorParams) (nothing, error) {
	switch p.Protocol {
	case "":
	case protocolACP:
		c.beEditor(true)
	default:
		return nothing{}, invalidParams("protocol", "%q is none of this version's", p.Protocol)
	}
	c.local = nil
	return nothing{}, nil
}

type listenParams struct {
	Address string `json:"address"`
}

type listenResult struct {
	URL string `json:"url"`
}

// listen begins what ends with this connection.
func listen(_ context.Context, c *client, p listenParams) (listenResult, error) {
	switch {
	case c.local.Listen == nil:
		return listenResult{}, conn.ErrMethodNotFound
	case c.listening != nil:
		return listenResult{}, conn.InvalidRequest("this connection listens already")
	}
	url, end, err := c.local.Listen(p.Address)
	if err != nil {
		if e, ok := errors.AsType[*conn.Error](err); ok {
			return listenResult{}, e
		}
		return listenResult{}, invalidParams("address", "%v", err)
	}
	c.listening = end
	return listenResult{url}, nil
}

func (c *client) stopListening() {
	if c.listening == nil {
		return
	}
	if err := c.listening(); err != nil {
		c.server.config.Log.Warn("end of listening", keyError, err)
	}
}
