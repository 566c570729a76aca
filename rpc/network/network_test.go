package network

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/conntest"
	"github.com/thinkd/thinkd/rpc/method"
)

// newHandler admits the bearers of conntest.Token, whose clients get back what they send.
func newHandler(t testing.TB, c Config) (*Handler, *Token) {
	t.Helper()
	token := NewToken(provider.NewSecret(conntest.Token), nil, c.BehindProxy)
	c.Log, c.Authenticator = slog.New(slog.DiscardHandler), token
	c.Endpoints = []Endpoint{{Path: "/rpc", Limit: 1000, Serve: echo}, {Path: "/acp", Limit: 1000, Serve: echo, IDHeader: "Acp-Connection-Id"}}
	h := New(c)
	t.Cleanup(h.Close)
	return h, token
}

// echo is an endpoint that gives back what it gets.
func echo(ctx context.Context, l *auth.Lease, f conn.Frames) error {
	if p := l.Principal(); p.Name != method.Operator().Name {
		return fmt.Errorf("served for %+v", p)
	}
	stop := context.AfterFunc(ctx, func() { f.Close(context.Cause(ctx)) })
	defer stop()
	for {
		message, err := f.Read()
		if err == nil {
			err = f.Write([][]byte{bytes.Clone(message)})
		}
		if err != nil {
			return f.Close(err)
		}
	}
}

// listenOn puts a handler on a port of loopback.
func listenOn(t testing.TB, h *Handler) net.Addr {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.Listener.Addr()
}

// A new token closes the connections that came with the old one; the same token closes none.
func TestTokenReplaced(t *testing.T) {
	h, token := newHandler(t, Config{Hosts: []string{"thinkd.test:0"}, Port: 1})
	c := conntest.Dial(t, listenOn(t, h))
	token.Set(provider.NewSecret(conntest.Token))
	c.Send(conntest.Frame(conntest.Fin|conntest.Text, conntest.Ping("1")))
	if _, got, err := c.Receive(); err != nil || got != conntest.Ping("1") {
		t.Fatal(got, err)
	}
	token.Set(provider.NewSecret("b3RoZXI"))
	if _, why := c.ClosedAfter(true); why != "close 4001 the token was replaced" {
		t.Error(why)
	}
	h.running.Wait()
}

func page(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
}

// shake is a WebSocket handshake from a peer on loopback, which every route but /rpc and /acp takes for a read.
func shake(path, host string, headers ...string) *http.Request {
	r := httptest.NewRequest("GET", path, nil)
	r.Host, r.RemoteAddr = host, "127.0.0.1:50000"
	headers = append(headers, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	return r
}

// ask is the status of an answer. A recorder cannot be upgraded: 101 says that the handshake was answered.
func ask(h *Handler, r *http.Request) int {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

// Every response has these headers, also a refusal: the browser runs only our script, shows the page in no frame, and connects to no
// other host. Each directive counts, because the default for a missing one is laxer.
func TestSecurityHeaders(t *testing.T) {
	h, _ := newHandler(t, Config{Port: 7717, Pages: map[string]http.Handler{"/": page("page")}})
	want := map[string]string{
		"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self' data:", "connect-src": "'self'",
		"manifest-src": "'self'", "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'",
		"require-trusted-types-for": "'script'", "trusted-types": "dompurify",
	}
	for _, r := range []*http.Request{shake("/", "127.0.0.1:7717"), shake("/rpc", "127.0.0.1:7717"), shake("/none", "127.0.0.1:7717"),
		shake("/", "evil.example"), shake("/healthz", "127.0.0.1:7717")} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		got := make(map[string]string)
		for directive := range strings.SplitSeq(w.Header().Get("Content-Security-Policy"), ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(directive), " ")
			got[name] = value
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s of %s: the policy is %v, want %v", r.URL.Path, r.Host, got, want)
		}
		for name, value := range map[string]string{"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "Cross-Origin-Opener-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin"} {
			if got := w.Header().Get(name); got != value {
				t.Errorf("%s of %s: %s is %q, want %q", r.URL.Path, r.Host, name, got, value)
			}
		}
	}
}

// Every route, with every kind of token, origin and host, and with many pairs of wrong ones: who may not, does not come in.
func TestRouteWalk(t *testing.T) {
	const ours, other = "127.0.0.1:7717", "thinkd.example.com"
	tokens := map[string][]string{
		"none":                     nil,
		"right":                    {"Authorization: Bearer " + conntest.Token},
		"right, subprotocol":       {"Sec-WebSocket-Protocol: thinkd.v1, thinkd.token." + conntest.Token},
		"right, second header":     {"Sec-WebSocket-Protocol: thinkd.token." + conntest.Token, "Sec-WebSocket-Protocol: thinkd.v1"},
		"right, other case":        {"Authorization: bEARER  " + conntest.Token},
		"wrong":                    {"Authorization: Bearer " + strings.ToLower(conntest.Token)},
		"wrong, longer":            {"Authorization: Bearer " + conntest.Token + "x"},
		"wrong, shorter":           {"Authorization: Bearer " + conntest.Token[:len(conntest.Token)-1]},
		"wrong, empty":             {"Authorization: Bearer "},
		"wrong, nothing":           {"Authorization: "},
		"wrong, scheme":            {"Authorization: Basic " + conntest.Token},
		"wrong, no scheme":         {"Authorization: " + conntest.Token},
		"wrong, subprotocol":       {"Sec-WebSocket-Protocol: thinkd.v1, thinkd.token.x"},
		"wrong, empty subprotocol": {"Sec-WebSocket-Protocol: thinkd.v1, thinkd.token."},
		"wrong, two guesses":       {"Sec-WebSocket-Protocol: thinkd.v1, thinkd.token.x, thinkd.token." + conntest.Token},
		"wrong, two headers":       {"Authorization: Bearer x", "Authorization: Bearer " + conntest.Token},
		"wrong, beside a right":    {"Authorization: Bearer x", "Sec-WebSocket-Protocol: thinkd.v1, thinkd.token." + conntest.Token},
		"wrong, cookie":            {"Cookie: token=" + conntest.Token},
	}
	origins := map[string][]string{
		"absent":                nil,
		"own":                   {"Origin: http://127.0.0.1:7717"},
		"own, localhost":        {"Origin: http://localhost:7717"},
		"own, IPv6":             {"Origin: http://[::1]:7717"},
		"own, configured":       {"Origin: https://app.example.com"},
		"foreign":               {"Origin: https://evil.example"},
		"foreign, null":         {"Origin: null"},
		"foreign, empty":        {"Origin: "},
		"foreign, port":         {"Origin: http://127.0.0.1:7718"},
		"foreign, no port":      {"Origin: http://127.0.0.1"},
		"foreign, scheme":       {"Origin: https://127.0.0.1:7717"},
		"foreign, suffix":       {"Origin: http://127.0.0.1:7717.evil.example"},
		"foreign, user":         {"Origin: http://127.0.0.1:7717@evil.example"},
		"foreign, subdomain":    {"Origin: https://x.app.example.com"},
		"foreign, of the host":  {"Origin: http://evil.example:7717"},
		"foreign, two":          {"Origin: http://127.0.0.1:7717", "Origin: https://evil.example"},
		"foreign, as in a list": {"Origin: http://127.0.0.1:7717 https://evil.example"},
		"foreign, of a file":    {"Origin: file://"},
	}
	hosts := map[string]string{
		"own": ours, "own, localhost": "localhost:7717", "own, case": "LocalHost:7717", "own, IPv6": "[::1]:7717", "own, configured": other + ":7717",
		"foreign": "evil.example", "rebinding": "evil.example:7717", "foreign, port": "127.0.0.1:80", "foreign, no port": "127.0.0.1",
		"foreign, dot": "localhost.:7717", "foreign, number": "2130706433:7717", "foreign, other loopback": "127.0.0.2:7717",
		"foreign, wildcard": "0.0.0.0:7717", "foreign, suffix": "localhost:7717.evil.example", "foreign, none": "",
	}
	config := Config{Port: 7717, Hosts: []string{other}, Origins: []string{"https://app.example.com"},
		Pages: map[string]http.Handler{"/": page("page"), "/protocol.md": page("protocol")}, Metrics: page("metrics")}
	var routes []route
	func() {
		h, _ := newHandler(t, config)
		routes = append(h.routes, route{path: "/nothing"}, route{path: "/rpc/"}, route{path: "/../"}, route{path: "//healthz"})
	}()
	for _, route := range routes {
		for token, tokenHeaders := range tokens {
			for origin, originHeaders := range origins {
				for host, name := range hosts {
					good := func(kind string) bool {
						return kind == "absent" || strings.HasPrefix(kind, "own") || strings.HasPrefix(kind, "right")
					}
					faults := 0
					for _, kind := range []string{token, origin, host} {
						if !good(kind) {
							faults++
						}
					}
					if faults > 1 && (len(token)+len(origin)+len(host))%4 != 0 {
						continue // of requests with several faults, a quarter is enough
					}
					want := http.StatusOK
					switch {
					case !good(host) || !good(origin):
						want = http.StatusForbidden
					case route.public:
					case !good(token):
						want = http.StatusUnauthorized
					case route.path == "/rpc", route.path == "/acp":
						want = http.StatusSwitchingProtocols
					case route.path == "/readyz", route.path == "/metrics":
					default:
						want = http.StatusNotFound
					}
					h, _ := newHandler(t, config) // of its own: wrong tokens are counted
					r := shake("/", name, append(append([]string(nil), tokenHeaders...), originHeaders...)...)
					r.URL.Path = route.path
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					h.Close()
					if w.Code != want {
						t.Errorf("%s, token %s, origin %s, host %s: %d, want %d", route.path, token, origin, host, w.Code, want)
					}
					for header := range w.Header() {
						if strings.HasPrefix(header, "Access-Control-") || header == "Set-Cookie" {
							t.Errorf("%s has a header %s", route.path, header)
						}
					}
					if strings.Contains(w.Body.String()+fmt.Sprint(w.Header()), conntest.Token) {
						t.Errorf("%s tells the token", route.path)
					}
				}
			}
		}
	}
}

// Without a token there is no way in.
func TestGateWithoutToken(t *testing.T) {
	h, token := newHandler(t, Config{Port: 7717})
	token.Set(provider.Secret{})
	for _, token := range []string{"Authorization: Bearer ", "Authorization: Bearer x", "Sec-WebSocket-Protocol: thinkd.v1, thinkd.token.", "X: y"} {
		if status := ask(h, shake("/rpc", "localhost:7717", token)); status != http.StatusUnauthorized {
			t.Errorf("%s: %d", token, status)
		}
	}
}

func TestSubprotocol(t *testing.T) {
	h, _ := newHandler(t, Config{Port: 7717})
	for offer, want := range map[string]int{
		"":                     http.StatusSwitchingProtocols,
		"thinkd.v1":            http.StatusSwitchingProtocols,
		"thinkd.v2, THINKD.V1": http.StatusSwitchingProtocols,
		"thinkd.v2":            http.StatusBadRequest,
		"thinkd.token.x":       http.StatusBadRequest, // a browser would find its offer refused
	} {
		headers := []string{"Authorization: Bearer " + conntest.Token}
		if offer != "" {
			headers = append(headers, "Sec-WebSocket-Protocol: "+offer)
		}
		if got := ask(h, shake("/rpc", "localhost:7717", headers...)); got != want {
			t.Errorf("%q: %d, want %d", offer, got, want)
		}
	}
	r := shake("/rpc", "localhost:7717", "Authorization: Bearer "+conntest.Token)
	r.Method = "POST"
	if got := ask(h, r); got != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", got)
	}
	plain := httptest.NewRequest("GET", "http://localhost:7717/rpc", nil)
	plain.Header.Set("Authorization", "Bearer "+conntest.Token)
	if got := ask(h, plain); got != http.StatusUpgradeRequired {
		t.Errorf("no upgrade: %d", got)
	}
}

// The names by which a listener is called, from its configuration.
func TestGateNames(t *testing.T) {
	for _, tt := range []struct {
		name           string
		config         Config
		hosts, origins []string // admitted
		not            []string // neither
	}{
		{"loopback", Config{Port: 7717}, []string{"localhost:7717", "127.0.0.1:7717", "[::1]:7717"},
			[]string{"http://localhost:7717", "http://[::1]:7717"}, []string{"localhost", "https://localhost:7717", "http://localhost"}},
		{"port 80", Config{Port: 80}, []string{"localhost", "localhost:80"}, []string{"http://localhost"}, []string{"http://localhost:80", "https://localhost"}},
		{"TLS", Config{Port: 7717, TLS: true, Names: []string{"10.0.0.5"}, Hosts: []string{"Box.lan"}},
			[]string{"box.lan:7717", "10.0.0.5:7717", "localhost:7717"}, []string{"https://box.lan:7717", "https://10.0.0.5:7717", "https://localhost:7717"},
			[]string{"box.lan", "http://box.lan:7717", "https://box.lan"}},
		{"TLS on 443", Config{Port: 443, TLS: true, Hosts: []string{"box.lan"}}, []string{"box.lan", "box.lan:443"}, []string{"https://box.lan"}, []string{"http://box.lan"}},
		{"behind a proxy", Config{Port: 7717, BehindProxy: true, Hosts: []string{"box.lan", "other.lan:8443"}},
			[]string{"box.lan", "box.lan:443", "box.lan:7717", "other.lan:8443", "localhost:7717"},
			[]string{"https://box.lan", "https://other.lan:8443", "http://localhost:7717"},
			[]string{"other.lan", "https://other.lan", "http://box.lan", "http://other.lan:8443"}},
		{"a name with a port", Config{Port: 7717, Hosts: []string{"localhost:8000", "[fd00::1]:80"}},
			[]string{"localhost:8000", "[fd00::1]:80", "[fd00::1]"}, []string{"http://localhost:8000", "http://[fd00::1]"}, []string{"localhost:80"}},
	} {
		g := newGate(tt.config)
		for _, host := range tt.hosts {
			if !g.hosts[host] {
				t.Errorf("%s: %s is foreign", tt.name, host)
			}
		}
		for _, origin := range tt.origins {
			if !g.origins[origin] {
				t.Errorf("%s: %s is foreign", tt.name, origin)
			}
		}
		for _, not := range tt.not {
			if g.hosts[not] || g.origins[not] {
				t.Errorf("%s: %s is ours", tt.name, not)
			}
		}
	}
}

func TestGuesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := newHandler(t, Config{Port: 7717})
		right := shake("/rpc", "localhost:7717", "Authorization: Bearer "+conntest.Token)
		guess := func(i int) *http.Request {
			r := shake("/rpc", "localhost:7717", fmt.Sprintf("Sec-WebSocket-Protocol: thinkd.v1, thinkd.token.%043d", i))
			r.RemoteAddr = fmt.Sprintf("127.0.0.%d:50000", i%7)
			r.Header.Set("X-Forwarded-For", fmt.Sprintf("10.0.%d.%d", i/256, i%256)) // nobody asked for it
			return r
		}
		looked := map[int]int{} // minute: guesses that were
		for i := range 10_000 {
			switch status := ask(h, guess(i)); status {
			case http.StatusUnauthorized:
				looked[int(time.Since(time.Unix(0, 0))/time.Minute)]++
			case http.StatusTooManyRequests:
			default:
				t.Fatalf("guess %d: %d", i, status)
			}
			if i%1000 == 0 { // nobody is locked out by it
				if status := ask(h, right.Clone(t.Context())); status != http.StatusSwitchingProtocols {
					t.Fatalf("the right token after %d guesses: %d", i, status)
				}
				if status := ask(h, shake("/rpc", "localhost:7717")); status != http.StatusUnauthorized {
					t.Fatalf("no token after %d guesses: %d", i, status)
				}
			}
			time.Sleep(20 * time.Millisecond) // 3,000 a minute
		}
		for minute, n := range looked {
			if n > maxGuesses {
				t.Errorf("minute %d: %d guesses", minute, n)
			}
		}
		if len(looked) < 3 {
			t.Errorf("guesses in %d minutes only", len(looked))
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, guess(1))
		if after := w.Header().Get("Retry-After"); w.Code != http.StatusTooManyRequests || after == "" || after == "0" {
			t.Errorf("%d, Retry-After %q", w.Code, after)
		}
	})
}

func TestGuessesOfOnePeer(t *testing.T) {
	var list guesses
	one, two := netip.MustParsePrefix("10.0.0.1/32"), netip.MustParsePrefix("10.0.0.2/32")
	now := time.Unix(1000, 0)
	var got []time.Duration
	for range 7 {
		got = append(got, list.wrong(one, now))
		now = now.Add(time.Second)
	}
	for range 6 {
		got = append(got, list.wrong(two, now))
	}
	got = append(got, list.wrong(one, time.Unix(1060, 0)), list.wrong(one, time.Unix(1060, 0)))
	s := time.Second
	want := []time.Duration{0, 0, 0, 0, 0, 55 * s, 54 * s, 0, 0, 0, 0, 0, 60 * s, 0, 1 * s}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPeer(t *testing.T) {
	for _, tt := range []struct {
		remote, forwarded string
		proxy             bool
		want              string
	}{
		{"10.0.0.1:5", "10.9.9.9", false, "10.0.0.1/32"},
		{"10.0.0.1:5", "10.9.9.9", true, "10.9.9.9/32"},
		{"10.0.0.1:5", "1.2.3.4, 10.9.9.9", true, "10.9.9.9/32"},
		{"10.0.0.1:5", "1.2.3.4, junk", true, "10.0.0.1/32"},
		{"10.0.0.1:5", "", true, "10.0.0.1/32"},
		{"[::ffff:10.0.0.1]:5", "", false, "10.0.0.1/32"},
		{"[2001:db8::1:2:3:4]:5", "", false, "2001:db8::/64"},
		{"[fe80::1%eth0]:5", "", false, "fe80::/64"},
		{"[::1]:5", "", false, "::1/128"},
		{"pipe", "", false, "invalid Prefix"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = tt.remote
		if tt.forwarded != "" {
			r.Header.Set("X-Forwarded-For", tt.forwarded)
		}
		if got := peer(r, tt.proxy).String(); got != tt.want {
			t.Errorf("%+v: got %s", tt, got)
		}
	}
}

// A node of a cluster says what it knows of the disks.
func TestReadinessDurability(t *testing.T) {
	h, _ := newHandler(t, Config{Port: 7717, Durability: func() string { return "unverified" }})
	r := httptest.NewRequest("GET", "http://localhost:7717/readyz", nil)
	r.Header.Set("Authorization", "Bearer "+conntest.Token)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK || w.Body.String() != "ready\ndurability: unverified" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}

// Only a request with the token learns why the daemon is not ready.
func TestReadiness(t *testing.T) {
	var why error
	h, _ := newHandler(t, Config{Port: 7717, Ready: func() error { return why }})
	for _, tt := range []struct {
		why    error
		method string
		token  string
		status int
		body   string
	}{
		{nil, "GET", conntest.Token, http.StatusOK, "ready"},
		{errors.New("the store is full"), "GET", conntest.Token, http.StatusServiceUnavailable, "the store is full\n"},
		{errors.New("the store is full"), "GET", "x", http.StatusUnauthorized, "the token is missing or wrong, or it was revoked or has expired; the operator's is in the file token in the data directory\n"},
		{nil, "POST", conntest.Token, http.StatusMethodNotAllowed, "this is for reading\n"},
	} {
		why = tt.why
		r := httptest.NewRequest(tt.method, "http://localhost:7717/readyz", nil)
		r.Header.Set("Authorization", "Bearer "+tt.token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tt.status || w.Body.String() != tt.body {
			t.Errorf("%v, %s: %d %q", tt.why, tt.method, w.Code, w.Body)
		}
	}
}

// Close ends the connections, and says why. No more come in.
func TestClose(t *testing.T) {
	h, _ := newHandler(t, Config{Hosts: []string{"thinkd.test:0"}, Port: 1})
	c := conntest.Dial(t, listenOn(t, h))
	h.Close()
	if _, why := c.ClosedAfter(true); why != "close 1001 the daemon is shutting down" {
		t.Error(why)
	}
	if status := ask(h, shake("/rpc", "localhost:1", "Authorization: Bearer "+conntest.Token)); status != http.StatusServiceUnavailable {
		t.Errorf("a handshake after Close: %d", status)
	}
}

// broken is an authenticator that cannot tell.
type broken struct{}

func (broken) Authenticate(*http.Request) (auth.Grant, error) {
	return auth.Grant{}, errors.New("open /secret: canary")
}

func (broken) Renew(*http.Request, string) (auth.Grant, error) {
	return auth.Grant{}, errors.New("open /secret: canary")
}

// A failure of the authenticator admits nobody, and its text stays here.
func TestAuthenticatorThatFails(t *testing.T) {
	h := New(Config{Log: slog.New(slog.DiscardHandler), Authenticator: broken{}, Port: 7717,
		Endpoints: []Endpoint{{Path: "/rpc", Limit: 1000, Serve: echo}}})
	defer h.Close()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, shake("/rpc", "localhost:7717"))
	if w.Code != http.StatusServiceUnavailable || strings.Contains(w.Body.String(), "canary") {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}
