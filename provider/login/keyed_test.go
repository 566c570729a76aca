package login_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/provider/sim/logins"
	"github.com/thinkd/thinkd/provider/testgo"
)

// adapter answers by its key: with 401 for those that its house refuses.
type adapter struct {
	key     provider.Secret
	refuses func(provider.Secret) error
}

func (a adapter) Wire(*provider.Request) (json.RawMessage, error) { return json.RawMessage(`{}`), nil }

func (a adapter) Stream(context.Context, *provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		if err := a.refuses(a.key); err != nil {
			yield(nil, err)
			return
		}
		if yield(provider.Alive{}, nil) {
			yield(provider.Stop{}, nil)
		}
	}
}

// call is what a call tells: its events and its error.
func call(t *testing.T, p provider.Provider) (events int, failure error) {
	t.Helper()
	for _, err := range p.Stream(t.Context(), &provider.Request{}) {
		if err != nil {
			if failure != nil {
				t.Error("two errors")
			}
			failure = err
			continue
		}
		events++
	}
	return events, failure
}

func TestKeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := logIn(t, logins.Config{})
		var mu sync.Mutex
		opened, refused := 0, map[provider.Secret]bool{}
		denied := &provider.Error{Kind: provider.KindAuth, Status: 401, Message: "expired"}
		failure := error(nil) // for all keys
		p, err := login.NewKeyed(h.Source, func(c login.Credential) (provider.Provider, error) {
			mu.Lock()
			defer mu.Unlock()
			opened++
			return adapter{c.Key, func(key provider.Secret) error {
				mu.Lock()
				defer mu.Unlock()
				if refused[key] {
					return denied
				}
				return failure
			}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		good := func(want int) {
			t.Helper()
			if n, err := call(t, p); n != 2 || err != nil {
				t.Errorf("%d events, %v", n, err)
			}
			if opened != want {
				t.Errorf("%d adapters, want %d", opened, want)
			}
		}
		good(2) // that without a key too
		good(2)
		refused[h.credential(t).Key] = true
		good(3)

		// Refused with each token: told once, after one more try.
		before := h.logins.Exchanges()
		failure = denied
		if n, err := call(t, p); n != 0 || err != error(denied) {
			t.Errorf("%d events, %v", n, err)
		}
		if n := h.logins.Exchanges() - before; n != 1 {
			t.Errorf("%d exchanges", n)
		}
		// Of another kind: not tried again.
		before = h.logins.Exchanges()
		failure = &provider.Error{Kind: provider.KindAuth, Status: 403}
		if _, err := call(t, p); err != failure {
			t.Errorf("%v", err)
		}
		if n := h.logins.Exchanges() - before; n != 0 {
			t.Errorf("%d exchanges for a 403", n)
		}

		// Many calls at once with a token that is refused: one new token for all.
		failure = nil
		refused[h.credential(t).Key] = true
		before = h.logins.Exchanges()
		var all sync.WaitGroup
		for range 20 {
			all.Go(testgo.Guard(t, func() {
				if n, err := call(t, p); n != 2 || err != nil {
					t.Errorf("%d events, %v", n, err)
				}
			}))
		}
		all.Wait()
		if n := h.logins.Exchanges() - before; n != 1 {
			t.Errorf("%d exchanges for calls at once", n)
		}

		h.logins.Revoke()
		refused[h.credential(t).Key] = true
		if n, err := call(t, p); n != 0 || kindOf(err) != provider.KindAuth || !strings.Contains(err.Error(), "thinkd auth login") {
			t.Errorf("%d events, %v", n, err)
		}
		if err := h.SetKey("", provider.Secret{}); err != nil {
			t.Fatal(err)
		}
		if n, err := call(t, p); n != 0 || !strings.Contains(err.Error(), "not logged in") {
			t.Errorf("%d events, %v", n, err)
		}
	})
}

// TestKeyedDirect: a login's token that is not exchanged cannot be renewed; a key by hand is not one of a login.
// listing is an adapter whose host lists models.
type listing struct{ adapter }

func (l listing) Models(context.Context) ([]provider.Model, error) {
	if err := l.refuses(l.key); err != nil {
		return nil, err
	}
	return []provider.Model{{ID: "m"}}, nil
}

// A list that is refused is asked for once more with a new token, like a call. A refusal of that says what to do.
func TestKeyedModels(t *testing.T) {
	c := new(cloud)
	source, _ := identified(t, c, "")
	var ended []string
	p, err := login.NewKeyed(source, func(c login.Credential) (provider.Provider, error) {
		return listing{adapter{c.Key, func(key provider.Secret) error {
			if slices.Contains(ended, key.Reveal()) {
				return &provider.Error{Kind: provider.KindAuth, Status: 401, Message: "expired"}
			}
			return nil
		}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, over := range []string{"", "token-1", "token-2"} {
		ended = append(ended, over)
		if list, err := p.Models(t.Context()); err != nil || len(list) != 1 {
			t.Errorf("after the end of %q: %v, %v", over, list, err)
		}
	}
	if c.given != 3 {
		t.Errorf("%d tokens were given, want 3", c.given)
	}
	ended = append(ended, "token-3", "token-4")
	if _, err := p.Models(t.Context()); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("all tokens ended: %v", err)
	}
	keyed, _ := identified(t, new(cloud), "key-1")
	ended = append(ended, "key-1")
	if p, err = login.NewKeyed(keyed, func(c login.Credential) (provider.Provider, error) {
		return listing{adapter{c.Key, func(provider.Secret) error {
			return &provider.Error{Kind: provider.KindAuth, Status: 401, Message: "wrong"}
		}}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Models(t.Context()); err == nil || !strings.Contains(err.Error(), "set another one in P_KEY") {
		t.Errorf("a refused key: %v", err)
	}
}

func TestKeyedDirect(t *testing.T) {
	keys := open(t, "")
	source := login.NewSource(login.Config{Provider: "copilot", Keys: keys, Flow: &login.Copilot{Provider: "copilot"}})
	defer source.Close()
	p, err := login.NewKeyed(source, func(c login.Credential) (provider.Provider, error) {
		return adapter{c.Key, func(provider.Secret) error {
			return &provider.Error{Provider: "copilot", Kind: provider.KindAuth, Status: 401, Message: "bad credentials"}
		}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		grant login.Grant
		want  string
	}{
		{login.Grant{Token: provider.NewSecret("gho_1"), ByLogin: true},
			"copilot: status 401: the login is not taken any more: run `thinkd auth login copilot` (bad credentials)"},
		{login.Grant{Token: provider.NewSecret("gho_1")}, "copilot: status 401: the key is not taken: run `thinkd auth login copilot` (bad credentials)"},
	} {
		set(t, keys, "copilot", tt.grant)
		if n, err := call(t, p); n != 0 || err == nil || err.Error() != tt.want || kindOf(err) != provider.KindAuth {
			t.Errorf("%d events, %v, want %s", n, err, tt.want)
		}
	}
}

func TestKeyedBroken(t *testing.T) {
	source := login.NewSource(login.Config{Provider: "a", Keys: open(t, "")})
	defer source.Close()
	broken := errors.New("no such dialect")
	if _, err := login.NewKeyed(source, func(login.Credential) (provider.Provider, error) { return nil, broken }); err != broken {
		t.Errorf("%v", err)
	}
	p, err := login.NewKeyed(source, func(c login.Credential) (provider.Provider, error) {
		if c.Key.IsZero() {
			return adapter{c.Key, func(provider.Secret) error { return nil }}, nil
		}
		return nil, broken
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := call(t, p); n != 2 || err != nil {
		t.Errorf("without a key: %d, %v", n, err)
	}
	if err := source.SetKey("", provider.NewSecret("k")); err != nil {
		t.Fatal(err)
	}
	if n, err := call(t, p); n != 0 || !errors.Is(err, broken) {
		t.Errorf("%d, %v", n, err)
	}
	if wire, err := p.Wire(&provider.Request{}); err != nil || string(wire) != "{}" {
		t.Errorf("%s, %v", wire, err)
	}
}
