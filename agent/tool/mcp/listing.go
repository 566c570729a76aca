package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/thinkd/thinkd/agent/tool/arguments"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session/tool"
)

// listing is the tools that a server offers.
type listing struct {
	tools   []tool.Tool
	prompts []toolhost.Prompt
	actions map[string]action // what a call asks of the server, by our names; nil: nothing was listed yet
}

// defines reports whether the server has a tool with the same definition, or none of that name: a call reports a missing tool.
func (l listing) defines(t tool.Tool) bool {
	i := slices.IndexFunc(l.tools, func(now tool.Tool) bool { return now.Name == t.Name })
	return i < 0 || l.tools[i].Definition() == t.Definition()
}

// list asks a server for its tools, and finds names for them.
func list(ctx context.Context, session *mcp.ClientSession, c Config) (listing, error) {
	l := listing{actions: make(map[string]action)}
	caps := session.InitializeResult().Capabilities
	if caps == nil {
		return l, nil
	}
	if caps.Tools != nil {
		offered := 0
		for t, err := range session.Tools(ctx, nil) {
			if err != nil {
				return listing{}, fmt.Errorf("its tools: %w", err)
			}
			if offered++; offered > maxTools {
				return listing{}, fmt.Errorf("it offers more than %d tools", maxTools)
			}
			l.add(c, t, callTool(t.Name))
		}
	}
	if caps.Resources != nil {
		for _, t := range resourceTools() {
			l.add(c, &t.Tool, t.run)
		}
	}
	if caps.Prompts != nil {
		var err error
		if l.prompts, err = listPrompts(ctx, session); err != nil {
			c.Log.Warn("the prompts of an mcp server are ignored", "server", c.Server.Name, "err", err)
		}
	}
	return l, nil
}

// add adds a tool if the config names it and every vendor accepts it.
func (l *listing) add(c Config, t *mcp.Tool, run action) {
	if len(c.Server.Tools) > 0 && !slices.Contains(c.Server.Tools, t.Name) {
		return
	}
	log := c.Log.With("server", c.Server.Name, "tool", t.Name)
	ours := nameOf(c.Server.Name, t.Name)
	if l.actions[ours] != nil {
		log.Warn("a tool of an mcp server is ignored: its name exists already")
		return
	}
	made, err := toolOf(ours, c.Name, t, c.Server.TrustHints)
	if err != nil {
		log.Warn("a tool of an mcp server is ignored", "err", err)
		return
	}
	l.actions[ours] = run
	l.tools = append(l.tools, made)
}

// maxTools bounds the list of a server, which could have pages without end.
const maxTools = 1000

// maxDescription is in bytes. It is small, because the descriptions are a part of every model call.
const maxDescription = 16 << 10

// toolOf is a tool of a server. The server may lie in its hints (specification: tools, "untrusted unless they come from trusted
// servers"), so they decide on the effect only if the operator trusts them.
func toolOf(name, source string, t *mcp.Tool, trusted bool) (tool.Tool, error) {
	text, err := json.Marshal(t.InputSchema)
	if err != nil {
		return tool.Tool{}, err
	}
	if err := arguments.CheckSchema(text); err != nil {
		return tool.Tool{}, fmt.Errorf("its schema %w", err)
	}
	var schema bytes.Buffer
	if err := json.Compact(&schema, text); err != nil {
		return tool.Tool{}, err
	}
	if len(t.Description) > maxDescription {
		return tool.Tool{}, fmt.Errorf("its description is longer than %d bytes", maxDescription)
	}
	made := tool.Tool{Tool: provider.Tool{Name: name, Description: t.Description, Schema: schema.Bytes()},
		Host: tool.MCP, Source: source, Title: t.Title, Effect: tool.Other}
	if a := t.Annotations; a != nil {
		if made.Title == "" {
			made.Title = a.Title
		}
		switch {
		case !trusted:
		case a.ReadOnlyHint:
			made.Effect = tool.Read
		case a.DestructiveHint != nil && !*a.DestructiveHint: // it only adds
			made.Effect = tool.Edit
		}
	}
	return made, nil
}

var unfit = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_-]`) })

// nameOf is a name that every vendor accepts. A name that is too long or has other characters ends in a hash, so that two
// different names stay different.
func nameOf(server, name string) string {
	whole := server + "__" + name
	fit := unfit().ReplaceAllString(whole, "_")
	if fit == whole && len(fit) <= provider.MaxToolName {
		return fit
	}
	sum := sha256.Sum256([]byte(whole))
	mark := "_" + hex.EncodeToString(sum[:4])
	return fit[:min(len(fit), provider.MaxToolName-len(mark))] + mark
}

// Bounds of prompts.
const (
	maxPrompts     = 200
	maxPromptAbout = 1 << 10 // bytes of a description; the rest is left out
	maxPromptBytes = 1 << 20 // of the text of one prompt
)

// listPrompts asks a server for its prompts. Names with white space are left out, because people type them.
func listPrompts(ctx context.Context, session *mcp.ClientSession) (list []toolhost.Prompt, err error) {
	for p, err := range session.Prompts(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if len(list) == maxPrompts {
			return nil, fmt.Errorf("it offers more than %d prompts", maxPrompts)
		}
		if p.Name == "" || strings.ContainsFunc(p.Name, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			continue
		}
		prompt := toolhost.Prompt{Name: p.Name, Description: strings.ToValidUTF8(p.Description[:min(len(p.Description), maxPromptAbout)], "")}
		for _, a := range p.Arguments {
			prompt.Arguments = append(prompt.Arguments, toolhost.Argument{Name: a.Name, Required: a.Required})
		}
		list = append(list, prompt)
	}
	return list, nil
}
