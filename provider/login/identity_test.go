package login_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/login"
)

// cloud gives an identity tokens that last an hour.
type cloud struct {
	mu      sync.Mutex
	given   int
	missing string
	fails   error
}

func (c *cloud) Token(context.Context) (provider.Secret, time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fails != nil {
		return provider.Secret{}, time.Time{}, c.fails
	}
	c.given++
	return provider.NewSecret(fmt.Sprint("token-", c.given)), time.Now().Add(time.Hour), nil
}

func (c *cloud) Account() string { return "project" }
func (c *cloud) Missing() string { return c.missing }

func identified(t *testing.T, c *cloud, env string) (*login.Source, *login.Keys) {
	t.Helper()
	keys, err := login.OpenKeys(new(durable.Memory))
	if err != nil {
		t.Fatal(err)
	}
	s := login.NewSource(login.Config{Provider: "p", Env: provider.NewSecret(env), EnvVar: "P_KEY", Keys: keys, Identity: c, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(s.Close)
	return s, keys
}

// A token is renewed before it expires, once for all who ask, and the account stays.
func TestIdentityIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(cloud)
		s, _ := identified(t, c, "")
		if state, from := s.Status(); state != provider.KeyReady || from != provider.KeyFromIdentity || s.HasLogin() {
			t.Errorf("state %s from %s, a login: %t", state, from, s.HasLogin())
		}
		for _, step := range []struct {
			wait time.Duration
			want string
		}{{0, "token-1"}, {50 * time.Minute, "token-1"}, {7 * time.Minute, "token-2"}, {50 * time.Minute, "token-2"}, {24 * time.Hour, "token-3"}} {
			time.Sleep(step.wait) // of the bubble
			got, err := s.Credential(t.Context())
			if err != nil || got.Key.Reveal() != step.want || got.Account != "project" {
				t.Errorf("after %v: %q of %q, %v; want %s", step.wait, got.Key.Reveal(), got.Account, err, step.want)
			}
		}
		if account, ending := s.Owner(); account != "project" || ending != "" {
			t.Errorf("owner %q, %q", account, ending)
		}
	})
}

// A token that still lasts is used while the cloud does not answer. A refusal ends it.
func TestIdentityFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(cloud)
		s, _ := identified(t, c, "")
		first, err := s.Credential(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.fails = &provider.Error{Kind: provider.KindTransport, Message: "no answer"}
		time.Sleep(58 * time.Minute)
		if got, err := s.Credential(t.Context()); err != nil || got.Key != first.Key {
			t.Errorf("within its time: %v", err)
		}
		time.Sleep(3 * time.Minute)
		if _, err := s.Credential(t.Context()); err == nil {
			t.Error("a token was used after its end")
		}
		c.fails = &provider.Error{Kind: provider.KindAuth, Status: http.StatusForbidden, Message: "no such account"}
		time.Sleep(time.Minute)
		_, err = s.Credential(t.Context())
		e, ok := errors.AsType[*provider.Error](err)
		if state, _ := s.Status(); !ok || e.Provider != "p" || state != provider.KeyRefused || s.Advice() != "the cloud refuses the configured identity" {
			t.Errorf("refused: %v, state %s, %q", err, state, s.Advice())
		}
	})
}

// A key comes before the identity, and without an identity the advice names both.
func TestIdentityIsLast(t *testing.T) {
	keyed, _ := identified(t, new(cloud), "key-1")
	if got, err := keyed.Credential(t.Context()); err != nil || got.Key.Reveal() != "key-1" {
		t.Errorf("with a key in the environment: %q, %v", got.Key.Reveal(), err)
	}
	if _, again, err := keyed.Renew(t.Context(), provider.NewSecret("key-1")); again || err != nil {
		t.Errorf("another credential than the key: %t, %v", again, err)
	}
	c := &cloud{missing: "run the cloud's login"}
	s, keys := identified(t, c, "")
	if state, _ := s.Status(); state != provider.KeyMissing || s.Advice() != "run the cloud's login, or set P_KEY" {
		t.Errorf("state %s, %q", state, s.Advice())
	}
	if err := s.Login(t.Context(), nil); !errors.Is(err, login.ErrNoLogin) {
		t.Errorf("login: %v", err)
	}
	if err := keys.Set("p", login.Grant{Token: provider.NewSecret("key-2")}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Credential(t.Context()); err != nil || got.Key.Reveal() != "key-2" {
		t.Errorf("with a stored key: %q, %v", got.Key.Reveal(), err)
	}
}
