package rpc

import (
	"context"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/acp"
	"github.com/thinkd/thinkd/rpc/audit"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/dispatch"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/share"
)

// Config is what a [Server] depends on.
type Config struct {
	service.Config
	Version string // of the program

	MessageBytes int // the largest message, in both directions; 0: conn.DefaultMessageBytes

	Listening  func() string    // where browsers find the page; nil or empty: nowhere
	Durability func() string    // verified or unverified: whether what a cluster acknowledged is on disk; nil: this is no cluster
	Blobs      session.Blobs    // where images and documents are kept; nil: in the log
	Router     dispatch.Router  // nil: all sessions are served here
	Meter      dispatch.Meter   // of the requests of users; nil: they are not counted
	Auditor    dispatch.Auditor // of all requests; nil: they are not recorded
	Shares     *share.Shares    // of sessions with other users; nil: none are shared

	// Audited reads what the auditor has recorded, see [audit.Read], or what those of all nodes have. nil: nothing is recorded.
	Audited func(ctx context.Context, q audit.Query, after audit.Place, limit int) (audit.Page, error)

	// DefaultsChanged is called after a client has set the defaults of a provider. nil: nobody needs to know.
	DefaultsChanged func(provider string)

	// Refresh asks the hosts of all providers for their lists of models, or of one, and uses their answers. nil:
	// it cannot.
	Refresh func(ctx context.Context, provider string) (registry.Refresh, error)

	// SetKey keeps a key for a provider of Providers; the zero one removes what there is, a login too. name is that of a further key;
	// empty: the first. nil: it cannot.
	SetKey func(provider, name string, key provider.Secret) error

	// SetOwnKey keeps a key of a user or a tenant for a provider of Providers; the zero one removes it. nil: no keys of users are kept.
	SetOwnKey func(owner session.Owner, scope service.KeyScope, provider string, key provider.Secret) error

	// Login leads a person through the login to a provider whose status has Login; show is called once. It ends with ctx.
	Login func(ctx context.Context, provider string, show func(LoginPrompt)) error
}

// LoginPrompt has what a person needs for a login.
type LoginPrompt struct {
	URL     string
	Code    string // to be typed in there; empty: nothing is
	Expires time.Duration
}

// Local has the daemon's private methods, for commands of the same user over the unix socket. No other
// connection has them, and rpc.discover does not list them: they may change with each version.
type Local struct {
	// Status returns the state of the daemon at the moment.
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

	// Compact rewrites the store's file without what was deleted. Its errors and nil are as those of Backup.
	Compact func(ctx context.Context) (door.Compaction, error)

	// Cluster describes the cluster, and Drain begins to move the sessions of this node to other nodes; then the daemon ends. nil: this daemon
	// is no node of a cluster.
	Cluster func(ctx context.Context) (door.ClusterStatus, error)
	Drain   func() door.Draining

	Users Users // nil: the store of this daemon is no file
}

// Users administers the users of a daemon, for commands of the operator. Its errors reach the caller as they are.
type Users interface {
	// List returns all users.
	List(ctx context.Context) (door.Users, error)

	// Sessions lists a page of a user's sessions, and DeleteSession deletes one. Error: session.ErrNotFound.
	Sessions(ctx context.Context, p door.UserSessionsParams) (door.UserSessions, error)
	DeleteSession(ctx context.Context, p door.UserSessionParams) error

	// Delete removes all that is a user's. It may take minutes.
	Delete(ctx context.Context, u door.UserName) (door.UserDeletion, error)
}

const keyError = "err" // of log records

// Server serves clients with the native methods. It is safe for concurrent use and holds nothing that must be closed:
// connections end with their contexts.
type Server struct {
	*dispatch.Server
	config  Config
	methods []method.Method[*client]
	byName  map[string]method.Method[*client]
	known   map[string]func() method.Known    // of the methods in byName; made at the first request
	private map[string]method.Method[*client] // of the unix socket alone
	editors *acp.Server
	sharing sync.Mutex // held while a share changes
	crowd   func() int // counts the clients; tests pretend that there are more
	out     wire.Encoder
}

// Editors returns the server of the clients that speak the Agent Client Protocol.
func (s *Server) Editors() *acp.Server { return s.editors }

// EditorMessageBytes returns the largest size of an editor's message, in bytes.
func (s *Server) EditorMessageBytes() int { return s.editors.MessageBytes() }

// MessageBytes returns the largest size of a message, in bytes.
func (s *Server) MessageBytes() int { return s.config.MessageBytes }

// client is a connection that speaks the native protocol, or did so before it became an editor.
type client struct {
	*dispatch.Client
	service.Caller
	server *Server

	greeted  bool                 // initialize was called
	strict   bool                 // it said there that no member is to be ignored
	confirms bool                 // it said there that it can ask a person
	wants    wanted               // of its sessions, unless it says otherwise when it attaches
	name     string               // that the client gave itself there
	logins   map[string]*loginRun // the last one to each provider

	local     *Local // nil: this connection is not the unix socket's
	listening bool   // daemon/listen began what ends with the connection
}

// loginRun is a login that a client has begun.
type loginRun struct {
	stop context.CancelFunc
	done chan struct{}
}

// Method makes it a [dispatch.Protocol].
func (c *client) Method(name string) (method.Bound, bool) {
	m, ok := c.server.byName[name]
	if !ok && c.local != nil {
		m, ok = c.server.private[name]
	}
	return m.For(c), ok
}

// Failure is an error as it is.
func (c *client) Failure(e *conn.Error) *conn.Error { return e }

// Ignored reports what a method does not know. The methods of the daemon's own commands are not described, and take anything.
func (c *client) Ignored(m method.Bound, params []byte) (ignored method.Ignored, fails bool) {
	known, ok := c.server.known[m.Name]
	if !ok {
		return ignored, false
	}
	strict := c.strict || m.Name == "initialize" && gjson.GetBytes(params, "strict").Bool()
	ignored = known().Ignored(params)
	return ignored, strict && len(ignored.Members) > 0
}
