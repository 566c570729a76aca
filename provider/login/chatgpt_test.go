package login_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/oauth2"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/provider/sim/logins"
	"github.com/thinkd/thinkd/provider/testgo"
)

// browser goes to an address and where that leads, and reads the page.
func browser(t *testing.T, address string) (status int, text string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(address)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(body)
}

// planHouse is a login to ChatGPT with real sockets: a browser comes back to one.
type planHouse struct {
	flow   *login.ChatGPT
	logins *logins.Server
}

func newPlanHouse(t *testing.T) *planHouse {
	t.Helper()
	h := &planHouse{logins: logins.New(logins.Config{ClientID: "app_1", Account: "acct_1"})}
	server := httptest.NewServer(h.logins)
	t.Cleanup(server.Close)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	h.flow = &login.ChatGPT{Provider: "chatgpt", ClientID: "app_1", Address: server.URL, Port: port, Client: &http.Client{Transport: transport}}
	return h
}

// comeBack is the address that a browser would come back to from the page of a prompt.
func comeBack(t *testing.T, page string) *url.URL {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(page)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	back, err := resp.Location()
	if err != nil {
		t.Fatal(err)
	}
	return back
}

func with(t *testing.T, u *url.URL, name, value string) string {
	t.Helper()
	other := *u
	q := other.Query()
	q.Set(name, value)
	other.RawQuery = q.Encode()
	return other.String()
}

func TestPlanLogin(t *testing.T) {
	for _, tt := range []struct {
		name   string
		person func(t *testing.T, h *planHouse, page string)
		want   string // the error; empty: none
	}{
		{name: "agreed", person: func(t *testing.T, h *planHouse, page string) {
			if status, text := browser(t, page); status != 200 || !strings.Contains(text, "You are logged in. You can close this page.") {
				t.Errorf("%d %s", status, text)
			}
		}},
		{name: "another's state uses nothing up", person: func(t *testing.T, h *planHouse, page string) {
			back := comeBack(t, page)
			for _, bad := range []string{with(t, back, "state", "x"), with(t, back, "state", ""), strings.Replace(back.String(), "callback", "other", 1)} {
				if status, text := browser(t, bad); status < 400 || strings.Contains(text, "logged in") {
					t.Errorf("%d %s", status, text)
				}
			}
			if status, _ := browser(t, back.String()); status != 200 {
				t.Errorf("the right one: %d", status)
			}
		}},
		{name: "used twice", person: func(t *testing.T, h *planHouse, page string) {
			back := comeBack(t, page)
			statuses := make(chan int, 2)
			for range 2 {
				testgo.Go(t, func() { // the loop below waits
					resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(back.String())
					if err != nil { // the login has ended, and the place is closed
						statuses <- http.StatusGone
						return
					}
					resp.Body.Close()
					statuses <- resp.StatusCode
				})
			}
			if a, b := <-statuses, <-statuses; min(a, b) != http.StatusOK || max(a, b) != http.StatusGone {
				t.Errorf("%d and %d", a, b)
			}
		}},
		{name: "another's code", want: "invalid_grant", person: func(t *testing.T, h *planHouse, page string) {
			u, err := url.Parse(page)
			if err != nil {
				t.Fatal(err)
			}
			// A code of a login that somebody else began: its verifier is another one.
			other := comeBack(t, with(t, u, "code_challenge", base64.RawURLEncoding.EncodeToString(make([]byte, 32))))
			if status, text := browser(t, other.String()); status != 400 || !strings.Contains(text, "The login failed") {
				t.Errorf("%d %s", status, text)
			}
		}},
		{name: "declined", want: "the login was declined", person: func(t *testing.T, h *planHouse, page string) {
			h.logins.Decline()
			if status, text := browser(t, page); status != 400 || !strings.Contains(text, "You can close this page") {
				t.Errorf("%d %s", status, text)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newPlanHouse(t)
			done := make(chan struct{})
			g, err := h.flow.Login(t.Context(), func(p login.Prompt) {
				testgo.Go(t, func() { // ends when the person is done; the test waits
					defer close(done)
					tt.person(t, h, p.URL)
				})
			})
			<-done
			switch {
			case tt.want == "" && (err != nil || g.Account != "acct_1" || !g.ByLogin || !strings.HasPrefix(g.Token.Reveal(), "rt_")):
				t.Errorf("%+v, %v", g, err)
			case tt.want != "" && (kindOf(err) != provider.KindAuth || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%v, want %s", err, tt.want)
			}
			if err != nil {
				noSecret(t, h.logins, "the error", err.Error())
			}
		})
	}
}

// TestPlanLoginEnds: who gives up leaves the port free for the next one.
func TestPlanLoginEnds(t *testing.T) {
	h := newPlanHouse(t)
	for range 2 {
		ctx, stop := context.WithCancelCause(t.Context())
		_, err := h.flow.Login(ctx, func(login.Prompt) {
			_, err := h.flow.Login(t.Context(), func(login.Prompt) { t.Error("two at once") })
			if kindOf(err) != provider.KindTransport || !strings.Contains(err.Error(), "is taken") {
				t.Errorf("the port is taken: %v", err)
			}
			stop(errors.New("given up"))
		})
		if err == nil || err.Error() != "given up" {
			t.Errorf("%v", err)
		}
	}
}

// TestPlanTime: nobody comes back.
func TestPlanTime(t *testing.T) {
	h := newPlanHouse(t)
	h.flow.Wait = time.Millisecond
	_, err := h.flow.Login(t.Context(), func(p login.Prompt) {
		if p.Expires != time.Millisecond {
			t.Errorf("%+v", p)
		}
	})
	if kindOf(err) != provider.KindAuth || !strings.Contains(err.Error(), "not completed in time") {
		t.Errorf("%v", err)
	}
}

// TestPlanRenewal: each renewal replaces what lasts, on disk before the new one is used.
func TestPlanRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logins := logins.New(logins.Config{ClientID: "app_1", Account: "acct_1"})
		net := &wire{to: logins}
		flow := &login.ChatGPT{Provider: "chatgpt", ClientID: "app_1", Client: &http.Client{Transport: net}}
		path := filepath.Join(t.TempDir(), "keys.json")
		keys := open(t, path)
		begin := func() *login.Source {
			return login.NewSource(login.Config{Provider: "chatgpt", Keys: open(t, path), Flow: flow, Log: slog.New(slog.DiscardHandler)})
		}
		set(t, keys, "chatgpt", login.Grant{Token: provider.NewSecret(firstToken(t, net)), Account: "acct_1", ByLogin: true})
		source := begin()
		defer func() { source.Close() }()
		var seen []provider.Secret
		for range 5 {
			c, err := source.Credential(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if c.Account != "acct_1" || len(seen) > 0 && c.Key == seen[len(seen)-1] {
				t.Errorf("%+v after %d", c, len(seen))
			}
			seen = append(seen, c.Key)
			time.Sleep(26 * time.Minute) // 5 before its end
			if len(seen) == 3 {          // a restart finds the last one
				source.Close()
				source = begin()
			}
		}
		if n := logins.Exchanges(); n != 5 {
			t.Errorf("%d renewals", n)
		}
		logins.Revoke()
		_, err := source.Credential(t.Context())
		if kindOf(err) != provider.KindAuth || !strings.Contains(err.Error(), "run `thinkd auth login chatgpt`") || !strings.Contains(err.Error(), "refresh_token_invalidated") {
			t.Errorf("after it was revoked: %v", err)
		}
		noSecret(t, logins, "the error", err.Error())
	})
}

// firstToken is what a login gives, gone through by hand.
func firstToken(t *testing.T, to *wire) string {
	t.Helper()
	client := &http.Client{Transport: to, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	conf := oauth2.Config{ClientID: "app_1", RedirectURL: "http://localhost:1455/auth/callback", Scopes: []string{"openid", "offline_access"},
		Endpoint: oauth2.Endpoint{AuthURL: "https://auth.openai.com/oauth/authorize", TokenURL: "https://auth.openai.com/oauth/token", AuthStyle: oauth2.AuthStyleInParams}}
	verifier := oauth2.GenerateVerifier()
	resp, err := client.Get(conf.AuthCodeURL("0123456789abcdef", oauth2.S256ChallengeOption(verifier)))
	if err != nil {
		t.Fatal(err)
	}
	back, err := resp.Location()
	if err != nil {
		t.Fatal(err)
	}
	token, err := conf.Exchange(context.WithValue(t.Context(), oauth2.HTTPClient, client), back.Query().Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		t.Fatal(err)
	}
	return token.RefreshToken
}

func TestGivenAccessToken(t *testing.T) {
	jwt := func(claims string) string {
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".sig"
	}
	for token, account := range map[string]string{
		jwt(`{"https://api.openai.com/auth":{"chatgpt_account_id":"acct_9"}}`): "acct_9",
		jwt(`{"https://api.openai.com/auth":{"chatgpt_account_id":7}}`):        "",
		jwt(`{"https://api.openai.com/auth":null}`):                            "",
		jwt(`[`):          "",
		"e30.!!!.sig":     "",
		"sk-no-jwt":       "",
		"a.b":             "",
		"e30.e30.sig.sig": "",
	} {
		c, ok := (&login.ChatGPT{}).Direct(login.Grant{Token: provider.NewSecret(token)})
		if !ok || c.Key.Reveal() != token || c.Account != account {
			t.Errorf("%s: %+v, %v", token, c.Account, ok)
		}
	}
}
