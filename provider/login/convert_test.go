package login_test

import (
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/provider/sim/logins"
)

// bound keeps a thought for one key alone.
type bound struct {
	adapter
	to provider.Secret
}

func (b bound) Convert(*provider.Request) (provider.Conversion, error) {
	if b.key == b.to {
		return provider.Conversion{Kept: 1}, nil
	}
	return provider.Conversion{Dropped: 1}, nil
}

// Convert answers for the credential that a call would use. Until there is one, it returns ErrNotKnownYet.
func TestConvert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := logIn(t, logins.Config{})
		log := slog.New(slog.DiscardHandler)
		anew := login.NewSource(login.Config{Provider: "copilot", Keys: h.keys, Log: log, // as after a restart
			Flow: &login.Copilot{Provider: "copilot", ClientID: clientID, Editor: true, Client: &http.Client{Transport: h.wire}}})
		defer anew.Close()
		var token provider.Secret
		p, err := login.NewKeyed(anew, func(c login.Credential) (provider.Provider, error) {
			token = c.Key
			return bound{adapter{c.Key, func(provider.Secret) error { return nil }}, c.Key}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		exchanges := h.logins.Exchanges()
		if c, err := p.Convert(&provider.Request{}); !errors.Is(err, provider.ErrNotKnownYet) || h.logins.Exchanges() != exchanges {
			t.Errorf("before a call: %+v, %v, %d exchanges", c, err, h.logins.Exchanges()-exchanges)
		}
		if _, err := call(t, p); err != nil {
			t.Fatal(err)
		}
		c, err := p.Convert(&provider.Request{})
		if err != nil || c.Kept != 1 || token.IsZero() {
			t.Errorf("after a call: %+v, %v", c, err)
		}
	})
	plain := login.NewSource(login.Config{Provider: "p", Keys: open(t, ""), Env: provider.NewSecret("sk"), Log: slog.New(slog.DiscardHandler)})
	defer plain.Close()
	p, err := login.NewKeyed(plain, func(c login.Credential) (provider.Provider, error) {
		return bound{adapter{c.Key, nil}, provider.NewSecret("sk")}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if c, err := p.Convert(&provider.Request{}); err != nil || c.Kept != 1 {
		t.Errorf("with a key: %+v, %v", c, err)
	}
}
