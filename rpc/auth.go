package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/quota"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/failure"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
)

type authResult struct {
	Providers []wireAuth `json:"providers"`
}

type wireAuth struct {
	Provider string              `json:"provider"`
	State    provider.KeyState   `json:"state"`
	Source   provider.KeySource  `json:"source,omitempty"`  // absent: there is none
	Login    bool                `json:"login,omitempty"`   // there is one
	Payer    *provider.Payer     `json:"payer,omitempty"`   // of the next call; absent: not known
	Ending   string              `json:"ends_in,omitempty"` // the last four characters of the key; absent: a login, or a short key
	Keys     []provider.NamedKey `json:"keys,omitempty"`    // further keys, by name
	Egress   []string            `json:"egress,omitempty"`  // the operator's labels that say where its data goes
	Limits   []quota.Limit       `json:"limits,omitempty"`  // of the account; absent: the vendor has named none
	Scope    service.KeyScope    `json:"scope,omitempty"`   // whose key it is, for users; absent: the operator's
}

func newWireAuth(s service.ProviderStatus) wireAuth {
	return wireAuth{s.ID, s.Auth, s.AuthSource, s.Login, s.Payer, s.KeyEnding, s.Keys, s.Egress, s.Limits, s.Scope}
}

func authStatus(_ context.Context, c *client, _ method.Nothing) (authResult, error) {
	r := authResult{Providers: []wireAuth{}}
	for _, s := range c.accounts() {
		r.Providers = append(r.Providers, newWireAuth(s))
	}
	return r, nil
}

// accounts are what can have a key or a login: providers, and for those who own the machine MCP servers.
func (c *client) accounts() []service.ProviderStatus {
	list := c.Providers()
	if servers := c.server.config.Servers; servers != nil && c.OwnsMachine() {
		list = slices.Concat(list, servers())
	}
	return list
}

// status is that of a provider that a client names.
func (c *client) status(id string) (service.ProviderStatus, error) {
	var candidates []string
	for _, s := range c.accounts() {
		if s.ID == id {
			return s, nil
		}
		candidates = append(candidates, s.ID)
	}
	if server := c.server.config.Server; server != nil && c.MayOfferServers() {
		if s, ok := server(id); ok {
			return s, nil
		}
	}
	return service.ProviderStatus{}, service.NoProvider(id, candidates)
}

type setKeyParams struct {
	Provider string           `json:"provider"`
	Key      string           `json:"key"`
	Name     string           `json:"name,omitempty"`  // of a further key; empty: the first
	Scope    service.KeyScope `json:"scope,omitempty"` // whose key it is to be; empty: that of the client
}

const maxKey = 16 << 10 // bytes

func setKey(_ context.Context, c *client, p setKeyParams) (wireAuth, error) {
	s, err := c.status(p.Provider)
	if err != nil {
		return wireAuth{}, err
	}
	scope, err := c.keyScope(p.Scope)
	if err != nil {
		return wireAuth{}, err
	}
	key := strings.TrimSpace(p.Key)
	switch {
	case scope != service.KeyOfOperator && c.server.config.SetOwnKey == nil:
		return wireAuth{}, conn.InvalidParams("scope", "this daemon keeps no keys of users: its operator has set no key_file under [auth], which would encrypt them")
	case scope != service.KeyOfOperator && p.Name != "":
		return wireAuth{}, conn.InvalidParams("name", "only the operator has further keys")
	case scope == service.KeyOfOperator && c.server.config.SetKey == nil || s.Auth == provider.KeyNotNeeded:
		return wireAuth{}, conn.InvalidParams("provider", "%s needs no key", p.Provider)
	case strings.Contains(key, "://"):
		return wireAuth{}, conn.InvalidParams("key", "must be the key alone, not an address: that is the operator's to set")
	case len(key) > maxKey, strings.ContainsFunc(key, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) || r > unicode.MaxASCII }):
		return wireAuth{}, conn.InvalidParams("key", "is not a key: it has white space or characters that no header takes, or is too long")
	}
	if p.Name != "" {
		if err := registry.CheckKeyName(p.Name); err != nil {
			return wireAuth{}, conn.InvalidParams("name", "%v", err)
		}
	}
	if scope == service.KeyOfOperator {
		err = c.server.config.SetKey(p.Provider, p.Name, provider.NewSecret(key))
	} else {
		err = c.server.config.SetOwnKey(c.Owner(), scope, p.Provider, provider.NewSecret(key))
	}
	if err != nil {
		return wireAuth{}, authError(p.Provider, err)
	}
	s, err = c.status(p.Provider)
	return newWireAuth(s), err
}

// keyScope says whose key a client sets, and whether it may. A user sets their own key without a further right.
func (c *client) keyScope(asked service.KeyScope) (service.KeyScope, error) {
	own := service.KeyOfUser
	if c.OwnsMachine() {
		own = service.KeyOfOperator
	}
	scope := cmp.Or(asked, own)
	switch {
	case c.OwnsMachine() && scope != own:
		return "", conn.InvalidParams("scope", "the operator has no key of the scope %s: users set these", scope)
	case scope == service.KeyOfUser:
		return scope, nil
	case scope == service.KeyOfOperator && !c.OwnsMachine():
		return "", method.Forbidden(method.Keys, "a key of the operator")
	case scope == service.KeyOfTenant && c.Owner().Tenant == "":
		return "", conn.InvalidParams("scope", "this user has no tenant")
	}
	return scope, c.May(method.Keys, "a key of the "+string(scope))
}

// logout removes all keys and logins of providers that are stored. Those of the environment and of the config stay, and so do the logins to
// MCP servers. It goes on after an error.
func (s *Server) logout() error {
	if s.config.SetKey == nil {
		return nil // no keys are stored
	}
	var errs []error
	for _, p := range s.config.Providers() {
		names := []string{""}
		for _, further := range p.Keys {
			names = append(names, further.Name)
		}
		for _, name := range names {
			if err := s.config.SetKey(p.ID, name, provider.Secret{}); err != nil && !errors.Is(err, provider.ErrNoKeyNeeded) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

func authError(id string, err error) error {
	if errors.Is(err, provider.ErrNoKeyNeeded) {
		return conn.InvalidParams("provider", "%s needs no key", id)
	}
	if errors.Is(err, provider.ErrVariableName) {
		return conn.InvalidParams("key", "is the name of a variable: set its value")
	}
	return err
}

type loginParams struct {
	Provider string `json:"provider"`
}

// loginState is where a login stands.
type loginState string

const (
	loginStarted loginState = "started"
	loginWaiting loginState = "waiting" // for the person
	loginReady   loginState = "ready"
	loginFailed  loginState = "failed"
)

// Words lists all states.
func (loginState) Words() []string {
	return provider.Words(loginStarted, loginWaiting, loginReady, loginFailed)
}

type loginResult struct {
	Provider string     `json:"provider"`
	State    loginState `json:"state"`
}

// beginLogin answers at once. The login ends with the connection, or when the same client begins it again.
func beginLogin(_ context.Context, c *client, p loginParams) (loginResult, error) {
	if !c.OwnsMachine() {
		return loginResult{}, method.Forbidden(method.Keys, "the operator's login")
	}
	s, err := c.status(p.Provider)
	if err != nil {
		return loginResult{}, err
	}
	if !s.Login {
		instead := "it takes a key, see auth/set_key or `thinkd auth set " + p.Provider + "`"
		if s.Auth == provider.KeyNotNeeded {
			instead = "it needs no key"
		}
		return loginResult{}, conn.InvalidParams("provider", "there is no login for %s: %s", p.Provider, instead)
	}
	ctx, stop := context.WithCancel(c.Conn.Context())
	run := &loginRun{stop, make(chan struct{})}
	before := c.begin(p.Provider, run)
	c.Run(func() { // ended by the next login to the provider or with the stream's context; serve waits
		defer close(run.done)
		defer stop()
		if before != nil { // its port is free then
			<-before.done
		}
		c.logIn(ctx, p.Provider)
	})
	return loginResult{p.Provider, loginStarted}, nil
}

// logIn tells the client how its login goes. If the connection has ended, nobody gets it.
func (c *client) logIn(ctx context.Context, id string) {
	tell := func(u authUpdate) {
		u.Provider = id
		if err := c.Notify(ctx, encodeAuthUpdate(u)); err != nil && ctx.Err() == nil {
			c.server.config.Log.Warn("the progress of a login could not be sent", "provider", id, keyError, err)
		}
	}
	_, err := failure.Guard(func() (struct{}, error) {
		return struct{}{}, c.server.config.Login(ctx, id, func(s LoginPrompt) {
			tell(authUpdate{State: loginWaiting, URL: s.URL, Code: s.Code, Expires: s.Expires.Milliseconds()})
		})
	})
	switch {
	case err == nil:
		c.server.config.Log.Info("logged in", "provider", id)
		tell(authUpdate{State: loginReady})
	case ctx.Err() == nil:
		tell(authUpdate{State: loginFailed, Error: c.ErrorOf(ctx, "auth/login", err)})
	}
}

// begin puts a login in place of the client's last one to the provider, which is ended; nil: there was none.
func (c *client) begin(id string, next *loginRun) (before *loginRun) {
	if c.logins == nil {
		c.logins = make(map[string]*loginRun)
	}
	before = c.logins[id]
	c.logins[id] = next
	if before != nil {
		before.stop()
	}
	return before
}

// authUpdate tells one connection how its login goes. It belongs to no session and has no number.
type authUpdate struct {
	Provider string      `json:"provider"`
	State    loginState  `json:"state"`
	URL      string      `json:"url,omitempty"`
	Code     string      `json:"code,omitempty"`
	Expires  int64       `json:"expires_in_ms,omitempty"`
	Error    *conn.Error `json:"error,omitempty"`
}

func encodeAuthUpdate(u authUpdate) []byte {
	params, err := json.Marshal(u)
	if err != nil {
		panic(err) // strings and numbers
	}
	return append(append([]byte(`{"jsonrpc":"2.0","method":"auth_update","params":`), params...), '}')
}
