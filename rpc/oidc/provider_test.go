package oidc

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
)

// signing is a key of the provider.
type signing struct {
	id  string
	alg jose.SignatureAlgorithm
	key crypto.Signer
}

func (s signing) ID() string                                  { return s.id }
func (s signing) SignatureAlgorithm() jose.SignatureAlgorithm { return s.alg }
func (s signing) Key() any                                    { return s.key }

// public is what the provider publishes of a key.
type public struct{ signing }

func (p public) Algorithm() jose.SignatureAlgorithm { return p.alg }
func (p public) Use() string                        { return "sig" }
func (p public) Key() any                           { return p.key.Public() }

func newSigning(t *testing.T, id string) signing {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signing{id, jose.ES256, key}
}

// keyed is the provider's storage, with keys that can be rotated.
type keyed struct {
	*storage.Storage
	mu   sync.Mutex
	keys []signing // the first signs

	web func(op.Client) op.Client // the client with a secret, as the provider has it; nil: as the example has it
}

func (k *keyed) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	c, err := k.Storage.GetClientByClientID(ctx, id)
	if err == nil && id == webClient && k.web != nil {
		c = k.web(c)
	}
	return c, err
}

func (k *keyed) SigningKey(context.Context) (op.SigningKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.keys[0], nil
}

func (k *keyed) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.ES256}, nil
}

func (k *keyed) KeySet(context.Context) (list []op.Key, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.keys {
		list = append(list, public{s})
	}
	return list, nil
}

func (k *keyed) rotate(keys ...signing) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys = keys
}

// issuer is an OpenID provider of zitadel, with its login page, in this process.
type issuer struct {
	*testing.T
	*keyed
	url string

	mu    sync.Mutex
	asked []string // paths that were asked for

	takes string   // the header or the member of a form that has the client's secret; a request with another one is refused; empty: any
	hides []string // members that the description does not have

	answer func() map[string]any // in place of that of the token endpoint; nil: its own
}

const (
	clientID = "thinkd"
	redirect = "http://localhost/auth/callback"
	password = "verysecure"
)

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{T: t}
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		i.asked = append(i.asked, r.URL.Path)
		answer, hides, takes := i.answer, i.hides, i.takes
		i.mu.Unlock()
		if r.URL.Path == "/.well-known/openid-configuration" && hides != nil {
			w = &hiding{w, hides, t}
		}
		if takes != "" && refusesClient(t, w, r, takes) {
			return
		}
		if answer != nil && r.URL.Path == "/oauth/token" {
			w.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(w).Encode(answer()); err != nil {
				t.Error(err)
			}
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	i.url = strings.Replace(server.URL, "127.0.0.1", "localhost", 1) // the name for which the provider allows http
	clients := map[string]*storage.Client{clientID: storage.NativeClient(clientID, redirect), "other": storage.NativeClient("other", redirect), webClient: webStorage()}
	i.keyed = &keyed{Storage: storage.NewStorageWithClients(storage.NewUserStore(i.url), clients), keys: []signing{newSigning(t, "first")}}
	handler = exampleop.SetupServer(i.url, i.keyed, nil, false)
	return i
}

// hiding leaves members of a description out.
type hiding struct {
	http.ResponseWriter
	members []string
	t       *testing.T
}

func (h *hiding) Write(text []byte) (int, error) {
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		h.t.Error(err)
	}
	for _, name := range h.members {
		delete(all, name)
	}
	left, err := json.Marshal(all)
	if err != nil {
		h.t.Error(err)
	}
	_, err = h.ResponseWriter.Write(left)
	return len(text), err
}

// refusesClient answers a request that has the client's secret in another place than the provider takes it. The example takes it in all.
func refusesClient(t *testing.T, w http.ResponseWriter, r *http.Request, takes string) bool {
	if r.URL.Path != "/oauth/token" && r.URL.Path != "/revoke" {
		return false
	}
	if err := r.ParseForm(); err != nil {
		t.Error(err)
	}
	if r.Header.Get(takes) != "" || r.PostForm.Get(takes) != "" {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnauthorized)
	if err := json.NewEncoder(w).Encode(map[string]string{"error": "invalid_client"}); err != nil {
		t.Error(err)
	}
	return true
}

// requests counts those for a path.
func (i *issuer) requests(path string) (n int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, asked := range i.asked {
		if asked == path {
			n++
		}
	}
	return n
}

// tokens are what a login gets.
type tokens struct {
	ID      string `json:"id_token"`
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
}

// logIn goes through the code flow with PKCE as a browser does: the provider's login page, its form, and the code behind the redirect.
func (i *issuer) logIn(client, user string) tokens {
	i.Helper()
	verifier := rand.Text() + rand.Text()
	sum := sha256.Sum256([]byte(verifier))
	ask := url.Values{"client_id": {client}, "redirect_uri": {redirect}, "response_type": {"code"}, "scope": {"openid profile email offline_access"}, "state": {"s"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}}
	code := i.authorize(i.url+"/auth?"+ask.Encode(), user).Get("code")
	return i.exchange(url.Values{"grant_type": {"authorization_code"}, "client_id": {client}, "code": {code}, "redirect_uri": {redirect}, "code_verifier": {verifier}})
}

// authorize logs a user in behind an address, as a browser does. It returns what the provider sends back.
func (i *issuer) authorize(address, user string) (back url.Values) {
	i.Helper()
	browser := &http.Client{CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), redirect) {
			back = r.URL.Query()
			return http.ErrUseLastResponse
		}
		return nil
	}}
	defer browser.CloseIdleConnections()
	page, err := browser.Get(address)
	if err != nil {
		i.Fatal(err)
	}
	text, err := io.ReadAll(page.Body)
	page.Body.Close()
	if err != nil || page.StatusCode != http.StatusOK {
		i.Fatalf("the login page: %d %v\n%s", page.StatusCode, err, text)
	}
	answer, err := browser.PostForm(i.url+"/login/username", url.Values{"id": {page.Request.URL.Query().Get("authRequestID")}, "username": {user}, "password": {password}})
	if err != nil {
		i.Fatal(err)
	}
	answer.Body.Close()
	if back.Get("code") == "" {
		i.Fatalf("the login ends with %s", answer.Status)
	}
	return back
}

// renew uses a refresh token.
func (i *issuer) renew(client, refresh string) tokens {
	i.Helper()
	return i.exchange(url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {refresh}})
}

func (i *issuer) exchange(form url.Values) (got tokens) {
	i.Helper()
	answer, err := http.PostForm(i.url+"/oauth/token", form)
	if err != nil {
		i.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil || got.ID == "" {
		i.Fatalf("%s: %+v, %v", answer.Status, got, err)
	}
	return got
}

// sign makes a token with a key of the provider, with claims that the provider would not make.
func (i *issuer) sign(by signing, header map[jose.HeaderKey]any, claims map[string]any) string {
	i.Helper()
	options := &jose.SignerOptions{ExtraHeaders: header}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: by.alg, Key: jose.JSONWebKey{Key: by.key, KeyID: by.id}}, options)
	if err != nil {
		i.Fatal(err)
	}
	text, err := json.Marshal(claims)
	if err != nil {
		i.Fatal(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		i.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		i.Fatal(err)
	}
	return token
}

// right returns the claims of a token that is admitted at now, with changes: a nil removes a claim.
func (i *issuer) right(now time.Time, changes ...any) map[string]any {
	c := map[string]any{"iss": i.url, "aud": []string{clientID}, "sub": "ann", "exp": now.Add(time.Hour).Unix(), "iat": now.Unix()}
	for pair := range slices.Chunk(changes, 2) {
		if pair[1] == nil {
			delete(c, pair[0].(string))
		} else {
			c[pair[0].(string)] = pair[1]
		}
	}
	return c
}

var _ exampleop.Storage = (*keyed)(nil)
