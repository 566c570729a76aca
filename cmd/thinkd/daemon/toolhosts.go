package daemon

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/thinkd/thinkd/agent/instructions"
	"github.com/thinkd/thinkd/agent/recall"
	"github.com/thinkd/thinkd/agent/tool/builtin"
	"github.com/thinkd/thinkd/agent/tool/guard"
	"github.com/thinkd/thinkd/agent/tool/mcp"
	"github.com/thinkd/thinkd/agent/tool/mcphttp"
	"github.com/thinkd/thinkd/agent/tool/mcplogin"
	"github.com/thinkd/thinkd/agent/tool/process"
	"github.com/thinkd/thinkd/agent/tool/sandbox"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/rpc/acp"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
)

// recaller searches what a summary replaces in a session.
type recaller func(ctx context.Context, id session.ID, q recall.Query) (string, error)

// toolHosts are who runs tools for sessions: the daemon itself, the operator's servers, which all sessions share, and
// those that clients have offered for a session. Servers start when they are needed.
type toolHosts struct {
	log     *slog.Logger
	passEnv []string

	version    string
	supervisor process.Supervisor
	builtin    *builtin.Tools
	shared     []toolhost.Host
	forUsers   []toolhost.Host // those of shared that the sessions of users have
	keys       *login.Keys
	logins     []*mcplogin.Login                                  // to servers of the config
	editors    func(session.ID) (builtin.Files, builtin.Terminal) // of the editors on a session; nil: the daemon's own
	recall     recaller

	mu      sync.Mutex
	offered map[session.Ref][]toolhost.Host         // all are the operator's
	named   map[string]weak.Pointer[mcplogin.Login] // logins to addresses that clients named, as long as somebody has them
	roots   map[session.Ref][]string                // further folders of sessions, as their clients named them last
	ending  sync.WaitGroup                          // goroutines that close hosts of sessions that are gone
}

func openToolHosts(c config.Config, o Options, dir string, keys *login.Keys, log *slog.Logger, editors func(session.ID) (builtin.Files, builtin.Terminal), recall recaller) *toolHosts {
	t := &toolHosts{log: log, version: o.Version, supervisor: o.Supervisor, editors: editors, recall: recall, keys: keys, named: make(map[string]weak.Pointer[mcplogin.Login]), passEnv: c.Tools.PassEnv, builtin: builtin.New(builtin.Config{PassEnv: c.Tools.PassEnv, Guard: o.Guard(c, dir), Sandbox: o.Sandbox(c), Supervisor: o.Supervisor}), offered: make(map[session.Ref][]toolhost.Host), roots: make(map[session.Ref][]string)}
	for _, s := range c.Servers {
		var to *mcplogin.Login
		var client http.RoundTripper
		forUsers := slices.Contains(c.Auth.MCPServers, s.Name)
		if forUsers { // the operator's sessions share the connections
			client = mcphttp.Public{Server: s.Name, Allow: c.Auth.MCPPrivate, Setting: "auth.mcp_private_addresses"}.Transport()
		}
		if s.URL != "" && !hasHeader(s.Headers, "Authorization") {
			to = mcplogin.New(mcplogin.Config{Server: s.Name, URL: s.URL, ClientID: s.OAuth, Keys: keys, Client: client})
			t.logins = append(t.logins, to)
		}
		host := t.server("mcp:", s, client, to)
		t.shared = append(t.shared, host)
		if forUsers {
			t.forUsers = append(t.forUsers, host)
		}
	}
	return t
}

func hasHeader(headers map[string]string, name string) bool {
	for given := range headers {
		if strings.EqualFold(given, name) {
			return true
		}
	}
	return false
}

// accounts are the servers that one can log in to: those of the config, and those at addresses that have a login or demanded one.
func (t *toolHosts) accounts() (list []service.ProviderStatus) {
	for _, l := range t.logins {
		list = append(list, accountOf(l))
	}
	known := map[string]bool{}
	for _, id := range t.keys.Providers() {
		if address, ok := strings.CutPrefix(id, mcplogin.Prefix); ok {
			known[address] = true
		}
	}
	t.mu.Lock()
	for address, kept := range t.named {
		if l := kept.Value(); l != nil && l.State() != provider.KeyNotNeeded {
			known[address] = true
		}
	}
	t.mu.Unlock()
	for _, address := range slices.Sorted(maps.Keys(known)) {
		if l := t.loginTo(address); l != nil && !slices.Contains(t.logins, l) {
			list = append(list, accountOf(l))
		}
	}
	return list
}

func accountOf(l *mcplogin.Login) service.ProviderStatus {
	s := service.ProviderStatus{ID: l.ID(), Auth: l.State(), Login: true}
	if s.Auth == provider.KeyReady {
		s.AuthSource = provider.KeyFromLogin
	}
	return s
}

// account is one of a server, also of one at an address that nobody has named so far.
func (t *toolHosts) account(id string) (service.ProviderStatus, bool) {
	l := t.login(id)
	if l == nil {
		return service.ProviderStatus{}, false
	}
	return accountOf(l), true
}

// login finds the login to a server, nil if the id is none of a server.
func (t *toolHosts) login(id string) *mcplogin.Login {
	for _, l := range t.logins {
		if l.ID() == id {
			return l
		}
	}
	if address, ok := strings.CutPrefix(id, mcplogin.Prefix); ok {
		return t.loginTo(address)
	}
	return nil
}

// loginTo is the login to the server at an address: that of the config, if one there has this address. It is nil for an address that may
// contain a secret, because ids are shown, and for one to which tokens would travel unencrypted.
func (t *toolHosts) loginTo(address string) *mcplogin.Login {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		u.Scheme != "https" && !(u.Scheme == "http" && slices.Contains([]string{"127.0.0.1", "::1", "localhost"}, u.Hostname())) {
		return nil
	}
	for _, l := range t.logins {
		if l.Address() == address {
			return l
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.named[address].Value(); l != nil {
		return l
	}
	l := mcplogin.New(mcplogin.Config{Server: address, URL: address, Keys: t.keys})
	t.named[address] = weak.Make(l)
	runtime.AddCleanup(l, t.forget, address)
	return l
}

// forget removes a login that nobody has any more. Its tokens stay.
func (t *toolHosts) forget(address string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.named[address].Value() == nil {
		delete(t.named, address)
	}
}

// offer makes a host of a client's server. It uses the operator's login to its address, unless the client has a header for it.
func (t *toolHosts) offer(s toolhost.Server) toolhost.Host {
	var to *mcplogin.Login
	if s.URL != "" && !hasHeader(s.Headers, "Authorization") {
		to = t.loginTo(s.URL)
	}
	return t.server(offered, s, nil, to)
}

// offered begins the name of a host that a client has offered.
const offered = "offered:"

// server makes a host. The names of the operator's and of clients' begin differently, so that neither is taken for the
// other, whatever a session's record says.
func (t *toolHosts) server(kind string, s toolhost.Server, client http.RoundTripper, to *mcplogin.Login) toolhost.Host {
	root := ""
	if kind == offered { // the folder of its session
		root = s.CWD
	}
	return mcp.New(mcp.Config{Server: s, Name: kind + s.Name, Root: root, Client: client, Login: to, Version: t.version, PassEnv: t.passEnv, Supervisor: t.supervisor, Log: t.log})
}

// of lists the hosts of an owner's session, or of one that has no id yet. A fork has the tools of its parent, but
// not the servers that a client offered for that one. Users do not own the machine: they have nothing that works on it.
func (t *toolHosts) of(owner session.Owner, s session.Session) []toolhost.Host {
	if owner != session.Operator {
		return slices.Clone(t.forUsers)
	}
	var place builtin.Place
	if s.CWD != "" {
		t.mu.Lock()
		place.Roots = append([]string{s.CWD}, t.roots[session.Ref{ID: s.ID}]...)
		t.mu.Unlock()
	}
	if s.ID != "" {
		place.Files, place.Terminal = t.editors(s.ID)
		place.Recall = func(ctx context.Context, q recall.Query) (string, error) { return t.recall(ctx, s.ID, q) }
	}
	list := append([]toolhost.Host{t.builtin.In(place)}, t.shared...)
	t.mu.Lock()
	defer t.mu.Unlock()
	return append(list, t.offered[session.Ref{ID: s.ID}]...)
}

// tools is what the server of clients gets of it.
func (t *toolHosts) tools(c config.Config) service.Tools {
	s := service.Tools{Builtin: c.Tools.Builtin, FromClients: c.Serve.MCPFromClients, Slow: len(t.shared) > 0,
		Instructed: c.Tools.Instructions == config.InstructAll, Instructions: instructions.Find,
		Offer: t.offer, Adopt: t.adopt, SetRoots: t.setRoots}
	if c.Tools.Instructions == config.InstructNone {
		s.Instructions = nil
	}
	return s
}

func (t *toolHosts) adopt(id session.ID, hosts []toolhost.Host) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.offered[session.Ref{ID: id}] = hosts
}

// setRoots replaces the further folders of a session. They apply from the next call.
func (t *toolHosts) setRoots(id session.ID, roots []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(roots) == 0 {
		delete(t.roots, session.Ref{ID: id})
		return
	}
	t.roots[session.Ref{ID: id}] = roots
}

// rest ends a session's own servers until it needs them again.
func (t *toolHosts) rest(ref session.Ref) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range t.offered[ref] {
		if r, ok := h.(interface{ Rest() }); ok {
			r.Rest()
		}
	}
}

// deleted ends them for ever.
func (t *toolHosts) deleted(ref session.Ref) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range t.offered[ref] {
		t.ending.Go(func() { // ends by itself, in seconds; close waits
			if err := h.Close(); err != nil {
				t.log.Warn("end of a host of tools", "host", h.Name(), "err", err)
			}
		})
	}
	delete(t.offered, ref)
	delete(t.roots, ref)
}

// close ends all servers, at once, and waits for them.
func (t *toolHosts) close() error {
	t.mu.Lock()
	all := append([]toolhost.Host{}, t.shared...)
	for _, hosts := range t.offered {
		all = append(all, hosts...)
	}
	clear(t.offered)
	t.mu.Unlock()
	errs := make([]error, len(all))
	for i, h := range all {
		t.ending.Go(func() { errs[i] = h.Close() }) // ends by itself, in seconds; awaited below
	}
	t.ending.Wait()
	return errors.Join(errs...)
}

// editorTerminal has a command line read by the shell that the daemon itself would use.
type editorTerminal struct{ *acp.Terminal }

func (t editorTerminal) Run(ctx context.Context, c builtin.Command, progress func(string)) (builtin.Exit, error) {
	exit, err := t.Terminal.Run(ctx, acp.Command{Program: builtin.Shell(c.Line), Dir: c.Dir, Call: c.Call}, progress)
	return builtin.Exit{Output: exit.Output, Code: exit.Code, Signal: exit.Signal}, err
}

// Guard is what tools may not touch: the files of this daemon, and what the built-in lists and the config have. dir is the
// data directory, empty if nothing is stored.
func (o Options) Guard(c config.Config, dir string) *guard.Guard {
	files := c.Tools.Files
	g := guard.Config{Data: dir, Protected: append([]string{}, files.Protected...), Secret: files.Secret, Program: files.Program, Open: files.Open}
	if home, err := os.UserHomeDir(); err == nil {
		g.Home = home
	}
	for _, path := range []string{c.Path, o.ConfigPath, defaultConfigPath(), c.Serve.TLSKey, c.Serve.TLSCert} {
		if path == "" {
			continue
		}
		if path, err := filepath.Abs(path); err == nil && !slices.Contains(g.Protected, path) {
			g.Protected = append(g.Protected, path)
		}
	}
	if dir != "" {
		if socket, err := findSocket(dir); err == nil {
			g.Protected = append(g.Protected, socket)
		}
		g.Protected = append(g.Protected, socketFolder(o.Getenv))
	}
	return guard.New(g)
}

// Sandbox is that of commands.
func (o Options) Sandbox(c config.Config) sandbox.Sandbox {
	box := c.Tools.Sandbox
	box.Confine = o.Confine
	return box
}
