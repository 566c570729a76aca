package login

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// Config is what a [Source] depends on.
type Config struct {
	Provider string
	Env      provider.Secret // the key in the environment; zero: none
	EnvVar   string          // the variable that it is in
	Keys     *Keys
	Holder   Holder       // whose key of Keys is the only grant; zero: the operator's
	Flow     Flow         // nil: the vendor has only keys
	Identity Identity     // used if there is no key; nil: none. A provider with an identity has no Flow
	Log      *slog.Logger // required
}

const (
	// exchangeLimit is how long a vendor may take to renew a token.
	exchangeLimit = 30 * time.Second

	// closeLimit is how long Close waits for an exchange: a vendor that replaces the grant at each use has done so already, and
	// only its answer has the new one.
	closeLimit = 2 * time.Second

	// renewPause is the pause before another attempt to renew a token that is still valid.
	renewPause = 30 * time.Second
)

// Source returns the credential of a provider. It is safe for concurrent use.
type Source struct {
	config Config
	ctx    context.Context // of exchanges
	stop   context.CancelFunc
	works  sync.WaitGroup // exchanges that run

	mu      sync.Mutex
	of      provider.Secret // the token of the grant that the members below belong to
	have    Credential      // zero: none yet
	trip    *trip           // nil: none runs
	refused bool            // the vendor refused the grant
}

// trip is an exchange that runs, for all callers who wait for it.
type trip struct {
	done chan struct{}
	got  Credential // when done
	err  error
}

// NewSource returns a source. The caller must call Close.
func NewSource(c Config) *Source {
	if c.Identity != nil {
		c.Flow = byIdentity{c.Identity}
	}
	s := &Source{config: c}
	s.ctx, s.stop = context.WithCancel(context.Background())
	if c.Env.IsZero() && s.namesVariable(c.Keys.Grant(c.Provider)) {
		c.Log.Warn("the key in keys.json is the name of its variable, which is no key", "provider", c.Provider, "variable", c.EnvVar)
	}
	return s
}

// Close waits up to closeLimit for exchanges that run, and then ends them.
func (s *Source) Close() {
	late := time.AfterFunc(closeLimit, s.stop)
	defer late.Stop()
	s.works.Wait()
	s.stop()
}

func (s *Source) namesVariable(g Grant) bool { return NamesVariable(g, s.config.EnvVar) }

// NamesVariable reports whether the key of the file is only the name of the variable that should have it. A person has edited the file.
func NamesVariable(g Grant, variable string) bool {
	return !g.ByLogin && provider.NamesVariable(strings.TrimSpace(g.Token.Reveal()), variable)
}

// grant returns the current grant: that of the holder. Without a holder it is the key in the environment, or otherwise that of the file,
// or otherwise the identity.
func (s *Source) grant() (Grant, provider.KeySource) {
	if h := s.config.Holder; h != (Holder{}) {
		g := s.config.Keys.held(h, s.config.Provider)
		if g.IsZero() {
			return g, ""
		}
		return g, provider.KeyFromPerson
	}
	if !s.config.Env.IsZero() {
		return Grant{Token: s.config.Env}, provider.KeyFromEnvironment
	}
	g := s.config.Keys.Grant(s.config.Provider)
	if s.namesVariable(g) {
		g = Grant{}
	}
	switch {
	case g.IsZero() && s.identified():
		return Grant{Token: provider.NewSecret(s.config.Identity.Account()), identity: true}, provider.KeyFromIdentity
	case g.IsZero():
		return g, ""
	case g.ByLogin:
		return g, provider.KeyFromLogin
	default:
		return g, provider.KeyFromPerson
	}
}

// Status returns the state of the credential, without a call.
func (s *Source) Status() (provider.KeyState, provider.KeySource) {
	g, from := s.grant()
	if g.IsZero() {
		return provider.KeyMissing, from
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == g.Token && s.refused {
		return provider.KeyRefused, from
	}
	return provider.KeyReady, from
}

// Owner names the account of the credential in effect, and the last characters of a key. The name says nothing about the
// credential. It is empty for a login whose vendor names no account, since a vendor may replace the token of a login at each use.
func (s *Source) Owner() (account, ending string) {
	g, from := s.grant()
	switch from {
	case provider.KeyFromLogin:
		return g.Account, ""
	case provider.KeyFromIdentity:
		return s.config.Identity.Account(), ""
	}
	return g.Token.Account(), g.Token.Ending()
}

// Advice explains what to do about a provider that is not ready.
func (s *Source) Advice() string {
	state, from := s.Status()
	switch {
	case s.config.Holder != (Holder{}) && state != provider.KeyRefused:
		return "the key was removed: " + s.remedy(from)
	case state == provider.KeyRefused && from == provider.KeyFromLogin:
		return "the login is not taken any more: " + s.remedy(from)
	case state == provider.KeyRefused && from == provider.KeyFromIdentity:
		return "the cloud refuses the configured identity"
	case state == provider.KeyRefused:
		return "the key is not taken: " + s.remedy(from)
	case s.config.Identity != nil && s.config.EnvVar == "":
		return s.config.Identity.Missing()
	case s.config.Identity != nil:
		return s.config.Identity.Missing() + ", or set " + s.config.EnvVar
	case s.config.Flow == nil:
		return "no key: " + s.remedy(from)
	default:
		return "not logged in: " + s.remedy(from)
	}
}

// remedy says how to get another credential than the one from there, or one at all. A key in the environment comes before a stored one.
func (s *Source) remedy(from provider.KeySource) string {
	run := "run `thinkd auth set " + s.config.Provider + "`"
	switch h := s.config.Holder; {
	case h == (Holder{}):
	case h.User != "":
		return "set another one with auth/set_key"
	default:
		return "a user of your tenant who has the right `keys` sets another one with auth/set_key"
	}
	if s.HasLogin() {
		run = "run `thinkd auth login " + s.config.Provider + "`"
	}
	switch {
	case from == provider.KeyFromEnvironment:
		return "set another one in " + s.config.EnvVar
	case s.config.EnvVar == "" || from != "":
		return run
	}
	return run + ", or set " + s.config.EnvVar
}

// Credential returns what the next call needs. An error is a *provider.Error, or the cause of ctx.
func (s *Source) Credential(ctx context.Context) (Credential, error) {
	g, _ := s.grant()
	if g.IsZero() && s.config.Holder != (Holder{}) { // the adapter would say how the operator sets a key
		return Credential{}, &provider.Error{Provider: s.config.Provider, Kind: provider.KindAuth, Message: s.Advice()}
	}
	if s.config.Flow == nil {
		return Credential{Key: g.Token}, nil
	}
	if g.IsZero() {
		return Credential{}, &provider.Error{Provider: s.config.Provider, Kind: provider.KindAuth, Message: s.Advice()}
	}
	if c, ok := s.config.Flow.Direct(g); ok {
		return c, nil
	}
	s.mu.Lock()
	if s.of != g.Token {
		s.of, s.have, s.trip, s.refused = g.Token, g.credential(time.Now()), nil, false
	}
	have, now := s.have, time.Now()
	if !have.Key.IsZero() && now.Before(have.renew) {
		s.mu.Unlock()
		return have, nil
	}
	t := s.trip
	if t == nil {
		t = s.exchangeLocked(g)
	}
	s.mu.Unlock()
	select {
	case <-t.done:
	case <-ctx.Done():
		return Credential{}, context.Cause(ctx)
	}
	if t.err != nil && !have.Key.IsZero() && now.Before(have.expires) && !isRefusal(t.err) {
		s.config.Log.Warn("a token was not renewed; the previous one is still valid", "provider", s.config.Provider, "err", t.err)
		return have, nil
	}
	return t.got, t.err
}

// Renew returns another credential after the vendor has answered 401 to refused; false: there is no other.
func (s *Source) Renew(ctx context.Context, refused provider.Secret) (Credential, bool, error) {
	if s.config.Flow == nil {
		return Credential{}, false, nil
	}
	s.mu.Lock()
	if s.have.Key == refused {
		s.have = Credential{}
	}
	s.mu.Unlock()
	c, err := s.Credential(ctx)
	return c, err == nil && c.Key != refused, err
}

// exchangeLocked begins a trip. It ends within exchangeLimit, or with Close, which waits for it; those who asked for it
// may leave before.
func (s *Source) exchangeLocked(g Grant) *trip {
	t := &trip{done: make(chan struct{})}
	s.trip = t
	s.works.Go(func() {
		defer close(t.done)
		ctx, cancel := context.WithTimeout(s.ctx, exchangeLimit)
		defer cancel()
		got, next, err := s.exchange(ctx, g)
		if _, ok := errors.AsType[*provider.Error](err); err != nil && !ok {
			err = &provider.Error{API: "login", Provider: s.config.Provider, Kind: provider.KindTransport, Message: "the login's server did not answer"}
		}
		if isRefusal(err) {
			err = s.refuse(err)
		}
		t.got, t.err = got, err
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.trip != t {
			return // another grant is in use
		}
		s.trip, s.refused = nil, isRefusal(err)
		switch {
		case err == nil:
			s.of, s.have = next.Token, got
		case s.refused:
			s.have = Credential{}
		default:
			if s.have.renew = time.Now().Add(renewPause); s.have.renew.After(s.have.expires) {
				s.have.renew = s.have.expires
			}
		}
	})
	return t
}

// maxWinners is how often in a row another node may be first with a credential that is no longer valid when it is read.
const maxWinners = 3

// exchange gets a credential for a grant, and keeps the grant that replaces it before the credential is used: the old one is worth nothing by then. If
// another node of a cluster has replaced it meanwhile, it returns the credential and the grant of that node.
func (s *Source) exchange(ctx context.Context, g Grant) (got Credential, next Grant, err error) {
	if _, kept := s.config.Flow.(keepsGrant); kept || !g.ByLogin {
		return s.config.Flow.Exchange(ctx, g)
	}
	for range maxWinners {
		var mine Grant
		next, err = s.config.Keys.Renew(ctx, s.config.Provider, g, func(ctx context.Context) (Grant, error) {
			var err error
			got, mine, err = s.config.Flow.Exchange(ctx, g)
			mine.access = got.text()
			return mine, err
		})
		switch {
		case errors.Is(err, ErrNotKept) && !mine.IsZero():
			s.config.Log.Error("the new token of a login could not be stored; log in again after a restart", "provider", s.config.Provider, "err", err)
			return got, next, nil
		case errors.Is(err, ErrUsedUp):
			return got, next, &provider.Error{API: "login", Provider: s.config.Provider, Kind: provider.KindAuth, Message: ErrUsedUp.Error()}
		case err != nil:
			return got, next, err
		case next.IsZero(): // somebody has logged out
			return got, next, &provider.Error{Provider: s.config.Provider, Kind: provider.KindAuth, Message: s.Advice()}
		case next.Token == mine.Token:
			return got, next, nil
		}
		if got = next.credential(time.Now()); !got.Key.IsZero() {
			return got, next, nil
		}
		g = next
	}
	return got, next, errors.New("other nodes renew the login again and again")
}

// refuse adds what to do to a refusal of a login.
func (s *Source) refuse(err error) error {
	e, ok := errors.AsType[*provider.Error](err)
	if !ok {
		return err
	}
	said := *e
	said.Provider = s.config.Provider
	switch _, from := s.grant(); from {
	case provider.KeyFromLogin:
		said.Message = fmt.Sprintf("the login is not taken any more: %s (%s)", s.remedy(from), e.Message)
	case provider.KeyFromPerson, provider.KeyFromEnvironment:
		said.Message = fmt.Sprintf("the key is not taken: %s (%s)", s.remedy(from), e.Message)
	}
	return &said
}

func isRefusal(err error) bool {
	e, ok := errors.AsType[*provider.Error](err)
	return ok && e.Kind == provider.KindAuth
}

// SetKey keeps a key given by hand in place of whatever there is; the zero one removes that, a login too. With a name it keeps a further
// key, which only calls that name it use.
func (s *Source) SetKey(name string, key provider.Secret) error {
	if name != "" {
		return s.config.Keys.SetNamed(s.config.Provider, name, key)
	}
	return s.config.Keys.Set(s.config.Provider, Grant{Token: key})
}

// Named lists the further keys of the provider, by name.
func (s *Source) Named() []provider.NamedKey { return s.config.Keys.NamedKeys(s.config.Provider) }

// NamedOwner names the account of a further key, as Owner does; false: there is no such key.
func (s *Source) NamedOwner(name string) (account string, ok bool) {
	key := s.config.Keys.Named(s.config.Provider, name)
	return key.Account(), !key.IsZero()
}

// named is the credential of a further key. The error is a *provider.Error.
func (s *Source) named(name string) (Credential, error) {
	key := s.config.Keys.Named(s.config.Provider, name)
	if key.IsZero() {
		return Credential{}, &provider.Error{Provider: s.config.Provider, Kind: provider.KindAuth,
			Message: fmt.Sprintf("there is no key %s: run `thinkd auth set %s --name %[1]s`", name, s.config.Provider)}
	}
	return Credential{Key: key}, nil
}

// Login leads a person through the vendor's login and stores the credential. It ends with ctx.
func (s *Source) Login(ctx context.Context, show func(Prompt)) error {
	if !s.HasLogin() {
		return ErrNoLogin
	}
	g, err := s.config.Flow.Login(ctx, show)
	if err != nil {
		return err
	}
	return s.config.Keys.Set(s.config.Provider, g)
}

// HasLogin reports whether the vendor has a login.
func (s *Source) HasLogin() bool { return s.config.Flow != nil && s.config.Identity == nil }

// identified reports whether there is an identity to call with.
func (s *Source) identified() bool {
	return s.config.Identity != nil && s.config.Identity.Missing() == ""
}
