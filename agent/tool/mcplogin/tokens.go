package mcplogin

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/login"
)

// tokens is a login as it is stored: the tokens, and what renews them.
type tokens struct {
	Server   string           `json:"server"` // the address that the tokens are for
	Resource string           `json:"resource"`
	ClientID string           `json:"client_id"`
	Secret   string           `json:"client_secret,omitempty"` // of a client that was registered as one with a secret
	URL      string           `json:"token_url"`
	Style    oauth2.AuthStyle `json:"auth_style,omitempty"`
	Access   string           `json:"access_token"`
	Refresh  string           `json:"refresh_token,omitempty"`
	Type     string           `json:"token_type,omitempty"`
	Expiry   time.Time        `json:"expiry,omitzero"`
}

func (t tokens) with(token *oauth2.Token) tokens {
	t.Access, t.Refresh, t.Type, t.Expiry = token.AccessToken, token.RefreshToken, token.TokenType, token.Expiry
	return t
}

func (t tokens) token() *oauth2.Token {
	return &oauth2.Token{AccessToken: t.Access, RefreshToken: t.Refresh, TokenType: t.Type, Expiry: t.Expiry}
}

// grant is the login for the file of keys.
func (t tokens) grant() (login.Grant, error) {
	text, err := json.Marshal(t)
	return login.Grant{Token: provider.NewSecret(string(text)), Account: t.Server, ByLogin: true}, err
}

// errDamaged does not quote the text, which has tokens.
var errDamaged = errors.New("the stored login is damaged: log in again")

func tokensOf(g login.Grant) (t tokens, err error) {
	if json.Unmarshal([]byte(g.Token.Reveal()), &t) != nil {
		return t, errDamaged
	}
	return t, nil
}

// forResource names the server in requests for a new token (RFC 8707), which the library does not.
type forResource struct {
	resource string
	next     http.RoundTripper
}

func (f forResource) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Method != http.MethodPost {
		return f.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	form.Set("resource", f.resource)
	r = r.Clone(r.Context())
	text := []byte(form.Encode())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return f.next.RoundTrip(r)
}
