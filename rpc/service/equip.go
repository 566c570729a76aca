package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/tool/arguments"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/failure"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// Bounds of a session's tools: they travel with every call, and are in the session's record.
const (
	maxTools      = 128
	maxToolsBytes = 256 << 10
	maxServers    = 16
)

// Waits reports whether a new session has to wait for servers.
func (c Caller) Waits(p New) bool { return len(p.Servers) > 0 || c.config.Tools.Slow }

// MayHaveBuiltin reports whether the client may ask for the built-in tools.
func (c Caller) MayHaveBuiltin() bool {
	return c.OwnsMachine() && (c.SameUser || c.config.Tools.Builtin)
}

// MayOfferServers reports whether the client may offer servers of its own.
func (c Caller) MayOfferServers() bool {
	return c.OwnsMachine() && c.config.Tools.Offer != nil && (c.SameUser || c.config.Tools.FromClients)
}

// Equipment is the tools of a session that is being made, as far as they are not in its record.
type Equipment struct {
	caller  Caller
	offered []toolhost.Host // by its client, and nobody's yet
	missing []string        // what hosts that could not be asked are missing for, in words
}

// Equip gives a record its tools: the client's own, and those of hosts.
func (c Caller) Equip(ctx context.Context, p New, record *session.Session) (e *Equipment, err error) {
	e = &Equipment{caller: c}
	defer func() {
		if err != nil {
			e.Close()
		}
	}()
	asked := Choice{Builtin: c.config.Tools.Builtin && c.OwnsMachine()}
	if p.Tools != nil {
		asked = *p.Tools
		switch {
		case asked.Builtin && !c.OwnsMachine():
			return e, conn.InvalidParams("tools", "the built-in ones work on the machine of the daemon, which is not yours")
		case asked.Builtin && !c.MayHaveBuiltin():
			return e, conn.InvalidParams("tools", "the built-in ones are not for clients from the network, unless the operator's config says so")
		}
	}
	if record.Tools, err = ownTools(asked.Own, c.SameUser); err != nil {
		return e, err
	}
	if e.offered, err = c.Offered(p.Servers); err != nil {
		return e, err
	}
	hosts := slices.DeleteFunc(c.Sessions().Hosts(*record), func(h toolhost.Host) bool { return h.Name() == string(tool.Builtin) && !asked.Builtin })
	for _, a := range askHosts(ctx, append(hosts, e.offered...)) {
		switch {
		case a.err != nil && ctx.Err() != nil:
			return e, context.Cause(ctx)
		case a.err != nil && a.host.Name() == string(tool.Builtin) && p.Tools != nil:
			return e, conn.InvalidParams("cwd", "%v", a.err)
		case a.err != nil && a.host.Name() == string(tool.Builtin): // nobody asked for them here
			continue
		case a.err != nil: // the session is of use without them
			c.config.Log.Warn("a tool host cannot be reached", "host", a.host.Name(), "err", a.err)
			e.missing = append(e.missing, c.unreachable(a))
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
	c.instruct(record)
	return e, nil
}

// instruct gives a record the instructions of its project. Only sessions with the built-in tools have them: the others do not work on
// the project. A client from the network could read files with them that are not meant for it.
func (c Caller) instruct(record *session.Session) {
	find := c.config.Tools.Instructions
	working := slices.ContainsFunc(record.Tools, func(t tool.Tool) bool { return t.Host == tool.Builtin })
	if find == nil || !c.OwnsMachine() || record.CWD == "" || !working || !c.SameUser && !c.config.Tools.Instructed {
		return
	}
	found, err := failure.Guard(func() (session.Instructions, error) { return find(record.CWD) })
	if err != nil {
		c.config.Log.Warn("the instructions of a project cannot be read", "err", err)
		return
	}
	record.Instructions = found
}

// ownTools are those that clients run. Their effects are as their client declares them, except that no client from the
// network can declare that a tool only reads: such tools run in all modes.
func ownTools(own []tool.Tool, sameUser bool) (tools []tool.Tool, err error) {
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
		if len(t.Schema) == 0 {
			t.Schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		if err := arguments.CheckSchema(t.Schema); err != nil {
			return nil, conn.InvalidParams(at("input_schema"), "%v", err)
		}
		var schema bytes.Buffer
		if err := json.Compact(&schema, t.Schema); err != nil {
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

// Offered makes hosts of a client's servers. A server may be any program, so it is taken only from a client that could start it
// without us, unless the operator says otherwise.
func (c Caller) Offered(list []toolhost.Server) (hosts []toolhost.Host, err error) {
	switch {
	case len(list) == 0:
		return nil, nil
	case !c.OwnsMachine():
		return nil, conn.InvalidParams("mcp_servers", "are not taken from users; the operator can share servers with mcp_servers under [auth] in the config")
	case !c.MayOfferServers():
		return nil, conn.InvalidParams("mcp_servers", "are not taken from clients from the network, unless the operator's config says so")
	case len(list) > maxServers:
		return nil, conn.InvalidParams("mcp_servers", "are more than %d", maxServers)
	}
	for i, s := range list {
		if wrong, ok := errors.AsType[*toolhost.ServerError](s.Check()); ok {
			return nil, conn.InvalidParams(fmt.Sprintf("mcp_servers.%d.%s", i, wrong.Member), "%v", wrong.Err)
		}
		if slices.ContainsFunc(list[:i], func(before toolhost.Server) bool { return before.Name == s.Name }) {
			return nil, conn.InvalidParams(fmt.Sprintf("mcp_servers.%d.name", i), "%s is there twice", s.Name)
		}
	}
	for _, s := range list {
		hosts = append(hosts, c.config.Tools.Offer(s))
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

// unreachable says which host could not be asked. The reason can name a program or an address, so only the daemon's own user sees it.
func (c Caller) unreachable(a hostAnswer) string {
	name := a.host.Name()
	if _, own, kind := strings.Cut(name, ":"); kind { // who named the server is of no use to a person
		name = own
	}
	text := "this session has no tools of " + name
	if !c.SameUser {
		return text + "; see the daemon's log"
	}
	return text + ": " + wire.Characters(strings.Join(strings.Fields(a.err.Error()), " "), maxReason)
}

// maxReason is the most of an error that a client sees, in characters.
const maxReason = 400

// Adopt gives the offered hosts to a session that is made.
func (e *Equipment) Adopt(id session.ID) {
	if len(e.offered) > 0 {
		e.caller.config.Tools.Adopt(id, e.offered)
		e.offered = nil
	}
}

// Tell publishes which hosts could not be reached, to the clients that follow the session by then.
func (e *Equipment) Tell(ctx context.Context, id session.ID) error {
	for _, why := range e.missing {
		_, err := OnAgent(ctx, e.caller, id, func(a *agent.Agent) (method.Nothing, error) {
			return method.Nothing{}, a.ToolsMissing(ctx, why)
		})
		if err != nil && !errors.Is(err, session.ErrNotFound) { // it may be deleted already
			return err
		}
	}
	e.missing = nil
	return nil
}

// Close ends the hosts that no session has adopted. Their errors are of no use to anyone.
func (e *Equipment) Close() {
	for _, h := range e.offered {
		h.Close()
	}
	e.offered = nil
}
