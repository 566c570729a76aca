package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/tool/arguments"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/failure"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// Tools is what a server knows of the daemon's own hosts of tools, besides what [agent.Config] lists.
type Tools struct {
	Builtin     bool // sessions whose clients name no tools get the built-in ones, and every client may ask for them
	FromClients bool // servers are taken from every client, and not from those of the daemon's own user alone
	Slow        bool // some host of all sessions may have to start before it can be asked

	// Offer makes a host of a client's server. Whoever has it closes it, or gives it to Adopt. nil: none are taken.
	Offer func(toolhost.Server) toolhost.Host

	// Adopt makes hosts those of a session, until there is no such session or no daemon any more.
	Adopt func(session.ID, []toolhost.Host)
}

// newTools is what a new session is to have: "builtin", or a list of tools that clients run, in which "builtin" may
// stand too.
type newTools struct {
	own     []newTool
	builtin bool
}

const builtinWord = string(tool.Builtin)

func (t *newTools) UnmarshalJSON(data []byte) error {
	var word string
	if json.Unmarshal(data, &word) == nil {
		t.builtin = word == builtinWord
		if !t.builtin {
			return fmt.Errorf("%q is not the word builtin", word)
		}
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	for _, element := range list {
		if string(element) == `"`+builtinWord+`"` {
			t.builtin = true
			continue
		}
		var own newTool
		if err := json.Unmarshal(element, &own); err != nil {
			return err
		}
		t.own = append(t.own, own)
	}
	return nil
}

// MarshalJSON writes them for the digest of a request that may come again.
func (t newTools) MarshalJSON() ([]byte, error) {
	list := []any{}
	if t.builtin {
		list = append(list, builtinWord)
	}
	for _, own := range t.own {
		list = append(list, own)
	}
	return json.Marshal(list)
}

// JSONSchema is what rpc.discover tells of it.
func (newTools) JSONSchema() *jsonschema.Schema {
	word := method.Constant(builtinWord)
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{word, method.ListOf(&jsonschema.Schema{AnyOf: []*jsonschema.Schema{word, method.Ref("NewTool")}})}}
}

// servers are what a client offers.
type servers []offeredServer

// offeredServer is a server of the Model Context Protocol: a program, or an address.
type offeredServer struct {
	Name    string            `json:"name"`
	Command []string          `json:"command,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	CWD     string            `json:"cwd,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Tools   []string          `json:"tools,omitempty"`
}

// UnmarshalJSON wants the name that the schema of this type asks for.
func (s *offeredServer) UnmarshalJSON(data []byte) error {
	type plain offeredServer
	if err := json.Unmarshal(data, (*plain)(s)); err != nil {
		return err
	}
	if s.Name == "" {
		return errors.New("a server has no name")
	}
	return nil
}

// Bounds of a session's tools: they travel with every call, and are in the session's record.
const (
	maxTools      = 128
	maxToolsBytes = 256 << 10
	maxServers    = 16
)

// newWaits reports whether a new session has to wait for servers.
func (c *client) newWaits(p newParams) bool { return len(p.Servers) > 0 || c.server.config.Tools.Slow }

// equipment is the tools of a session that is being made, as far as they are not in its record.
type equipment struct {
	offered []toolhost.Host // by its client, and nobody's yet
	missing []string        // hosts that could not be asked
}

// equip gives a record its tools: the client's own, and those of hosts.
func (c *client) equip(ctx context.Context, p newParams, record *session.Session) (e *equipment, err error) {
	e = &equipment{}
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	asked := newTools{builtin: c.server.config.Tools.Builtin}
	if p.Tools != nil {
		asked = *p.Tools
		if asked.builtin && !c.sameUser && !c.server.config.Tools.Builtin {
			return e, conn.InvalidParams("tools", "the built-in ones are not for clients from the network, unless the operator's config says so")
		}
	}
	if record.Tools, err = ownTools(asked.own, c.sameUser); err != nil {
		return e, err
	}
	if e.offered, err = c.offered(p.Servers); err != nil {
		return e, err
	}
	hosts := slices.DeleteFunc(c.sessions().Hosts(*record), func(h toolhost.Host) bool { return h.Name() == builtinWord && !asked.builtin })
	for _, a := range askHosts(ctx, append(hosts, e.offered...)) {
		switch {
		case a.err != nil && ctx.Err() != nil:
			return e, context.Cause(ctx)
		case a.err != nil && a.host.Name() == builtinWord && p.Tools != nil:
			return e, conn.InvalidParams("cwd", "%v", a.err)
		case a.err != nil && a.host.Name() == builtinWord: // nobody asked for them here
			continue
		case a.err != nil: // the session is of use without them
			c.server.config.Log.Warn("a tool host cannot be reached", "host", a.host.Name(), keyError, a.err)
			e.missing = append(e.missing, a.host.Name())
		}
		for _, t := range a.tools {
			if slices.ContainsFunc(record.Tools, func(has tool.Tool) bool { return has.Name == t.Name }) {
				return e, conn.InvalidParams("tools", "%s is there twice, once from %s", t.Name, a.host.Name())
			}
			record.Tools = append(record.Tools, t)
		}
	}
	size := 0
	for _, t := range record.Tools {
		size += len(t.Name) + len(t.Title) + len(t.Description) + len(t.Schema)
	}
	if len(record.Tools) > maxTools || size > maxToolsBytes {
		return e, conn.InvalidParams("tools", "are %d of %d bytes; a session has at most %d of %d bytes", len(record.Tools), size, maxTools, maxToolsBytes)
	}
	return e, nil
}

// ownTools are those that clients run. Their effects are as their client declares them, except that no client from the
// network can declare that a tool only reads: such tools run in all modes.
func ownTools(own []newTool, sameUser bool) (tools []tool.Tool, err error) {
	names := map[string]bool{}
	for i, t := range own {
		at := func(member string) string { return fmt.Sprintf("tools.%d.%s", i, member) }
		if err := tool.CheckName(t.Name); err != nil {
			return nil, conn.InvalidParams(at("name"), "%v", err)
		}
		if names[t.Name] {
			return nil, conn.InvalidParams(at("name"), "%s is there twice", t.Name)
		}
		names[t.Name] = true
		if len(t.Schema.RawMessage) == 0 {
			t.Schema.RawMessage = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		if err := arguments.CheckSchema(t.Schema.RawMessage); err != nil {
			return nil, conn.InvalidParams(at("input_schema"), "%v", err)
		}
		var schema bytes.Buffer
		if err := json.Compact(&schema, t.Schema.RawMessage); err != nil {
			return nil, conn.InvalidParams(at("input_schema"), "%v", err)
		}
		if t.Effect == tool.Read && !sameUser {
			t.Effect = tool.Other
		}
		tools = append(tools, tool.Tool{Tool: provider.Tool{Name: t.Name, Description: t.Description, Schema: schema.Bytes()},
			Host: tool.Client, Title: t.Title, Effect: t.Effect})
	}
	return tools, nil
}

// offered makes hosts of a client's servers. A server may be any program, so it is taken only from who could start that
// without us, unless the operator says otherwise.
func (c *client) offered(list servers) (hosts []toolhost.Host, err error) {
	config := c.server.config.Tools
	switch {
	case len(list) == 0:
		return nil, nil
	case config.Offer == nil, !c.sameUser && !config.FromClients:
		return nil, conn.InvalidParams("mcp_servers", "are not taken from clients from the network, unless the operator's config says so")
	case len(list) > maxServers:
		return nil, conn.InvalidParams("mcp_servers", "are more than %d", maxServers)
	}
	made := make([]toolhost.Server, len(list))
	for i, s := range list {
		made[i] = toolhost.Server{Name: s.Name, Command: s.Command, Env: s.Env, CWD: s.CWD, URL: s.URL, Headers: s.Headers, Tools: s.Tools}
		if wrong, ok := errors.AsType[*toolhost.ServerError](made[i].Check()); ok {
			return nil, conn.InvalidParams(fmt.Sprintf("mcp_servers.%d.%s", i, wrong.Member), "%v", wrong.Err)
		}
		if slices.ContainsFunc(made[:i], func(before toolhost.Server) bool { return before.Name == s.Name }) {
			return nil, conn.InvalidParams(fmt.Sprintf("mcp_servers.%d.name", i), "%s is there twice", s.Name)
		}
	}
	for _, s := range made {
		hosts = append(hosts, config.Offer(s))
	}
	return hosts, nil
}

// hostAnswer is a host's answer.
type hostAnswer struct {
	host  toolhost.Host
	tools []tool.Tool
	err   error
}

// askHosts asks all hosts at once, since each may have to start. The answers are in the hosts' order.
func askHosts(ctx context.Context, hosts []toolhost.Host) []hostAnswer {
	answers := make([]hostAnswer, len(hosts))
	var asking sync.WaitGroup
	for i, h := range hosts {
		asking.Go(func() { // ends with ctx at the latest, awaited below
			answers[i].host = h
			answers[i].tools, answers[i].err = failure.Guard(func() ([]tool.Tool, error) { return h.Tools(ctx) })
		})
	}
	asking.Wait()
	return answers
}

// adopt gives the offered hosts to a session that is made.
func (e *equipment) adopt(c *client, id session.ID) {
	if len(e.offered) > 0 {
		c.server.config.Tools.Adopt(id, e.offered)
		e.offered = nil
	}
}

// tell says which hosts could not be asked. Whoever subscribed by then hears of it.
func (e *equipment) tell(ctx context.Context, c *client, id session.ID) error {
	for _, name := range e.missing {
		_, err := onAgent(ctx, c, id, func(a *agent.Agent) (method.Nothing, error) {
			return method.Nothing{}, a.ToolsMissing(ctx, fmt.Sprintf("this session has no tools of %s, which cannot be reached; see the daemon's log", name))
		})
		if err != nil && !errors.Is(err, session.ErrNotFound) { // it may be deleted already
			return err
		}
	}
	e.missing = nil
	return nil
}

// close ends the hosts that no session has adopted. Nothing that they could say of their end helps anybody.
func (e *equipment) close() {
	for _, h := range e.offered {
		h.Close()
	}
	e.offered = nil
}
