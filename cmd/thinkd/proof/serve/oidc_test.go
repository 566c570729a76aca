package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// signer is the smallest issuer: its description, its key, and tokens. Package rpc/oidc has the tests with a real provider.
type signer struct {
	t   *testing.T
	url string
	key *ecdsa.PrivateKey
}

func newSigner(t *testing.T) *signer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &signer{t: t, key: key}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = map[string]any{"issuer": s.url, "jwks_uri": s.url + "/keys", "authorization_endpoint": s.url, "token_endpoint": s.url}
		if r.URL.Path == "/keys" {
			answer = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *signer) token(user string, lasts time.Duration) string {
	s.t.Helper()
	by, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: s.key, KeyID: "k"}}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	signed, err := by.Sign(fmt.Appendf(nil, `{"iss":%q,"aud":"thinkd","sub":%q,"iat":%d,"exp":%d}`, s.url, user, time.Now().Unix(), time.Now().Add(lasts).Unix()))
	if err != nil {
		s.t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		s.t.Fatal(err)
	}
	return token
}

// A user of an OpenID provider has sessions of their own, whichever token they come with, and renews a connection with a token of theirs.
// Package rpc/oidc tests that grants end with their tokens.
func TestServeOIDC(t *testing.T) {
	issuer := newSigner(t)
	data, config := t.TempDir(), proof.WriteConfig(t, fmt.Sprintf("[auth.oidc]\nissuer = %q\naudience = \"thinkd\"\n", issuer.url))
	s := proof.StartServe(t, proof.Command(t, nil, append(proof.ServeArgs(data), "--config", config)...))
	first, renewed := proof.DialWS(t, s.Base, issuer.token("ann", time.Hour), nil), proof.DialWS(t, s.Base, issuer.token("ann", time.Hour), nil)
	renewed.Must("auth/renew", map[string]any{"token": issuer.token("ann", 2*time.Hour)}, nil)
	if err := renewed.Call("auth/renew", map[string]any{"token": issuer.token("bob", time.Hour)}, nil); err == nil {
		t.Error("another user's token renews")
	}
	var made struct {
		ID string `json:"session_id"`
	}
	first.Must("session/new", map[string]any{"model_id": "sim/claude"}, &made)
	renewed.Must("session/state", map[string]any{"session_id": made.ID}, nil)
	bob := proof.DialWS(t, s.Base, issuer.token("bob", time.Hour), nil)
	if err := bob.Call("session/state", map[string]any{"session_id": made.ID}, nil); err == nil {
		t.Error("bob reads ann's session")
	}
	for what, token := range map[string]string{"expired": issuer.token("ann", -2*time.Minute), "another issuer": newSigner(t).token("ann", time.Hour), "opaque": "AbCdEf"} {
		if got := s.Status("rpc", token); got != http.StatusUnauthorized {
			t.Errorf("%s: %d", what, got)
		}
	}
	s.Terminate()
}
