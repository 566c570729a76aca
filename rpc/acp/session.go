package acp

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/acp/option"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/failure"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

type newParams struct {
	CWD     directory     `json:"cwd"`
	Servers []mcpServer   `json:"mcpServers,omitempty"`
	System  *systemPrompt `json:"systemPrompt,omitempty"`
	Roots   []directory   `json:"additionalDirectories,omitempty"`
	Meta    struct {
		Storage   provider.ThinkingStorage `json:"thinkd.dev/thinking_storage"`
		Ephemeral bool                     `json:"thinkd.dev/ephemeral"`
	} `json:"_meta,omitzero"`
}

type newResult struct {
	Session session.ID `json:"sessionId"`
	opened
}

// opened is what a client begins with on a session.
type opened struct {
	Modes   *option.Modes   `json:"modes"`
	Options []option.Option `json:"configOptions"`
	Meta    meta            `json:"_meta,omitempty"`
}

func (e *Editor) opened(st agent.State) opened {
	o := opened{Modes: option.ModesOf(st), Options: e.options(st)}
	if files := st.Session.Instructions.Files; files != nil {
		o.Meta = meta{metaKey: map[string]any{"project_instructions": files}}
	}
	return o
}

// newSession makes a session with the tools for work on files, since an editor's user wants an agent; a client from the network
// has them where the operator says so. Servers may have to start, so the answer is late where there are some.
func newSession(ctx context.Context, e *Editor, p newParams, reply method.Reply) error {
	made := service.New{CWD: string(p.CWD), Storage: p.Meta.Storage, Ephemeral: p.Meta.Ephemeral}
	if err := errors.Join(p.System.check(), e.checkRoots(p.Roots)); err != nil {
		return err
	}
	if e.SameUser {
		made.Tools = &service.Choice{Builtin: true}
	}
	made.Servers = offeredBy(p.Servers, p.CWD)
	record, err := e.Record(made)
	if err != nil {
		return err
	}
	record.System = withRoots(p.System.after(record.System), p.Roots)
	if slices.ContainsFunc(p.Servers, func(s mcpServer) bool { return s.Type == "sse" }) {
		return conn.InvalidParams("mcpServers", "sse is a transport of the past; http and programs are taken")
	}
	if e.Waits(made) {
		e.Run(func() { // ends with the servers' answers or the request; serve waits
			if _, err := failure.Guard(func() (method.Nothing, error) { return method.Nothing{}, e.make(ctx, made, record, p.Roots, reply) }); err != nil {
				reply(nil, err)
			}
		})
		return nil
	}
	return e.make(ctx, made, record, p.Roots, reply)
}

// make answers with a session that it makes, and follows it.
func (e *Editor) make(ctx context.Context, p service.New, record session.Session, roots []directory, reply method.Reply) error {
	equipment, err := e.Equip(ctx, p, &record)
	if err != nil {
		return err
	}
	defer equipment.Close()
	if record, err = e.Sessions().Create(ctx, record); err != nil {
		return err
	}
	equipment.Adopt(record.ID)
	e.setRoots(record.ID, roots)
	snap, sub, err := e.subscribe(ctx, record.ID, 0)
	if err != nil {
		return err
	}
	e.startSender(snap, sub, "", func() { reply(newResult{record.ID, e.opened(snap.State)}, nil) })
	if err := equipment.Tell(e.Conn.Context(), record.ID); err != nil && e.Conn.Context().Err() == nil {
		e.server.config.Log.Warn("missing tools could not be reported", "session", record.ID, "err", err)
	}
	return nil
}

// openParams are those of session/load and session/resume. A session keeps its system prompt, so the given one is only checked.
type openParams struct {
	Session sessionID     `json:"sessionId"`
	CWD     directory     `json:"cwd"`
	Servers []mcpServer   `json:"mcpServers,omitempty"`
	System  *systemPrompt `json:"systemPrompt,omitempty"`
	Roots   []directory   `json:"additionalDirectories,omitempty"`
}

// check refuses what has no effect on this session. It is called before anything changes.
func (p openParams) check(e *Editor) error {
	if err := p.Session.check(); err != nil {
		return err
	}
	return errors.Join(p.System.check(), e.checkRoots(p.Roots))
}

// resume follows a session from now on and sends nothing of its history. If a turn runs, its updates come after the
// answer.
func resume(ctx context.Context, e *Editor, p openParams) (opened, error) {
	if err := p.check(e); err != nil {
		return opened{}, err
	}
	st, err := e.join(ctx, p.Session.ID, string(p.CWD))
	if err != nil {
		return opened{}, err
	}
	e.reoffer(st, p.Servers, p.CWD)
	e.setRoots(p.Session.ID, p.Roots)
	return e.opened(st), nil
}

// load sends the whole history, then answers, then goes on as resume does.
func load(ctx context.Context, e *Editor, p openParams, reply method.Reply) error {
	if err := p.check(e); err != nil {
		return err
	}
	id := p.Session.ID
	snap, sub, err := e.subscribe(ctx, id, math.MaxInt)
	if err != nil {
		return err
	}
	e.reoffer(snap.State, p.Servers, p.CWD)
	e.setRoots(id, p.Roots)
	th := e.replace(id)
	th.begin(snap)
	th.openedIn = string(p.CWD)
	opened := e.opened(snap.State)
	th.sent(opened.Options)
	e.Follow(id, func(ctx context.Context) error {
		defer sub.Close()
		if err := th.replay(ctx, snap); err != nil {
			return err
		}
		reply(opened, nil)
		return th.run(ctx, snap, sub)
	})
	return nil
}

// checkRoots reports whether the client may name further folders: those are for the built-in tools.
func (e *Editor) checkRoots(roots []directory) error {
	if len(roots) > 0 && (!e.MayHaveBuiltin() || e.server.config.Tools.SetRoots == nil) {
		return conn.InvalidParams("additionalDirectories", "the built-in tools are not for clients from the network, unless the operator's config says so")
	}
	return nil
}

// setRoots replaces the further folders of a session. ACP demands that an empty list removes them.
func (e *Editor) setRoots(id session.ID, roots []directory) {
	if set := e.server.config.Tools.SetRoots; set != nil && e.MayHaveBuiltin() {
		var list []string
		for _, root := range roots {
			list = append(list, filepath.Clean(string(root)))
		}
		set(id, list)
	}
}

// withRoots tells the model about further folders.
func withRoots(system string, roots []directory) string {
	if len(roots) == 0 {
		return system
	}
	text := "In addition to the working directory, the tools work in these folders:"
	for _, root := range roots {
		text += "\n- " + filepath.Clean(string(root))
	}
	if system != "" {
		text = system + "\n\n" + text
	}
	return text
}

// mcpServer is an MCP server that a client wants a session to have: one without a type is a program.
type mcpServer struct {
	Type    string   `json:"type"`
	Name    string   `json:"name"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Env     []pair   `json:"env"`
	URL     string   `json:"url"`
	Headers []pair   `json:"headers"`
}

type pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// offered is the server as our own protocol has it. Its name is made one that tools' names can begin with. Programs run in
// the session's directory.
func (s mcpServer) offered(dir string) toolhost.Server {
	pairs := func(list []pair) map[string]string {
		m := make(map[string]string)
		for _, p := range list {
			m[p.Name] = p.Value
		}
		return m
	}
	o := toolhost.Server{Name: serverName(s.Name), URL: s.URL}
	if s.URL != "" {
		o.Headers = pairs(s.Headers)
		return o
	}
	o.Command, o.Env, o.CWD = append([]string{s.Command}, s.Args...), pairs(s.Env), dir
	return o
}

func offeredBy(list []mcpServer, dir directory) (all []toolhost.Server) {
	for _, s := range list {
		all = append(all, s.offered(string(dir)))
	}
	return all
}

// reoffer gives a session its client's servers again, which a daemon forgets when it ends. A session that has them keeps
// those that it has: they may be in use. What is offered in vain is no reason not to open a session.
func (e *Editor) reoffer(st agent.State, list []mcpServer, dir directory) {
	config := e.server.config
	if len(list) == 0 || config.Tools.Adopt == nil {
		return
	}
	has := make(map[string]bool)
	for _, h := range e.Sessions().Hosts(st.Session) {
		has[h.Name()] = true
	}
	missing := slices.ContainsFunc(st.Session.Tools, func(t tool.Tool) bool { return t.Source != "" && !has[t.Source] })
	if !missing {
		config.Log.Info("an editor's servers are ignored: the session keeps its own", "session", st.Session.ID)
		return
	}
	hosts, err := e.Offered(offeredBy(list, dir))
	if err != nil {
		config.Log.Warn("an editor's servers are refused", "session", st.Session.ID, "err", err)
		return
	}
	config.Tools.Adopt(st.Session.ID, hosts)
}

// serverName is a name as [toolhost.Server] takes it: editors have titles there.
func serverName(title string) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, wire.Characters(title, 31))
	if name == "" || name[0] == '-' || unicode.IsDigit(rune(name[0])) {
		name = "_" + name
	}
	return name
}
