package acp

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/dispatch"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
)

// NewServer makes a server of editors.
func NewServer(c Config) *Server {
	return &Server{config: c, table: table()}
}

// Native has the methods of the native protocol that editors can call.
type Native struct {
	Method func(name string) (method.Bound, bool)
	Export func(context.Context, session.ID) (string, error) // the session as Markdown
}

// Begin makes a connection that of an editor, for what a caller may do. Nothing else may run on the connection yet.
func (s *Server) Begin(c *dispatch.Client, caller service.Caller, native Native) *Editor {
	e := &Editor{Client: c, Caller: caller, server: s, native: native.Method, export: native.Export, prefix: "thinkd-" + rand.Text()[:8] + "-", asked: make(map[string]chan response),
		threads: make(map[session.ID]*thread)}
	c.Speak(e)
	c.SetDialect(door.ProtocolACP)
	c.AtEnd(e.leave)
	c.Conn.Speak(conn.Protocol{Cancel: "$/cancel_request", CancelID: "requestId", Urgent: "session/cancel", Single: true, Response: e.receive},
		s.MessageBytes())
	return e
}

// MessageBytes returns the largest size of an editor's message, in bytes.
func (s *Server) MessageBytes() int { return max(s.config.Encoder.Limit, door.ACPMessageBytes) }

// Methods lists what editors can call, by name.
func (s *Server) Methods(native func(name string) (method.Bound, bool)) map[string]method.Entry {
	all := make(map[string]method.Entry)
	for name, m := range s.table {
		all[name] = m.Entry
	}
	for _, name := range extensions() {
		m, _ := native(name)
		all[extensionPrefix+name] = m.Entry
	}
	return all
}

// Method makes it a [dispatch.Protocol].
func (e *Editor) Method(name string) (method.Bound, bool) {
	if native, ok := strings.CutPrefix(name, extensionPrefix); ok && slices.Contains(extensions(), native) {
		return e.native(native)
	}
	m, ok := e.server.table[name]
	return m.For(e), ok
}

// Failure is an error as ACP has it.
func (e *Editor) Failure(failed *conn.Error) *conn.Error { return door.ACPError(failed) }

// Ignored makes every member known: ACP lets clients add members such as _meta, and an agent ignores those that it does not know.
func (e *Editor) Ignored(method.Bound, []byte) (method.Ignored, bool) { return method.Ignored{}, false }

// table is the methods that editors have, except for the extensions.
func table() map[string]method.Method[*Editor] {
	table := make(map[string]method.Method[*Editor])
	for _, m := range []method.Method[*Editor]{
		method.Define("initialize", method.Use, "", method.Now(initialize)),
		method.Define("authenticate", method.Use, "", method.Late(authenticate)),
		method.Define("logout", method.Keys, "", method.Now(logout)),
		method.Define("auth/status", method.Use, "", method.Now(status)),
		method.Define("session/new", method.Use, "", method.InOrder[*Editor, newParams, newResult](newSession)),
		method.Define("session/load", method.Use, "", method.InOrder[*Editor, openParams, opened](load)),
		method.Define("session/resume", method.Use, "", method.Now(resume)),
		method.Define("session/fork", method.Use, "", method.Now(fork)),
		method.Define("session/list", method.Use, "", method.Now(list)),
		method.Define("session/archive", method.Use, "", method.Now(archive)),
		method.Define("session/unarchive", method.Use, "", method.Now(unarchive)),
		method.Define("session/set_title", method.Use, "", method.Now(setTitle)),
		method.Define("session/status", method.Use, "", method.Now(sessionStatus)),
		method.Define("session/delete", method.Use, "", method.Now(deleteSession)),
		method.Define("session/close", method.Use, "", method.Now(closeSession)),
		method.Define("session/prompt", method.Use, "", method.InOrder[*Editor, promptParams, promptResult](prompt)),
		method.Define("session/cancel", method.Use, "", method.Now(cancel)),
		method.Define("session/set_mode", method.Use, "", method.Now(setMode)),
		method.Define("session/set_model", method.Use, "", method.Now(setModel)),
		method.Define("session/set_config_option", method.Use, "", method.Now(setOption)),
		method.Define("_session/steering", method.Use, "", method.Now(steer)),
	} {
		table[m.Name] = m
	}
	return table
}

// extensionPrefix is before the name of a native method.
const extensionPrefix = "_thinkd/"

// extensions are the native methods that editors have, with the native params: those for which ACP has no form. None of
// them subscribes, makes or removes a session, or takes a key.
func extensions() []string {
	return []string{"models/list", "model/set", "thinking/set", "thinking/explain", "providers/list", "agents/list",
		"session/state", "session/history", "session/summaries", "session/uncompact", "message/pin", "message/unpin", "session/queue", "session/grants", "turn/wait"}
}

type initializeParams struct {
	Version      int                `json:"protocolVersion"`
	Capabilities clientCapabilities `json:"clientCapabilities,omitzero"`
	Client       info               `json:"clientInfo,omitzero"`
}

type initializeResult struct {
	Version      int          `json:"protocolVersion"`
	Capabilities capabilities `json:"agentCapabilities"`
	AuthMethods  []authMethod `json:"authMethods"`
	Agent        info         `json:"agentInfo"`
	Meta         meta         `json:"_meta"`
}

type capabilities struct {
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
	Auth    map[string]method.Nothing `json:"auth"`
	Meta    meta                      `json:"_meta"`
}

// initialize answers with the one version that there is; a client that cannot use it disconnects.
func initialize(_ context.Context, e *Editor, p initializeParams) (initializeResult, error) {
	if e.greeted {
		return initializeResult{}, conn.InvalidRequest("initialize was called before on this connection")
	}
	e.greeted = true
	e.name = wire.Characters(p.Client.Name, service.MaxClientName)
	e.can = p.Capabilities
	e.Attended = true // a person writes the prompts of an editor
	e.server.config.Log.Debug("editor", "name", p.Client.Name, "version", p.Client.Version)
	r := initializeResult{Version: 1, AuthMethods: e.authMethods(), Agent: info{"thinkd", "thinkd", e.server.config.Version},
		Meta: meta{"steering": map[string]any{"supported": true}}}
	r.Capabilities.Load = true
	r.Capabilities.Prompt.Image, r.Capabilities.Prompt.Audio, r.Capabilities.Prompt.Embedded = true, true, true
	r.Capabilities.MCP.HTTP = true
	r.Capabilities.Session = map[string]method.Nothing{"list": {}, "resume": {}, "close": {}, "delete": {},
		"additionalDirectories": {}, "fork": {}, "archive": {}, "status": {}, "title": {}, "systemPrompt": {}} // the second line is of the unstable schema
	r.Capabilities.Auth = map[string]method.Nothing{"status": {}}
	if e.MaySetKeys() {
		r.Capabilities.Auth["logout"] = method.Nothing{}
	}
	var names []string
	for _, name := range extensions() {
		names = append(names, extensionPrefix+name)
	}
	r.Capabilities.Meta = meta{metaKey + "/native": map[string]any{"version": wire.ProtocolVersion, "methods": names},
		metaKey + "/prompt": map[string]any{"whenBusy": "queue"}}
	return r, nil
}
