package network

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/vault"
	"github.com/thinkd/thinkd/rpc"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/network"
	"github.com/thinkd/thinkd/rpc/oidc"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/web"
)

// loginsName is the file of browsers' logins in a data directory.
const loginsName = "logins.json"

// Listener lets clients on the network come to a server. Closed after the server's agents, it lets the clients read how
// their turns ended.
type Listener struct {
	url     string
	token   provider.Secret
	clients *network.Handler
	logins  *network.Logins
	http    *http.Server
	stop    context.CancelFunc
	running sync.WaitGroup // the accept loop and the look at the token; Close ends both and waits
	failed  chan error     // has the error of an accept loop that ended by itself
}

// Health is what a listener serves to monitoring.
type Health struct {
	Ready      func() error  // why the daemon cannot be used; nil: it can
	Durability func() string // see [network.Config]
	Metrics    http.Handler  // nil: there is no /metrics

	Refused func(from string) // records the address of a client that is not let in; nil: nothing is recorded
}

// Open listens on addr. An address that other machines can reach needs TLS, or a proxy that has it. The token is the one in the
// data directory dir, which is made if there is none. With users, API tokens are taken too, those of records. The caller closes the listener.
func Open(c config.Serve, a config.Auth, dir string, records auth.Records, addr string, server *rpc.Server, health Health, log *slog.Logger) (*Listener, error) {
	// Resolved once: the address that is checked is the one that is used.
	at, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--listen %q: %w", addr, err)
	}
	if !at.IP.IsLoopback() && c.TLSCert == "" && !c.BehindProxy {
		return nil, fmt.Errorf("--listen %q: %w", addr, errNeedsTLS)
	}
	var tlsConfig *tls.Config
	if c.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
		if err != nil {
			return nil, fmt.Errorf("tls_cert and tls_key: %w", err)
		}
		tlsConfig = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	}
	token, err := readToken(dir)
	if err != nil {
		return nil, err
	}
	file := &tokenFile{dir: dir, log: log}
	var tokens []auth.Admitter
	var apiTokens *auth.Tokens // nil: there are none
	if a.Users {
		apiTokens = auth.NewTokens(records, log)
		tokens = append(tokens, apiTokens)
	}
	var jwts *oidc.Tokens // nil: none are taken
	if a.OIDC != nil {
		c := *a.OIDC
		if c.Secret, err = clientSecret(a); err != nil {
			return nil, err
		}
		jwts = oidc.New(c, log)
		tokens = append(tokens, jwts)
	}
	l, err := net.ListenTCP("tcp", at)
	if err != nil {
		return nil, err
	}
	bound := l.Addr().(*net.TCPAddr)
	admitted := network.NewToken(token, file.look, c.BehindProxy, tokens...)
	file.told = admitted.Set
	browsers := openLogins(dir, admitted, jwts, log)
	var admittedBrowsers *network.Logins // nil: cookies need TLS
	if tlsConfig != nil || c.BehindProxy {
		admittedBrowsers = browsers
	}
	handler := network.New(network.Config{
		Log: log, Authenticator: admitted, Logins: admittedBrowsers, Endpoints: endpoints(server), Port: bound.Port, TLS: tlsConfig != nil, BehindProxy: c.BehindProxy,
		Names: ownNames(bound), Hosts: c.Hosts, Origins: c.Origins, Pages: pages(a, admittedBrowsers != nil),
		Ready: health.Ready, Durability: health.Durability, Metrics: health.Metrics, Refused: health.Refused,
	})
	ctx, stop := context.WithCancel(context.Background())
	ours := &Listener{url: baseURL(c, bound), token: token, clients: handler, logins: browsers, stop: stop, failed: make(chan error, 1)}
	guests := newLobby(l, c.BehindProxy)
	ours.http = newHTTPServer(handler, guests, tlsConfig, log)
	ours.running.Go(func() {
		var err error
		if tlsConfig != nil {
			err = ours.http.ServeTLS(guests, "", "")
		} else {
			err = ours.http.Serve(guests)
		}
		if !errors.Is(err, http.ErrServerClosed) {
			ours.failed <- err
		}
	})
	ours.running.Go(func() { file.watch(ctx) })
	if apiTokens != nil {
		ours.running.Go(func() { apiTokens.Watch(ctx) })
	}
	if jwts != nil {
		ours.running.Go(func() { jwts.Watch(ctx) })
	}
	ours.running.Go(func() { browsers.Watch(ctx) })
	return ours, nil
}

// clientSecret is that of the client at the OpenID provider; zero: the client is public.
func clientSecret(a config.Auth) (secret provider.Secret, err error) {
	switch from := a.OIDCSecret; {
	case from.File != "":
		secret, err = vault.SecretFromFile(from.File)
	case from.Command != nil:
		secret, err = vault.SecretFromCommand(context.Background(), from.Command) // which bounds its time
	case from.Env != "":
		if secret = a.OIDC.Secret; secret.IsZero() {
			err = fmt.Errorf("the variable %s is not set", from.Env)
		}
	}
	if err != nil {
		return secret, fmt.Errorf("the client secret under [auth.oidc]: %w", err)
	}
	return secret, nil
}

// openLogins are the logins of browsers. With an OpenID provider, people can sign in there.
func openLogins(dir string, token *network.Token, jwts *oidc.Tokens, log *slog.Logger) *network.Logins {
	var p auth.SignInProvider
	if jwts != nil {
		p = jwts
	}
	return network.NewLogins(token, logins(dir), p, log)
}

// provided is what a client needs to log in at the OpenID provider; the zero one: there is none.
type provided struct {
	Issuer   string `json:"issuer,omitempty"`
	ClientID string `json:"client_id,omitempty"`
	SignIn   bool   `json:"sign_in,omitempty"` // on the page
}

// pages are those of the web, and /oidc. It is there without a provider as well, because a browser reports each page that is not.
func pages(a config.Auth, signIn bool) map[string]http.Handler {
	var p provided
	if a.OIDC != nil {
		p = provided{a.OIDC.Issuer, a.OIDC.Audience, signIn}
	}
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings
	}
	all := maps.Clone(web.Pages())
	all["/oidc"] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.Write(text) // a client that is gone gets nothing
	})
	return all
}

// endpoints are where clients of both protocols connect.
func endpoints(server *rpc.Server) []network.Endpoint {
	return []network.Endpoint{
		{Path: "/rpc", Limit: server.MessageBytes(), Cookie: true, Serve: server.ServeFrames},
		{Path: "/acp", Limit: server.EditorMessageBytes(), IDHeader: "Acp-Connection-Id", Serve: server.ServeEditor},
	}
}

var errNeedsTLS = errors.New("an address that others can reach needs TLS: set tls_cert and tls_key under [serve] in the config," +
	" or behind_proxy = true if a proxy terminates TLS")

// newHTTPServer has short timeouts. A client that stays upgrades to a WebSocket, which the server no longer owns.
func newHTTPServer(handler http.Handler, guests *lobby, tlsConfig *tls.Config, log *slog.Logger) *http.Server {
	s := &http.Server{
		Handler: handler, TLSConfig: tlsConfig, Protocols: new(http.Protocols), // HTTP/2 has no upgrade
		ConnState:         guests.state,
		ReadHeaderTimeout: headersTime, ReadTimeout: headersTime, WriteTimeout: 10 * time.Second, IdleTimeout: headersTime,
		MaxHeaderBytes: 16 << 10,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	s.Protocols.SetHTTP1(true)
	return s
}

// ownNames are the names of an address itself, where it is one.
func ownNames(bound *net.TCPAddr) []string {
	switch {
	case bound.IP.IsUnspecified():
		return nil
	case bound.IP.To4() == nil:
		return []string{"[" + bound.IP.String() + "]"}
	}
	return []string{bound.IP.String()}
}

// baseURL is where a browser finds the page: under the operator's first name for it, where there is one that others
// use, else at the address.
func baseURL(c config.Serve, bound *net.TCPAddr) string {
	scheme, host := "http", bound.String()
	if bound.IP.IsUnspecified() {
		host = net.JoinHostPort("127.0.0.1", strconv.Itoa(bound.Port))
	}
	if c.TLSCert != "" {
		scheme = "https"
	}
	switch {
	case len(c.Hosts) == 0 || bound.IP.IsLoopback() && !c.BehindProxy:
	case c.BehindProxy:
		scheme, host = "https", c.Hosts[0]
	default:
		host = c.Hosts[0]
		if _, _, err := net.SplitHostPort(host); err != nil {
			host += ":" + strconv.Itoa(bound.Port)
		}
	}
	return scheme + "://" + host + "/"
}

// Failed has the error of a listener that stopped accepting before it was closed.
func (l *Listener) Failed() <-chan error { return l.failed }

// Address is the page's, without the token.
func (l *Listener) Address() string { return l.url }

// URL is the page's, with the token in its fragment, which browsers do not send.
func (l *Listener) URL() string { return l.url + "#token=" + l.token.Reveal() }

// Forget ends the sign-ins of a user in browsers.
func (l *Listener) Forget(o session.Owner) error { return l.logins.Forget(o) }

// ForgetSignIns removes a user's sign-ins in browsers from a data directory that no listener has.
func ForgetSignIns(dir string, o session.Owner, log *slog.Logger) error {
	return network.NewLogins(nil, logins(dir), nil, log).Forget(o)
}

func logins(dir string) durable.SecretFile {
	return durable.SecretFile{Path: filepath.Join(dir, loginsName)}
}

// Refuse stops accepting. Connections that are there go on.
func (l *Listener) Refuse() error { return l.http.Close() }

// Close ends the connections in order and waits for them.
func (l *Listener) Close() error {
	err := l.Refuse()
	l.stop()
	l.running.Wait()
	l.clients.Close()
	return err
}
