package daemon

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/thinkd/thinkd/agent/instructions"
	"github.com/thinkd/thinkd/agent/recall"
	"github.com/thinkd/thinkd/agent/tool/builtin"
	"github.com/thinkd/thinkd/agent/tool/guard"
	"github.com/thinkd/thinkd/agent/tool/mcp"
	"github.com/thinkd/thinkd/agent/tool/process"
	"github.com/thinkd/thinkd/agent/tool/sandbox"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/cmd/thinkd/config"
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
	editors    func(session.ID) (builtin.Files, builtin.Terminal) // of the editors on a session; nil: the daemon's own
	recall     recaller

	mu      sync.Mutex
	offered map[session.Ref][]toolhost.Host // all are the operator's
	ending  sync.WaitGroup                  // goroutines that close hosts of sessions that are gone
}

func openToolHosts(c config.Config, o Options, dir string, log *slog.Logger, editors func(session.ID) (builtin.Files, builtin.Terminal), recall recaller) *toolHosts {
	t := &toolHosts{log: log, version: o.Version, supervisor: o.Supervisor, editors: editors, recall: recall, passEnv: c.Tools.PassEnv, builtin: builtin.New(builtin.Config{PassEnv: c.Tools.PassEnv, Guard: o.Guard(c, dir), Sandbox: o.Sandbox(c), Supervisor: o.Supervisor}), offered: make(map[session.Ref][]toolhost.Host)}
	for _, s := range c.Servers {
		t.shared = append(t.shared, t.server("mcp:", s))
	}
	return t
}

// server makes a host. The names of the operator's and of clients' begin differently, so that neither is taken for the
// other, whatever a session's record says.
func (t *toolHosts) server(kind string, s toolhost.Server) toolhost.Host {
	return mcp.New(mcp.Config{Server: s, Name: kind + s.Name, Version: t.version, PassEnv: t.passEnv, Supervisor: t.supervisor, Log: t.log})
}

// of lists the hosts of a session, or of one that has no id yet. A fork has the tools of its parent, but
// not the servers that a client offered for that one.
func (t *toolHosts) of(s session.Session) []toolhost.Host {
	var place builtin.Place
	if s.CWD != "" {
		place.Roots = []string{s.CWD}
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
		Offer: func(s toolhost.Server) toolhost.Host { return t.server("offered:", s) }, Adopt: t.adopt}
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
	exit, err := t.Terminal.Run(ctx, builtin.Shell(c.Line), c.Dir, progress)
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
		if path, err := filepath.Abs(path); err == nil {
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
