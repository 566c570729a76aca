package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/failure"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

type acpInitializeParams struct {
	Version      int                   `json:"protocolVersion"`
	Capabilities acpClientCapabilities `json:"clientCapabilities,omitzero"`
	Client       acpInfo               `json:"clientInfo,omitzero"`
}

type acpInitializeResult struct {
	Version      int             `json:"protocolVersion"`
	Capabilities acpCapabilities `json:"agentCapabilities"`
	AuthMethods  []string        `json:"authMethods"` // none: some clients log in with the first one unasked
	Agent        acpInfo         `json:"agentInfo"`
	Meta         meta            `json:"_meta"`
}

type acpCapabilities struct {
	Load   bool `json:"loadSession"`
	Prompt struct {
		Image    bool `json:"image"`
		Audio    bool `json:"audio"`
		Embedded bool `json:"embeddedContext"`
	} `json:"promptCapabilities"`
	MCP struct {
		HTTP bool `json:"http"`
		SSE  bool `json:"sse"`
	} `json:"mcpCapabilities"`
	Session map[string]method.Nothing `json:"sessionCapabilities"`
	Meta    meta                      `json:"_meta"`
}

// acpInitialize answers with the one version that there is; a client that cannot live with it goes.
func acpInitialize(_ context.Context, c *client, p acpInitializeParams) (acpInitializeResult, error) {
	if c.greeted {
		return acpInitializeResult{}, conn.InvalidRequest("initialize was called before on this connection")
	}
	c.greeted = true
	c.name = wire.Characters(p.Client.Name, maxClientName)
	c.editor.can = p.Capabilities
	c.server.config.Log.Debug("editor", "name", p.Client.Name, "version", p.Client.Version)
	r := acpInitializeResult{Version: 1, AuthMethods: []string{}, Agent: acpInfo{"thinkd", "thinkd", c.server.config.Version},
		Meta: meta{"steering": map[string]any{"supported": true}}}
	r.Capabilities.Load = true
	r.Capabilities.Prompt.Image, r.Capabilities.Prompt.Embedded = true, true
	r.Capabilities.MCP.HTTP = true
	r.Capabilities.Session = map[string]method.Nothing{"list": {}, "resume": {}, "close": {}, "delete": {}}
	var names []string
	for _, name := range acpExtensions() {
		names = append(names, "_thinkd/"+name)
	}
	r.Capabilities.Meta = meta{metaKey + "/native": map[string]any{"version": protocolVersion, "methods": names},
		metaKey + "/prompt": map[string]any{"whenBusy": "queue"}}
	return r, nil
}

// acpServer is an MCP server that a client wants a session to have: one without a type is a program.
type acpServer struct {
	Type    string    `json:"type"`
	Name    string    `json:"name"`
	Command string    `json:"command"`
	Args    []string  `json:"args"`
	Env     []acpPair `json:"env"`
	URL     string    `json:"url"`
	Headers []acpPair `json:"headers"`
}

type acpPair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// offered is the server as our own protocol has it. Its name is made one that tools' names can begin with. Programs run in
// the session's directory.
func (s acpServer) offered(dir string) toolhost.Server {
	pairs := func(list []acpPair) map[string]string {
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

func offeredBy(list []acpServer, dir acpDirectory) (all []toolhost.Server) {
	for _, s := range list {
		all = append(all, s.offered(string(dir)))
	}
	return all
}

// reoffer gives a session its client's servers again, which a daemon forgets when it ends. A session that has them keeps
// those that it has: they may be in use. What is offered in vain is no reason not to open a session.
func (c *client) reoffer(st agent.State, list []acpServer, dir acpDirectory) {
	config := c.server.config
	if len(list) == 0 || config.Tools.Adopt == nil {
		return
	}
	has := make(map[string]bool)
	for _, h := range c.Sessions().Hosts(st.Session) {
		has[h.Name()] = true
	}
	missing := slices.ContainsFunc(st.Session.Tools, func(t tool.Tool) bool { return t.Source != "" && !has[t.Source] })
	if !missing {
		config.Log.Info("an editor's servers are ignored: the session keeps its own", "session", st.Session.ID)
		return
	}
	hosts, err := c.Offered(offeredBy(list, dir))
	if err != nil {
		config.Log.Warn("an editor's servers are refused", "session", st.Session.ID, keyError, err)
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

type acpNewParams struct {
	CWD     acpDirectory `json:"cwd"`
	Servers []acpServer  `json:"mcpServers,omitempty"`
}

type acpNewResult struct {
	Session session.ID `json:"sessionId"`
	acpOpened
}

// acpOpened is what a client begins with on a session.
type acpOpened struct {
	Modes   *acpModes   `json:"modes"`
	Options []acpOption `json:"configOptions"`
}

func (c *client) opened(st agent.State) acpOpened { return acpOpened{modesOf(st), c.options(st)} }

// acpNew makes a session with the tools for work on files, since an editor's user wants an agent; a client from the network
// has them where the operator says so. Servers may have to start, so the answer is late where there are some.
func acpNew(ctx context.Context, c *client, p acpNewParams, reply method.Reply) error {
	made := service.New{CWD: string(p.CWD)}
	if c.SameUser {
		made.Tools = &service.Choice{Builtin: true}
	}
	made.Servers = offeredBy(p.Servers, p.CWD)
	record, err := c.Record(made)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(p.Servers, func(s acpServer) bool { return s.Type == "sse" }) {
		return conn.InvalidParams("mcpServers", "sse is a transport of the past; http and programs are taken")
	}
	if c.Waits(made) {
		c.Run(func() { // ends with the servers' answers or the request; serve waits
			if _, err := failure.Guard(func() (method.Nothing, error) { return method.Nothing{}, c.make(ctx, made, record, reply) }); err != nil {
				reply(nil, err)
			}
		})
		return nil
	}
	return c.make(ctx, made, record, reply)
}

// make answers with a session that it makes, and follows it.
func (c *client) make(ctx context.Context, p service.New, record session.Session, reply method.Reply) error {
	equipment, err := c.Equip(ctx, p, &record)
	if err != nil {
		return err
	}
	defer equipment.Close()
	if record, err = c.Sessions().Create(ctx, record); err != nil {
		return err
	}
	equipment.Adopt(record.ID)
	snap, sub, err := c.attachEditor(ctx, record.ID, 0)
	if err != nil {
		return err
	}
	c.editor.run(snap, sub, func() { reply(acpNewResult{record.ID, c.opened(snap.State)}, nil) })
	if err := equipment.Tell(c.Conn.Context(), record.ID); err != nil && c.Conn.Context().Err() == nil {
		c.server.config.Log.Warn("missing tools could not be reported", "session", record.ID, keyError, err)
	}
	return nil
}

type acpResumeParams struct {
	Session acpSessionID `json:"sessionId"`
	CWD     acpDirectory `json:"cwd"`
	Servers []acpServer  `json:"mcpServers,omitempty"`
}

// acpResume follows a session from here on and tells nothing of what was. Where a turn runs, its updates go on behind the
// answer.
func acpResume(ctx context.Context, c *client, p acpResumeParams) (acpOpened, error) {
	if err := p.Session.check(); err != nil {
		return acpOpened{}, err
	}
	st, err := c.editor.follow(ctx, p.Session.ID)
	if err != nil {
		return acpOpened{}, err
	}
	c.sameDirectory(st, p.CWD)
	c.reoffer(st, p.Servers, p.CWD)
	return c.opened(st), nil
}

// sameDirectory tells the log of a client that has the session elsewhere: the session stays where it was made.
func (c *client) sameDirectory(st agent.State, dir acpDirectory) {
	if st.Session.CWD != "" && filepath.Clean(st.Session.CWD) != filepath.Clean(string(dir)) {
		c.server.config.Log.Info("an editor opens a session in another directory than its own", "session", st.Session.ID)
	}
}

type acpLoadParams struct {
	Session acpSessionID `json:"sessionId"`
	CWD     acpDirectory `json:"cwd"`
	Servers []acpServer  `json:"mcpServers,omitempty"`
}

// acpLoad tells all that was said, then answers, then goes on as acpResume does.
func acpLoad(ctx context.Context, c *client, p acpLoadParams, reply method.Reply) error {
	if err := p.Session.check(); err != nil {
		return err
	}
	id := p.Session.ID
	snap, sub, err := c.attachEditor(ctx, id, math.MaxInt)
	if err != nil {
		return err
	}
	c.sameDirectory(snap.State, p.CWD)
	c.reoffer(snap.State, p.Servers, p.CWD)
	th := c.editor.replace(id)
	th.begin(snap)
	opened := c.opened(snap.State)
	th.told(opened.Options)
	c.Follow(id, func(ctx context.Context) error {
		defer sub.Close()
		if err := th.replay(ctx, snap); err != nil {
			return err
		}
		reply(opened, nil)
		return th.run(ctx, snap, sub)
	})
	return nil
}

func (c *client) attachEditor(ctx context.Context, id session.ID, limit int) (snap agent.Snapshot, sub *feed.Subscription, err error) {
	_, err = service.OnAgent(ctx, c, id, func(a *agent.Agent) (struct{}, error) {
		if snap, sub, err = a.Attach(ctx, limit); err == nil {
			sub.Confirms() // each editor has to answer session/request_permission
		}
		return struct{}{}, err
	})
	return snap, sub, err
}

// run sends the client the updates of a session after a snapshot. The sender calls first before it sends any of them, so the
// thread exists when the client has its answer.
func (e *editor) run(snap agent.Snapshot, sub *feed.Subscription, first func()) {
	id := snap.Session.ID
	th := e.replace(id)
	th.begin(snap)
	th.told(e.c.options(snap.State))
	e.c.Follow(id, func(ctx context.Context) error {
		defer sub.Close()
		first()
		return th.run(ctx, snap, sub)
	})
}

// follow sends the client the updates of a session from now on.
func (e *editor) follow(ctx context.Context, id session.ID) (agent.State, error) {
	snap, sub, err := e.c.attachEditor(ctx, id, 0)
	if err != nil {
		return agent.State{}, err
	}
	e.run(snap, sub, func() {})
	return snap.State, nil
}

// replace makes a new thread of a session. The sender of the one before has ended then, and its open prompts are this
// one's.
func (e *editor) replace(id session.ID) *thread {
	e.c.Unfollow(id)
	th := &thread{e: e, id: id, prompts: make(map[session.TurnID]method.Reply), mine: make(map[session.TurnID]bool),
		calls: make(map[string][]*acpCall), questions: make(map[string]*acpQuestion)}
	e.mu.Lock()
	before := e.threads[id]
	e.threads[id] = th
	e.mu.Unlock()
	e.c.server.editors.enter(id, e)
	if before != nil {
		before.mu.Lock()
		defer before.mu.Unlock()
		maps.Copy(th.prompts, before.prompts)
		maps.Copy(th.mine, before.mine)
		th.waits.Store(len(th.prompts) > 0)
		clear(before.prompts)
		if reply := before.compacted; reply != nil { // what becomes of the summary is told
			before.compacted = nil
			reply(acpPromptResult{Stop: "end_turn"}, nil)
		}
	}
	return th
}

// forget ends what the client follows, and is the thread that it was.
func (e *editor) forget(id session.ID) *thread {
	e.c.Unfollow(id)
	e.c.server.editors.leave(id, e)
	e.mu.Lock()
	defer e.mu.Unlock()
	th := e.threads[id]
	delete(e.threads, id)
	return th
}

// lose is forget for a thread whose session is gone: an editor that stays would keep it for as long. The thread's sender calls it.
func (e *editor) lose(th *thread) {
	e.c.server.editors.leave(th.id, e)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.threads[th.id] == th {
		delete(e.threads, th.id)
	}
}

type acpListParams struct {
	CWD    string `json:"cwd,omitempty"`
	Cursor string `json:"cursor,omitempty"`
}

type acpListResult struct {
	Sessions []acpListed `json:"sessions"`
	Next     string      `json:"nextCursor,omitempty"`
}

type acpListed struct {
	ID      session.ID `json:"sessionId"`
	CWD     string     `json:"cwd"`
	Title   string     `json:"title,omitempty"`
	Updated string     `json:"updatedAt"`
}

// acpList is a page of sessions, newest first: clients ask for it when they start, and wait for some seconds at most.
func acpList(ctx context.Context, c *client, p acpListParams) (acpListResult, error) {
	page, next, err := c.Sessions().List(ctx, session.Query{Cursor: p.Cursor, Limit: defaultLimit, CWD: p.CWD})
	if err != nil {
		return acpListResult{}, err
	}
	r := acpListResult{Sessions: make([]acpListed, 0, len(page)), Next: next}
	for _, s := range page {
		if s.Status == session.Damaged {
			continue // nothing could be done with it
		}
		if s.CWD == "" || !filepath.IsAbs(s.CWD) { // of another client, who named none; here it must have one
			s.CWD = filepath.VolumeName(s.CWD) + string(filepath.Separator)
		}
		r.Sessions = append(r.Sessions, acpListed{s.ID, s.CWD, s.Title, acpTime(s.Updated)})
	}
	return r, nil
}

func acpTime(milliseconds int64) string {
	return time.UnixMilli(milliseconds).UTC().Format(time.RFC3339)
}

// acpDelete is a success for what is not there.
func acpDelete(ctx context.Context, c *client, p acpSessionParams) (method.Nothing, error) {
	if p.Session.ID == "" {
		return method.Nothing{}, nil
	}
	return method.Nothing{}, c.Sessions().Delete(ctx, p.Session.ID)
}

// acpClose lets go of a session. Where nobody else follows it, what this client has asked for is cancelled; a turn of
// somebody else goes on in any case.
func acpClose(ctx context.Context, c *client, p acpSessionParams) (method.Nothing, error) {
	if err := p.Session.check(); err != nil {
		return method.Nothing{}, err
	}
	id := p.Session.ID
	if _, err := c.Sessions().Get(ctx, id); err != nil {
		return method.Nothing{}, err
	}
	th := c.editor.forget(id)
	if th == nil {
		return method.Nothing{}, nil
	}
	th.answerCompact(acpPromptResult{Stop: stopCancelled}, nil)
	th.mu.Lock()
	open := maps.Clone(th.prompts)
	clear(th.prompts)
	th.mu.Unlock()
	_, err := service.OnAgent(ctx, c, id, func(a *agent.Agent) (struct{}, error) {
		return struct{}{}, a.Leave(ctx, slices.Collect(maps.Keys(open)))
	})
	for _, reply := range open {
		reply(acpPromptResult{Stop: stopCancelled}, nil)
	}
	if err != nil {
		return method.Nothing{}, fmt.Errorf("leaving: %w", err)
	}
	return method.Nothing{}, nil
}

// compactJSON is a native notification's params as they ride in _meta.
func compactJSON(value any) json.RawMessage {
	out, err := encodeACP(value)
	if err != nil {
		panic(err) // it is ours, and holds nothing that JSON cannot
	}
	return out
}
