package service

import (
	"context"
	"log/slog"
	"slices"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/quota"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// Config has the dependencies that all protocols share.
type Config struct {
	Log          *slog.Logger                           // required
	Sessions     func(method.Principal) Sessions        // those of a principal; [AgentsOf] makes it. It costs nothing: it is called for each request
	Catalog      agent.Catalog                          // of all models
	Providers    func() []ProviderStatus                // in catalog order
	OwnKeys      func(session.Owner) []ProviderStatus   // Providers for a user, who may have keys of their own; nil: the same for all users
	Servers      func() []ProviderStatus                // MCP servers that one can log in to; nil: there are none
	Server       func(id string) (ProviderStatus, bool) // one of them, or one at an address that a client could name; nil: there are none
	Settings     *registry.Settings                     // what clients set for all sessions
	DefaultModel func(session.Owner) session.ModelRef   // of a session whose client names none
	Tools        Tools
	Egress       []string // labels of the providers that sessions may reach; none: all
}

// ProviderStatus is the state of a provider, for clients. It contains no key.
type ProviderStatus struct {
	ID        string
	Available bool
	Why       string // why it is not
	Defaults  registry.Defaults

	// Of its key or login, in the protocol's words.
	Auth       provider.KeyState
	AuthSource provider.KeySource  // empty: there is none
	Login      bool                // there is a login
	LoginSet   bool                // and the config names the application for it
	Payer      *provider.Payer     // of the next call; nil: not known
	KeyEnding  string              // the last four characters of the key; empty: there is none, or it is too short for that
	Keys       []provider.NamedKey // further keys, by name
	Egress     []string            // labels that say where its data goes
	Limits     []quota.Limit       // of the account, as the vendor's latest answers said
	Scope      KeyScope            // whose key it is; empty: the operator's
}

// KeyScope says whether a key belongs to the operator, a tenant or a user.
type KeyScope string

// The scopes of keys. A key of a narrower scope comes first.
const (
	KeyOfUser     KeyScope = "user"
	KeyOfTenant   KeyScope = "tenant" // for all of its users
	KeyOfOperator KeyScope = "operator"
)

// Words lists all scopes.
func (KeyScope) Words() []string { return provider.Words(KeyOfUser, KeyOfTenant, KeyOfOperator) }

// Tools is what a server knows of the daemon's own hosts of tools, besides what [agent.Config] lists.
type Tools struct {
	Builtin     bool // sessions whose clients name no tools get the built-in ones, and every client may ask for them
	FromClients bool // servers are taken from every client, and not from those of the daemon's own user alone
	Instructed  bool // every client's sessions get the instructions of their project, and not those of the daemon's own user alone
	Slow        bool // some host of all sessions may have to start before it can be asked

	// Instructions finds those of the project that a folder belongs to. nil: no session gets any.
	Instructions func(folder string) (session.Instructions, error)

	// Offer makes a host of a client's server. The caller closes it, or gives it to Adopt. nil: none are taken.
	Offer func(toolhost.Server) toolhost.Host

	// Adopt makes hosts those of a session, until there is no such session or no daemon any more.
	Adopt func(session.ID, []toolhost.Host)

	// SetRoots replaces the further folders, all absolute, in which the built-in tools of a session work until the daemon ends. nil: there
	// are no built-in tools.
	SetRoots func(session.ID, []string)
}

// MaxClientName is how many characters of a client's own name are kept. Other clients see the name when the client answers a question.
const MaxClientName = 100

// Caller is a client that asks for something. It is safe for concurrent use.
type Caller struct {
	SameUser bool // it runs as the daemon's user, who could do without the daemon what it asks for
	Attended bool // a person uses it; set before its first request about a session

	config    *Config
	principal method.Principal
}

// Of returns the caller for the requests of a principal. c must not change any more.
func (c *Config) Of(p method.Principal, sameUser bool) Caller {
	return Caller{SameUser: sameUser, config: c, principal: p}
}

// MaySetKeys reports whether the caller may set and remove the operator's keys and logins.
func (c Caller) MaySetKeys() bool {
	return c.OwnsMachine() && c.principal.Check("", method.Keys) == nil
}

// Owner returns the owner of the caller's sessions.
func (c Caller) Owner() session.Owner { return c.principal.Owner }

// DefaultModel returns the model of a new session of the caller if the client names none.
func (c Caller) DefaultModel() session.ModelRef { return c.config.DefaultModel(c.principal.Owner) }

// OwnsMachine reports whether the caller is the operator: see [method.Principal.OwnsMachine].
func (c Caller) OwnsMachine() bool { return c.principal.OwnsMachine() }

// Providers lists the providers, in catalog order. Callers who do not own the machine learn which of them they can use, and nothing about
// keys of the operator, logins, limits of accounts and settings.
func (c Caller) Providers() []ProviderStatus {
	if c.OwnsMachine() {
		return c.config.Providers()
	}
	list := []ProviderStatus(nil)
	if c.config.OwnKeys != nil {
		list = c.config.OwnKeys(c.principal.Owner)
	} else {
		list = c.config.Providers()
	}
	shown := make([]ProviderStatus, 0, len(list))
	for _, s := range list {
		one := ProviderStatus{ID: s.ID, Available: s.Available, Auth: provider.KeyReady}
		switch {
		case s.Scope != "":
			one.Auth, one.AuthSource, one.KeyEnding, one.Scope, one.Why = s.Auth, s.AuthSource, s.KeyEnding, s.Scope, s.Why
		case !s.Available:
			one.Auth, one.Why = provider.KeyMissing, "the operator has not set this provider up"
		}
		shown = append(shown, one)
	}
	return shown
}

// Agents lists the agents. Callers who do not own the machine do not see the names of keys and the labels of providers.
func (c Caller) Agents() []registry.Agent {
	list := c.config.Settings.Agents()
	if c.OwnsMachine() {
		return list
	}
	shown := make([]registry.Agent, 0, len(list))
	for _, a := range list {
		a = withoutKeys(a)
		a.Egress = nil
		shown = append(shown, a)
	}
	return shown
}

// withoutKeys is an agent whose fallbacks use the first keys of their providers.
func withoutKeys(a registry.Agent) registry.Agent {
	if a.Fallbacks != nil {
		chain := slices.Clone(*a.Fallbacks)
		for i := range chain {
			chain[i].Key = ""
		}
		a.Fallbacks = &chain
	}
	return a
}

// Sessions returns the sessions of the caller's principal.
func (c Caller) Sessions() Sessions { return c.config.Sessions(c.principal) }

// Attend says that the client has sent what a person wrote or approved, if a person uses it.
func (c Caller) Attend() {
	if c.Attended {
		c.Sessions().Attend()
	}
}

// OnAgent runs f with the session's agent.
func OnAgent[T any](ctx context.Context, c interface{ Sessions() Sessions }, id session.ID, f func(*agent.Agent) (T, error)) (T, error) {
	var value T
	err := c.Sessions().Do(ctx, id, func(a *agent.Agent) (err error) {
		value, err = f(a)
		return err
	})
	return value, err
}
