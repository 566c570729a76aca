package network

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/rpc/conntest"
)

const ownPage = "https://box.lan:7717"

// withLogins is a handler behind TLS, with an origin that the operator allows in addition to our own.
func withLogins(t *testing.T, kept durable.Value) (*Handler, *Token) {
	t.Helper()
	token := NewToken(provider.NewSecret(conntest.Token), nil, false)
	log := slog.New(slog.DiscardHandler)
	h := New(Config{Log: log, Authenticator: token, Logins: NewLogins(token, kept, nil, log), Port: 7717, TLS: true, Hosts: []string{"box.lan"},
		Origins: []string{"https://app.example.com"}, Metrics: page("metrics"),
		Endpoints: []Endpoint{{Path: "/rpc", Limit: 1000, Cookie: true, Serve: echo}, {Path: "/acp", Limit: 1000, Serve: echo}}})
	t.Cleanup(h.Close)
	return h, token
}

// post sends a POST of our own page.
func post(h *Handler, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", ownPage+path, nil)
	r.RemoteAddr = "127.0.0.1:50000"
	r.Header.Set("Origin", ownPage)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const bearer = "Authorization: Bearer " + conntest.Token

// logIn returns the header with the cookie of a new login.
func logIn(t *testing.T, h *Handler) string {
	t.Helper()
	w := post(h, "/login", bearer)
	list := w.Result().Cookies()
	if w.Code != http.StatusNoContent || len(list) != 1 {
		t.Fatal(w.Code, w.Body, list)
	}
	return "Cookie: " + list[0].Name + "=" + list[0].Value
}

// handshake is the status of a WebSocket handshake at /rpc.
func handshake(h *Handler, headers ...string) int {
	return ask(h, shake("/rpc", "box.lan:7717", headers...))
}

func TestLoginCookie(t *testing.T) {
	h, _ := withLogins(t, durable.NewMemory(nil))
	w := post(h, "/login", bearer)
	c := w.Result().Cookies()[0]
	if c.Name != "__Host-thinkd" || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.MaxAge != 30*24*3600 || len(c.Value) < 44 {
		t.Errorf("%+v", c)
	}
	if strings.Contains(fmt.Sprint(w.Header(), w.Body), conntest.Token) {
		t.Error("the answer has the token")
	}
	if logIn(t, h) == "Cookie: "+c.Name+"="+c.Value {
		t.Error("two logins have one cookie")
	}
}

// A cookie lets in at /rpc from our own page. It does so nowhere else, and for nobody else.
func TestLoginRefusals(t *testing.T) {
	h, _ := withLogins(t, durable.NewMemory(nil))
	cookie := logIn(t, h)
	name, id, _ := strings.Cut(strings.TrimPrefix(cookie, "Cookie: "), "=")
	for _, tt := range []struct {
		what, path string
		headers    []string
		want       int
	}{
		{"our own page", "/rpc", []string{cookie, "Origin: " + ownPage}, http.StatusSwitchingProtocols},
		{"our own page, other case", "/rpc", []string{cookie, "Origin: https://BOX.lan:7717"}, http.StatusSwitchingProtocols},
		{"no page", "/rpc", []string{cookie}, http.StatusUnauthorized},
		{"a page that the operator allows", "/rpc", []string{cookie, "Origin: https://app.example.com"}, http.StatusUnauthorized},
		{"another name of ours", "/rpc", []string{cookie, "Origin: https://localhost:7717"}, http.StatusUnauthorized},
		{"a foreign page", "/rpc", []string{cookie, "Origin: https://evil.example"}, http.StatusForbidden},
		{"our name without TLS", "/rpc", []string{cookie, "Origin: http://box.lan:7717"}, http.StatusForbidden},
		{"another port of our name", "/rpc", []string{cookie, "Origin: https://box.lan:7718"}, http.StatusForbidden},
		{"no origin's name", "/rpc", []string{cookie, "Origin: null"}, http.StatusForbidden},
		{"two origins", "/rpc", []string{cookie, "Origin: " + ownPage, "Origin: " + ownPage}, http.StatusForbidden},
		{"the protocol of editors", "/acp", []string{cookie, "Origin: " + ownPage}, http.StatusUnauthorized},
		{"readiness", "/readyz", []string{cookie, "Origin: " + ownPage}, http.StatusUnauthorized},
		{"metrics", "/metrics", []string{cookie, "Origin: " + ownPage}, http.StatusUnauthorized},
		{"another login", "/login", []string{cookie, "Origin: " + ownPage}, http.StatusUnauthorized},
		{"another id", "/rpc", []string{cookie + "x", "Origin: " + ownPage}, http.StatusUnauthorized},
		{"no id", "/rpc", []string{"Cookie: " + name + "=", "Origin: " + ownPage}, http.StatusUnauthorized},
		{"the token as an id", "/rpc", []string{"Cookie: " + name + "=" + conntest.Token, "Origin: " + ownPage}, http.StatusUnauthorized},
		{"another name", "/rpc", []string{"Cookie: thinkd=" + id, "Origin: " + ownPage}, http.StatusUnauthorized},
		{"a planted second cookie", "/rpc", []string{cookie + "; " + name + "=x", "Origin: " + ownPage}, http.StatusUnauthorized},
		{"a wrong token in addition", "/rpc", []string{cookie, "Origin: " + ownPage, "Authorization: Bearer x"}, http.StatusUnauthorized},
		{"a wrong token in the subprotocol in addition", "/rpc", []string{cookie, "Origin: " + ownPage, "Sec-WebSocket-Protocol: thinkd.v1, thinkd.token.x"}, http.StatusUnauthorized},
		{"the id as a token", "/rpc", []string{"Authorization: Bearer " + id, "Origin: " + ownPage}, http.StatusUnauthorized},
		{"the token, and a wrong cookie", "/rpc", []string{"Cookie: " + name + "=x", bearer}, http.StatusSwitchingProtocols},
	} {
		if got := ask(h, shake(tt.path, "box.lan:7717", tt.headers...)); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.what, got, tt.want)
		}
	}
	for what, w := range map[string]*httptest.ResponseRecorder{
		"a login without the token":                   post(h, "/login"),
		"a login with a wrong token":                  post(h, "/login", "Authorization: Bearer x"),
		"a login with the cookie":                     post(h, "/login", cookie),
		"a logout without a cookie":                   post(h, "/logout"),
		"a logout of a page that the operator allows": post(h, "/logout", cookie, "Origin: https://app.example.com"),
	} {
		if w.Code != http.StatusUnauthorized || w.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s: %d, %v", what, w.Code, w.Header())
		}
	}
	if w := post(h, "/logout", cookie, "Origin: https://evil.example"); w.Code != http.StatusForbidden {
		t.Errorf("a logout of a foreign page: %d", w.Code)
	}
	for _, path := range []string{"/login", "/logout"} {
		if got := ask(h, shake(path, "box.lan:7717", bearer)); got != http.StatusMethodNotAllowed {
			t.Errorf("GET %s: %d", path, got)
		}
	}
	if got := handshake(h, cookie, "Origin: "+ownPage); got != http.StatusSwitchingProtocols {
		t.Errorf("after the refusals: %d", got)
	}
}

// Without TLS there is no login, and a cookie counts for nothing: browsers send the cookies of a host to each of its ports.
func TestLoginNeedsTLS(t *testing.T) {
	h, _ := newHandler(t, Config{Port: 7717})
	r := httptest.NewRequest("POST", "http://localhost:7717/login", nil)
	r.Header.Set("Authorization", "Bearer "+conntest.Token)
	if got := ask(h, r); got != http.StatusNotFound {
		t.Errorf("login: %d", got)
	}
	if got := ask(h, shake("/rpc", "localhost:7717", "Origin: http://localhost:7717", "Cookie: __Host-thinkd=x")); got != http.StatusUnauthorized {
		t.Errorf("handshake: %d", got)
	}
}

func TestLogout(t *testing.T) {
	h, _ := withLogins(t, durable.NewMemory(nil))
	one, other := logIn(t, h), logIn(t, h)
	g, err := h.logins.admit(shake("/rpc", "box.lan:7717", one, "Origin: "+ownPage))
	if err != nil {
		t.Fatal(err)
	}
	w := post(h, "/logout", one)
	if c := w.Result().Cookies(); w.Code != http.StatusNoContent || len(c) != 1 || c[0].MaxAge >= 0 || c[0].Value != "" {
		t.Errorf("%d, %v", w.Code, c)
	}
	if g.Valid.Err() == nil {
		t.Error("a connection of the login goes on")
	}
	if got := handshake(h, one, "Origin: "+ownPage); got != http.StatusUnauthorized {
		t.Errorf("after the logout: %d", got)
	}
	if got := handshake(h, other, "Origin: "+ownPage); got != http.StatusSwitchingProtocols {
		t.Errorf("the other browser: %d", got)
	}
	// A tab that had no answer to its logout loses the cookie with the next answer. A page of another origin cannot cause that.
	for _, path := range []string{"/logout", "/rpc"} {
		w := post(h, path, one)
		if c := w.Result().Cookies(); w.Code != http.StatusUnauthorized || len(c) != 1 || c[0].MaxAge >= 0 || c[0].Value != "" {
			t.Errorf("%s after the logout: %d, %v", path, w.Code, c)
		}
		if w := post(h, path, other, "Origin: https://app.example.com"); w.Code != http.StatusUnauthorized || len(w.Result().Cookies()) != 0 {
			t.Errorf("%s from another page: %d, %v", path, w.Code, w.Result().Cookies())
		}
	}
}

// A login ends with its token and after 30 days. It outlives the process.
func TestLoginEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := durable.NewMemory(nil)
		h, token := withLogins(t, kept)
		cookie := logIn(t, h)
		if text, _ := kept.Get(); strings.Contains(string(text), strings.TrimPrefix(cookie, "Cookie: __Host-thinkd=")) {
			t.Error("the cookie is stored")
		}
		g, err := h.logins.admit(shake("/rpc", "box.lan:7717", cookie, "Origin: "+ownPage))
		if err != nil {
			t.Fatal(err)
		}
		later, _ := withLogins(t, kept)
		if got := handshake(later, cookie, "Origin: "+ownPage); got != http.StatusSwitchingProtocols {
			t.Errorf("after a restart: %d", got)
		}
		token.Set(provider.NewSecret("b3RoZXI"))
		if g.Valid.Err() == nil {
			t.Error("a connection goes on with the old token")
		}
		if got := handshake(h, cookie, "Origin: "+ownPage); got != http.StatusUnauthorized {
			t.Errorf("after the token was replaced: %d", got)
		}
		g, err = later.logins.admit(shake("/rpc", "box.lan:7717", cookie, "Origin: "+ownPage))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(loginTime + time.Second)
		if g.Valid.Err() == nil {
			t.Error("a connection goes on after 30 days")
		}
		if got := handshake(later, cookie, "Origin: "+ownPage); got != http.StatusUnauthorized {
			t.Errorf("after 30 days: %d", got)
		}
	})
}

func TestLoginsAreBounded(t *testing.T) {
	h, _ := withLogins(t, durable.NewMemory(nil))
	first := logIn(t, h)
	for range maxLogins {
		logIn(t, h)
	}
	if len(h.logins.list) != maxLogins {
		t.Errorf("%d logins", len(h.logins.list))
	}
	if got := handshake(h, first, "Origin: "+ownPage); got != http.StatusUnauthorized {
		t.Errorf("the oldest: %d", got)
	}
}

// Logins that cannot be read, or stored, let nobody in.
func TestLoginsDamaged(t *testing.T) {
	h, _ := withLogins(t, durable.NewMemory([]byte("[{")))
	cookie := logIn(t, h)
	h.logins.kept = failing{}
	if w := post(h, "/login", bearer); w.Code != http.StatusServiceUnavailable || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("%d, %v", w.Code, w.Header())
	}
	if got := handshake(h, cookie, "Origin: "+ownPage); got != http.StatusSwitchingProtocols {
		t.Errorf("the login before: %d", got)
	}
}

type failing struct{ durable.Value }

func (failing) Put([]byte) error { return fmt.Errorf("disk full") }
