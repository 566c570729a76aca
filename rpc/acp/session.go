package acp

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session/tool"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/failure"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
)

type newParams struct {
	CWD     directory   `json:"cwd"`
	Servers []mcpServer `json:"mcpServers,omitempty"`
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
	Modes   *modes   `json:"modes"`
	Options []option `json:"configOptions"`
	Meta    meta     `json:"_meta,omitempty"`
}

func (e *Editor) opened(st agent.State) opened {
	o := opened{Modes: modesOf(st), Options: e.options(st)}
	if files := st.Session.Instructions.Files; files != nil {
		o.Meta = meta{metaKey: map[string]any{"project_instructions": files}}
	}
	return o
}

// newSession makes a session with the tools for work on files, since an editor's user wants an agent; a client from the network
// has them where the operator says so. Servers may have to start, so the answer is late where there are some.
func newSession(ctx context.Context, e *Editor, p newParams, reply method.Reply) error {
	made := service.New{CWD: string(p.CWD), Storage: p.Meta.Storage, Ephemeral: p.Meta.Ephemeral}
	if e.SameUser {
		made.Tools = &service.Choice{Builtin: true}
	}
	made.Servers = offeredBy(p.Servers, p.CWD)
	record, err := e.Record(made)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(p.Servers, func(s mcpServer) bool { return s.Type == "sse" }) {
		return conn.InvalidParams("mcpServers", "sse is a transport of the past; http and programs are taken")
	}
	if e.Waits(made) {
		e.Run(func() { // ends with the servers' answers or the request; serve waits
			if _, err := failure.Guard(func() (method.Nothing, error) { return method.Nothing{}, e.make(ctx, made, record, reply) }); err != nil {
				reply(nil, err)
			}
		})
		return nil
	}
	return e.make(ctx, made, record, reply)
}

// make answers with a session that it makes, and follows it.
func (e *Editor) make(ctx context.Context, p service.New, record session.Session, reply method.Reply) error {
	equipment, err := e.Equip(ctx, p, &record)
	if err != nil {
		return err
	}
	defer equipment.Close()
	if record, err = e.Sessions().Create(ctx, record); err != nil {
		return err
	}
	equipment.Adopt(record.ID)
	snap, sub, err := e.subscribe(ctx, record.ID, 0)
	if err != nil {
		return err
	}
	e.startSender(snap, sub, func() { reply(newResult{record.ID, e.opened(snap.State)}, nil) })
	if err := equipment.Tell(e.Conn.Context(), record.ID); err != nil && e.Conn.Context().Err() == nil {
		e.server.config.Log.Warn("missing tools could not be reported", "session", record.ID, "err", err)
	}
	return nil
}

type resumeParams struct {
	Session sessionID   `json:"sessionId"`
	CWD     directory   `json:"cwd"`
	Servers []mcpServer `json:"mcpServers,omitempty"`
}

// resume follows a session from now on and sends nothing of its history. If a turn runs, its updates come after the
// answer.
func resume(ctx context.Context, e *Editor, p resumeParams) (opened, error) {
	if err := p.Session.check(); err != nil {
		return opened{}, err
	}
	st, err := e.join(ctx, p.Session.ID)
	if err != nil {
		return opened{}, err
	}
	e.sameDirectory(st, p.CWD)
	e.reoffer(st, p.Servers, p.CWD)
	return e.opened(st), nil
}

// sameDirectory logs that a client opens the session in another directory: the session stays where it was made.
func (e *Editor) sameDirectory(st agent.State, dir directory) {
	if st.Session.CWD != "" && filepath.Clean(st.Session.CWD) != filepath.Clean(string(dir)) {
		e.server.config.Log.Info("an editor opens a session in another directory than its own", "session", st.Session.ID)
	}
}

type loadParams struct {
	Session sessionID   `json:"sessionId"`
	CWD     directory   `json:"cwd"`
	Servers []mcpServer `json:"mcpServers,omitempty"`
}

// load sends the whole history, then answers, then goes on as resume does.
func load(ctx context.Context, e *Editor, p loadParams, reply method.Reply) error {
	if err := p.Session.check(); err != nil {
		return err
	}
	id := p.Session.ID
	snap, sub, err := e.subscribe(ctx, id, math.MaxInt)
	if err != nil {
		return err
	}
	e.sameDirectory(snap.State, p.CWD)
	e.reoffer(snap.State, p.Servers, p.CWD)
	th := e.replace(id)
	th.begin(snap)
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

const pageSize = 100 // sessions in a list

type listParams struct {
	CWD    string `json:"cwd,omitempty"`
	Cursor string `json:"cursor,omitempty"`
}

type listResult struct {
	Sessions []listed `json:"sessions"`
	Next     string   `json:"nextCursor,omitempty"`
}

type listed struct {
	ID      session.ID `json:"sessionId"`
	CWD     string     `json:"cwd"`
	Title   string     `json:"title,omitempty"`
	Updated string     `json:"updatedAt"`
}

// list is a page of sessions, newest first: clients ask for it when they start, and wait for some seconds at most.
func list(ctx context.Context, e *Editor, p listParams) (listResult, error) {
	page, next, err := e.Sessions().List(ctx, session.Query{Cursor: p.Cursor, Limit: pageSize, Filter: session.Filter{CWD: p.CWD, Archived: new(bool)}})
	if err != nil {
		return listResult{}, err
	}
	r := listResult{Sessions: make([]listed, 0, len(page)), Next: next}
	for _, s := range page {
		if s.Status == session.Damaged {
			continue // nothing could be done with it
		}
		if !filepath.IsAbs(s.CWD) { // the client that created the session named none, and ACP demands one
			s.CWD = rootDirectory()
		}
		r.Sessions = append(r.Sessions, listed{s.ID, s.CWD, s.Title, timestamp(s.Updated)})
	}
	return r, nil
}

// rootDirectory is an absolute path. On Windows, a root without a volume is not absolute.
func rootDirectory() string {
	if root := string(filepath.Separator); filepath.IsAbs(root) {
		return root
	}
	return `C:\`
}

// deleteSession is a success for what is not there.
func deleteSession(ctx context.Context, e *Editor, p sessionParams) (method.Nothing, error) {
	if p.Session.ID == "" {
		return method.Nothing{}, nil
	}
	return method.Nothing{}, e.Sessions().Delete(ctx, p.Session.ID)
}

// closeSession ends following a session. If no other client follows it, what this client has asked for is cancelled. A turn of
// another client goes on in any case.
func closeSession(ctx context.Context, e *Editor, p sessionParams) (method.Nothing, error) {
	if err := p.Session.check(); err != nil {
		return method.Nothing{}, err
	}
	id := p.Session.ID
	if _, err := e.Sessions().Get(ctx, id); err != nil {
		return method.Nothing{}, err
	}
	th := e.forget(id)
	if th == nil {
		return method.Nothing{}, nil
	}
	th.answerCompact(promptResult{Stop: stopCancelled}, nil)
	th.mu.Lock()
	open := maps.Clone(th.prompts)
	clear(th.prompts)
	th.mu.Unlock()
	_, err := service.OnAgent(ctx, e, id, func(a *agent.Agent) (struct{}, error) {
		return struct{}{}, a.Leave(ctx, slices.Collect(maps.Keys(open)))
	})
	for _, reply := range open {
		reply(promptResult{Stop: stopCancelled}, nil)
	}
	if err != nil {
		return method.Nothing{}, fmt.Errorf("leaving: %w", err)
	}
	return method.Nothing{}, nil
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
