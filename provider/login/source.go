package login

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// Credential is what a call needs.
type Credential struct {
	Key     provider.Secret   // zero: there is none, and the adapter reports what is missing
	Account string            // the account, if the vendor names it
	BaseURL string            // where it is valid; empty: at the address of the provider
	Headers map[string]string // that calls need in addition

	renew   time.Time // when to get a new one; zero: never
	expires time.Time // when it stops being valid; zero: never
}

// Prompt is what a person needs to log in.
type Prompt struct {
	URL     string        // to be opened in a browser
	Code    string        // to enter there; empty: there is none
	Expires time.Duration // how long the code is valid
}

// Flow is the login of a vendor, and the exchange of a grant for credentials.
type Flow interface {
	// Login leads a person through the login; show is called once. It ends with ctx. An error is a *provider.Error, or
	// ctx's cause.
	Login(ctx context.Context, show func(Prompt)) (Grant, error)

	// Direct returns the credential of a grant that needs no exchange; false: it needs one.
	Direct(Grant) (Credential, bool)

	// Exchange gets a credential for a grant. The returned grant replaces the given one, because some vendors replace it at
	// each use. The error of a refusal has the kind auth.
	Exchange(ctx context.Context, g Grant) (Credential, Grant, error)
}

// Config is what a [Source] depends on.
type Config struct {
	Provider string
	Env      provider.Secret // the key in the environment; zero: none
	EnvVar   string          // the variable that it is in
	Keys     *Keys
	Flow     Flow         // nil: the vendor has only keys
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

// ErrNoLogin means that a provider has only keys.
var ErrNoLogin = errors.New("there is no login for this provider; it takes a key")

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
	s := &Source{config: c}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Close waits up to closeLimit for exchanges that run, and then ends them.
func (s *Source) Close() {
	late := time.AfterFunc(closeLimit, s.stop)
	defer late.Stop()
	s.works.Wait()
	s.stop()
}

// grant returns the current grant: the key in the environment, or otherwise that of the file.
func (s *Source) grant() (Grant, provider.KeySource) {
	if !s.config.Env.IsZero() {
		return Grant{Token: s.config.Env}, provider.KeyFromEnvironment
	}
	switch g := s.config.Keys.Grant(s.config.Provider); {
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
	if from == provider.KeyFromLogin {
		return g.Account, ""
	}
	return g.Token.Account(), g.Token.Ending()
}

// Advice explains what to do about a provider that is not ready.
func (s *Source) Advice() string {
	logIn := "run `thinkd auth login " + s.config.Provider + "`"
	switch state, from := s.Status(); {
	case state == provider.KeyRefused && from == provider.KeyFromLogin:
		return "the login is not taken any more: " + logIn
	case state == provider.KeyRefused:
		return "the key is not taken"
	case s.config.Flow == nil:
		return "no key: set " + s.config.EnvVar
	case s.config.EnvVar == "":
		return "not logged in: " + logIn
	default:
		return "not logged in: " + logIn + ", or set " + s.config.EnvVar
	}
}

// Credential returns what the next call needs. An error is a *provider.Error, or the cause of ctx.
func (s *Source) Credential(ctx context.Context) (Credential, error) {
	g, _ := s.grant()
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
		s.of, s.have, s.trip, s.refused = g.Token, Credential{}, nil, false
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
		got, next, err := s.config.Flow.Exchange(ctx, g)
		if _, ok := errors.AsType[*provider.Error](err); err != nil && !ok {
			err = &provider.Error{Provider: s.config.Provider, Kind: provider.KindTransport, Message: "the login's server did not answer"}
		}
		if err == nil && next != g { // on disk before it is used: the old one is worth nothing by now
			if e := s.config.Keys.Replace(s.config.Provider, g, next); e != nil {
				s.config.Log.Error("the new token of a login could not be stored; log in again after a restart", "provider", s.config.Provider, "err", e)
			}
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

// refuse adds what to do to a refusal of a login.
func (s *Source) refuse(err error) error {
	e, ok := errors.AsType[*provider.Error](err)
	if !ok {
		return err
	}
	said := *e
	said.Provider = s.config.Provider
	if _, from := s.grant(); from == provider.KeyFromLogin {
		said.Message = fmt.Sprintf("the login is not taken any more: run `thinkd auth login %s` (%s)", s.config.Provider, e.Message)
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

// Login leads a person through the vendor's login and keeps what comes of it. It ends with ctx.
func (s *Source) Login(ctx context.Context, show func(Prompt)) error {
	if s.config.Flow == nil {
		return ErrNoLogin
	}
	g, err := s.config.Flow.Login(ctx, show)
	if err != nil {
		return err
	}
	return s.config.Keys.Set(s.config.Provider, g)
}

// HasLogin reports whether the vendor has a login.
func (s *Source) HasLogin() bool { return s.config.Flow != nil }

// lifetime sets when a credential is to be renewed and when it ends, as seconds from now; what the vendor says of it may
// be missing or absurd.
func (c *Credential) lifetime(renew, expires time.Duration) {
	const least, most = 30 * time.Second, 24 * time.Hour
	expires = min(max(expires, least), most)
	renew = min(max(renew, least/2), expires-least/2)
	now := time.Now()
	c.renew, c.expires = now.Add(renew), now.Add(expires)
}
