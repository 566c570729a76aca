package login_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/provider/sim/logins"
	"github.com/thinkd/thinkd/provider/testgo"
)

// wire is a transport to a stand-in in the same process, which a bubble can wait for.
type wire struct {
	to http.Handler
	// instead answers in the stand-in's place where it is not nil and its answer is not.
	instead func(path string) (*http.Response, error)

	mu    sync.Mutex
	calls []string // path and time since the first one
	began time.Time
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	if w.began.IsZero() {
		w.began = time.Now()
	}
	w.calls = append(w.calls, fmt.Sprintf("%s %s", time.Since(w.began), r.URL.Path))
	w.mu.Unlock()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if w.instead != nil {
		if resp, err := w.instead(r.URL.Path); resp != nil || err != nil {
			return resp, err
		}
	}
	rec := httptest.NewRecorder()
	w.to.ServeHTTP(rec, r)
	return rec.Result(), nil
}

func answer(status int, body string) *http.Response {
	resp := &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}
	if status/100 == 3 {
		resp.Header.Set("Location", "/elsewhere") // of the same origin
	}
	return resp
}

const clientID = "Iv1.test"

// noSecret looks for what the stand-in has handed out.
func noSecret(t *testing.T, l *logins.Server, where, text string) {
	t.Helper()
	for _, secret := range l.Issued() {
		if strings.Contains(text, secret) {
			t.Errorf("%s has a secret: %s", where, text)
		}
	}
}

func kindOf(err error) provider.Kind {
	e, _ := errors.AsType[*provider.Error](err)
	if e == nil {
		return ""
	}
	return e.Kind
}

func TestDeviceCode(t *testing.T) {
	polls := 0
	for _, tt := range []struct {
		name    string
		person  func(l *logins.Server, code string) // at the page, 12 s after the code was shown
		instead func(path string) (*http.Response, error)
		ctx     func(context.Context) (context.Context, context.CancelFunc)
		want    string // the error; empty: none
		calls   []string
	}{
		{name: "pending, then approved", calls: []string{"0s /login/device/code", "5s /login/oauth/access_token", "10s /login/oauth/access_token", "15s /login/oauth/access_token"}},
		{name: "without an interval", instead: func(path string) (*http.Response, error) {
			if polls++; polls == 1 {
				return answer(200, `{"device_code":"device-canary","user_code":"u","verification_uri":"https://github.com/x","expires_in":99}`), nil
			}
			return answer(200, `{"access_token":"ghu_1","token_type":"bearer"}`), nil
		}, calls: []string{"0s /login/device/code", "5s /login/oauth/access_token"}},
		{name: "slower", instead: func(path string) (*http.Response, error) {
			if polls++; polls == 2 {
				return answer(200, `{"error":"slow_down","interval":10}`), nil
			}
			return nil, nil
		}, calls: []string{"0s /login/device/code", "5s /login/oauth/access_token", "15s /login/oauth/access_token"}},
		{name: "the server fails meanwhile", instead: func(path string) (*http.Response, error) {
			if polls++; polls == 2 {
				return answer(502, `<html>`), nil
			}
			if polls == 3 {
				return nil, errors.New("connection reset")
			}
			return nil, nil
		}, calls: []string{"0s /login/device/code", "5s /login/oauth/access_token", "10s /login/oauth/access_token", "15s /login/oauth/access_token"}},
		{name: "denied", person: func(l *logins.Server, code string) { l.Deny(code) }, want: "the login was declined"},
		{name: "nobody comes", person: func(*logins.Server, string) {}, want: "the login was not completed in time"},
		{name: "given up", person: func(*logins.Server, string) {}, ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, 7*time.Second, errors.New("the client disconnected"))
		}, want: "the client disconnected"},
		{name: "no code", instead: once(200, `{"interval":-5,"expires_in":9}`), want: "gave no answer that makes sense"},
		{name: "no page", instead: once(200, `{"device_code":"d","user_code":"u","verification_uri":"javascript:alert(1)","expires_in":9}`), want: "gave no answer that makes sense"},
		{name: "no JSON", instead: once(200, `<html>`), want: "gave no answer that makes sense"},
		{name: "absurd numbers", instead: once(200, `{"device_code":"device-canary","user_code":"u","verification_uri":"https://github.com/x","interval":-5,"expires_in":99999999999}`), want: "The device code [secret] is refused"},
		{name: "no such application", instead: once(404, `{"error":"Not Found"}`), want: "Not Found"},
		{name: "too often", instead: once(429, `{}`), want: "429"},
		{name: "a redirect", instead: once(302, ``), want: "302", calls: []string{"0s /login/device/code"}},
		{name: "a redirect that keeps the request", instead: once(307, ``), want: "307", calls: []string{"0s /login/device/code"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				polls = 0
				l := logins.New(logins.Config{ClientID: clientID})
				net := &wire{to: l, instead: tt.instead}
				flow := &login.Copilot{Provider: "copilot", ClientID: clientID, Client: &http.Client{Transport: net}}
				ctx := t.Context()
				if tt.ctx != nil {
					var stop context.CancelFunc
					ctx, stop = tt.ctx(ctx)
					defer stop()
				}
				person := tt.person
				if person == nil {
					person = func(l *logins.Server, code string) { l.Approve(code) }
				}
				var timer *time.Timer
				g, err := flow.Login(ctx, func(p login.Prompt) {
					if p.Code == "" || p.URL == "" || p.Expires <= 0 || p.Expires > time.Hour {
						t.Errorf("shown: %+v", p)
					}
					timer = time.AfterFunc(12*time.Second, func() { person(l, p.Code) })
				})
				if timer != nil {
					timer.Stop()
				}
				switch {
				case tt.want == "" && (err != nil || g.IsZero() || !g.ByLogin || !strings.HasPrefix(g.Token.Reveal(), "ghu_")):
					t.Errorf("%+v, %v", g, err)
				case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
					t.Errorf("error %v, want %s", err, tt.want)
				}
				if err != nil {
					noSecret(t, l, "the error", err.Error())
				}
				if tt.calls != nil {
					if diff := cmp.Diff(tt.calls, net.calls); diff != "" {
						t.Errorf("calls (-want +got):\n%s", diff)
					}
				}
			})
		})
	}
}

func once(status int, body string) func(string) (*http.Response, error) {
	return func(path string) (*http.Response, error) {
		if path != "/login/device/code" {
			return nil, nil
		}
		return answer(status, body), nil
	}
}

func TestNoClient(t *testing.T) {
	for _, flow := range []login.Flow{&login.Copilot{Provider: "p"}, &login.ChatGPT{Provider: "p"}} {
		_, err := flow.Login(t.Context(), func(login.Prompt) { t.Error("something is shown") })
		if kindOf(err) != provider.KindAuth || !strings.Contains(err.Error(), "set client_id under [providers.p.login]") {
			t.Errorf("%T: %v", flow, err)
		}
	}
}

// house is a source of a provider with a login that was made before.
type house struct {
	*login.Source
	logins *logins.Server
	wire   *wire
	keys   *login.Keys
	log    bytes.Buffer
}

// logIn goes through the login of Copilot in a bubble.
func logIn(t *testing.T, c logins.Config) *house {
	t.Helper()
	c.ClientID = clientID
	h := &house{logins: logins.New(c), keys: open(t, "")}
	h.wire = &wire{to: h.logins}
	flow := &login.Copilot{Provider: "copilot", ClientID: clientID, Editor: true, Client: &http.Client{Transport: h.wire}}
	h.Source = login.NewSource(login.Config{Provider: "copilot", EnvVar: "GITHUB", Keys: h.keys, Flow: flow, Log: slog.New(slog.NewTextHandler(&h.log, nil))})
	t.Cleanup(h.Close)
	if state, from := h.Status(); state != provider.KeyMissing || from != "" {
		t.Errorf("before: %s from %s", state, from)
	}
	if _, err := h.Credential(t.Context()); kindOf(err) != provider.KindAuth || !strings.Contains(err.Error(), "not logged in: run `thinkd auth login copilot`, or set GITHUB") {
		t.Errorf("before: %v", err)
	}
	if err := h.Login(t.Context(), func(p login.Prompt) { h.logins.Approve(p.Code) }); err != nil {
		t.Fatal(err)
	}
	h.state(t, provider.KeyReady)
	return h
}

func (h *house) state(t *testing.T, want provider.KeyState) {
	t.Helper()
	if state, from := h.Status(); state != want || from != provider.KeyFromLogin {
		t.Errorf("the state is %s from %s, want %s", state, from, want)
	}
}

func (h *house) credential(t *testing.T) login.Credential {
	t.Helper()
	c, err := h.Credential(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := logIn(t, logins.Config{API: "https://api.business.githubcopilot.com/"})
		first := h.credential(t)
		if first.BaseURL != "https://api.business.githubcopilot.com" || first.Headers["Copilot-Integration-Id"] != "vscode-chat" || !strings.HasPrefix(first.Key.Reveal(), "tid=") {
			t.Errorf("%+v", first)
		}
		if a, b := first.Key.Account(), h.keys.Grant("copilot").Token.Account(); a != b || a == "" {
			t.Errorf("the account changes with the token: %q, %q", a, b)
		}
		time.Sleep(24 * time.Minute)
		if c := h.credential(t); c.Key != first.Key || h.logins.Exchanges() != 1 {
			t.Errorf("renewed %d times while it was good", h.logins.Exchanges())
		}
		time.Sleep(61 * time.Second) // its renewal is due at 25 minutes, its end at 30
		second := h.credential(t)
		if second.Key == first.Key || h.logins.Exchanges() != 2 {
			t.Error("not renewed ahead of its end")
		}

		// A refused call gets another one, once for all of them.
		var all sync.WaitGroup
		keys := make([]string, 20)
		for i := range keys {
			all.Go(testgo.Guard(t, func() {
				c, ok, err := h.Renew(t.Context(), second.Key)
				if err != nil || !ok {
					t.Errorf("renew: %v, %v", ok, err)
				}
				keys[i] = c.Key.Reveal()
			}))
		}
		all.Wait()
		for _, key := range keys {
			if key != keys[0] || key == second.Key.Reveal() {
				t.Error("different tokens, or the refused one")
			}
		}
		if n := h.logins.Exchanges(); n != 3 {
			t.Errorf("%d exchanges, want 3", n)
		}
	})
}

// TestExchangeFails: while a token cannot be renewed, it is used until it expires. After that, calls return the failure.
func TestExchangeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := logIn(t, logins.Config{})
		first := h.credential(t)
		if first.BaseURL != "https://api.individual.githubcopilot.com" {
			t.Errorf("by the proxy's name: %s", first.BaseURL)
		}
		h.logins.Fail(503)
		time.Sleep(26 * time.Minute)
		for range 10 {
			if c := h.credential(t); c.Key != first.Key {
				t.Error("another token")
			}
		}
		if n := h.logins.Exchanges(); n != 2 {
			t.Errorf("%d exchanges in a moment", n)
		}
		h.state(t, provider.KeyReady)
		time.Sleep(5 * time.Minute)
		if _, err := h.Credential(t.Context()); kindOf(err) != provider.KindOverloaded {
			t.Errorf("after its end: %v", err)
		}
		h.state(t, provider.KeyReady)
		h.logins.Fail(0)
		if c := h.credential(t); c.Key == first.Key {
			t.Error("the same token after its end")
		}
		noSecret(t, h.logins, "the log", h.log.String())
	})
}

// TestRevoked: a login that is not taken any more says what to do, in the error and the state, until there is another.
func TestRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := logIn(t, logins.Config{})
		first := h.credential(t)
		h.logins.Revoke()
		_, ok, err := h.Renew(t.Context(), first.Key)
		if ok || kindOf(err) != provider.KindAuth || !strings.Contains(err.Error(), "the login is not taken any more: run `thinkd auth login copilot`") {
			t.Errorf("%v, %v", ok, err)
		}
		noSecret(t, h.logins, "the error", err.Error())
		h.state(t, provider.KeyRefused)
		if advice := h.Advice(); !strings.Contains(advice, "thinkd auth login copilot") {
			t.Error(advice)
		}
		if err := h.Login(t.Context(), func(p login.Prompt) { h.logins.Approve(p.Code) }); err != nil {
			t.Fatal(err)
		}
		h.state(t, provider.KeyReady)
		h.credential(t)

		// Logging out acts at once, and what was got by the login with it.
		if err := h.SetKey("", provider.Secret{}); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Credential(t.Context()); kindOf(err) != provider.KindAuth {
			t.Errorf("after the end of the login: %v", err)
		}
	})
}

// TestExchangeLeft: who waits for a token may leave; it is fetched all the same, and the next one has it.
func TestExchangeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := logIn(t, logins.Config{})
		h.wire.instead = func(string) (*http.Response, error) {
			time.Sleep(3 * time.Second)
			return nil, nil
		}
		ctx, stop := context.WithTimeoutCause(t.Context(), time.Second, errors.New("left"))
		defer stop()
		if _, err := h.Credential(ctx); err == nil || err.Error() != "left" {
			t.Errorf("%v", err)
		}
		time.Sleep(3 * time.Second)
		h.credential(t)
		if n := h.logins.Exchanges(); n != 1 {
			t.Errorf("%d exchanges", n)
		}
	})
}

// TestClose: the end waits for a token under way, and not for ever.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := logIn(t, logins.Config{})
		h.wire.instead = func(string) (*http.Response, error) {
			time.Sleep(time.Hour)
			return nil, errors.New("late")
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Millisecond)
		defer stop()
		h.Credential(ctx)
	})
}

// TestDirect: a key by hand is used as it is; an application's own token need not be exchanged.
func TestDirect(t *testing.T) {
	keys := open(t, "")
	env := provider.NewSecret("gho_env")
	source := login.NewSource(login.Config{Provider: "copilot", Env: env, Keys: keys, Flow: &login.Copilot{Provider: "copilot"}, Log: slog.New(slog.DiscardHandler)})
	defer source.Close()
	set(t, keys, "copilot", login.Grant{Token: provider.NewSecret("gho_file"), ByLogin: true})
	c, err := source.Credential(t.Context())
	if err != nil || c.Key != env || c.BaseURL != "" {
		t.Errorf("%+v, %v", c, err)
	}
	if state, from := source.Status(); state != provider.KeyReady || from != provider.KeyFromEnvironment {
		t.Errorf("%s from %s", state, from)
	}
	if _, ok, err := source.Renew(t.Context(), env); ok || err != nil {
		t.Errorf("renewed: %v", err)
	}
	plain := login.NewSource(login.Config{Provider: "a", EnvVar: "A_KEY", Keys: keys, Log: slog.New(slog.DiscardHandler)})
	defer plain.Close()
	if c, err := plain.Credential(t.Context()); err != nil || !c.Key.IsZero() || plain.Advice() != "no key: run `thinkd auth set a`, or set A_KEY" {
		t.Errorf("%+v, %v, %s", c, err, plain.Advice())
	}
	if err := plain.SetKey("", provider.NewSecret("k")); err != nil {
		t.Fatal(err)
	}
	if c, err := plain.Credential(t.Context()); err != nil || c.Key.Reveal() != "k" {
		t.Errorf("%+v, %v", c, err)
	}
	if err := plain.Login(t.Context(), nil); !errors.Is(err, login.ErrNoLogin) {
		t.Errorf("%v", err)
	}
}

// TestExchangeAnswers reads any answer.
func TestExchangeAnswers(t *testing.T) {
	for _, tt := range []struct {
		body, base, says string
	}{
		{`{"token":"t","expires_at":0}`, "", ""},
		{`{"token":"t;proxy-ep=proxy.user@a.example.com"}`, "", "no address"},
		{`{"token":"t;proxy-ep=proxy.a.example.com;x","expires_at":1e300,"refresh_in":-1e300}`, "https://api.a.example.com", ""},
		{`{"token":"t;proxy-ep=proxy.","expires_at":1}`, "", ""},
		{`{"token":"t","endpoints":{"api":"http://evil.example.com"}}`, "", "no address"},
		{`{"token":"t","endpoints":{"api":"https://user@evil.example.com"}}`, "", "no address"},
		{`{"token":""}`, "", "no token"},
		{`{"token":7}`, "", "no token"},
		{`[]`, "", "no token"},
		{``, "", "no token"},
		{`{"token":"t","endpoints":null}`, "", ""},
	} {
		net := &wire{instead: func(string) (*http.Response, error) { return answer(200, tt.body), nil }}
		flow := &login.Copilot{Provider: "copilot", Editor: true, Client: &http.Client{Transport: net}}
		c, _, err := flow.Exchange(t.Context(), login.Grant{Token: provider.NewSecret(canary)})
		switch {
		case tt.says == "" && (err != nil || c.BaseURL != tt.base):
			t.Errorf("%s: %q, %v", tt.body, c.BaseURL, err)
		case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)):
			t.Errorf("%s: %v, want %s", tt.body, err, tt.says)
		}
	}
}

// TestExchangeByAnotherClock has a vendor whose clock is a day off from the one here: its token is used for as long as it is good,
// and not exchanged at each call or used for ever.
func TestExchangeByAnotherClock(t *testing.T) {
	for _, off := range []time.Duration{-24 * time.Hour, 0, 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			net := &wire{instead: func(string) (*http.Response, error) {
				there := time.Now().Add(off)
				resp := answer(200, fmt.Sprintf(`{"token":"t","expires_at":%d}`, there.Add(30*time.Minute).Unix()))
				resp.Header.Set("Date", there.UTC().Format(http.TimeFormat))
				return resp, nil
			}}
			source := login.NewSource(login.Config{Provider: "copilot", Env: provider.NewSecret(canary), Keys: open(t, ""),
				Flow: &login.Copilot{Provider: "copilot", Editor: true, Client: &http.Client{Transport: net}}, Log: slog.New(slog.DiscardHandler)})
			defer source.Close()
			for range 60 {
				if _, err := source.Credential(t.Context()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
			}
			if n := len(net.calls); n < 2 || n > 3 {
				t.Errorf("%s off: %d exchanges in an hour", off, n)
			}
		})
	}
}
