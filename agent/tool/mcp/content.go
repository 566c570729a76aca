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
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session/tool"
)

// listing is the tools that a server offers.
type listing struct {
	tools []tool.Tool
	names map[string]string // the server's names, by ours
}

// defines reports whether the server has a tool with the same definition, or none of that name: a call reports a missing tool.
func (l listing) defines(t tool.Tool) bool {
	i := slices.IndexFunc(l.tools, func(now tool.Tool) bool { return now.Name == t.Name })
	return i < 0 || l.tools[i].Definition() == t.Definition()
}

// list asks a server for its tools, and finds names for them.
func list(ctx context.Context, session *mcp.ClientSession, c Config) (listing, error) {
	server, log := c.Server, c.Log
	var tools []tool.Tool
	names := make(map[string]string)
	if caps := session.InitializeResult().Capabilities; caps == nil || caps.Tools == nil {
		return listing{nil, names}, nil
	}
	offered := 0
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return listing{}, fmt.Errorf("its tools: %w", err)
		}
		if offered++; offered > maxTools {
			return listing{}, fmt.Errorf("it offers more than %d tools", maxTools)
		}
		if len(server.Tools) > 0 && !slices.Contains(server.Tools, t.Name) {
			continue
		}
		ours := nameOf(server.Name, t.Name)
		if _, twice := names[ours]; twice {
			log.Warn("a tool of an mcp server is ignored: its name exists already", "server", server.Name, "tool", t.Name)
			continue
		}
		made, err := toolOf(ours, c.Name, t, server.TrustHints)
		if err != nil {
			log.Warn("a tool of an mcp server is ignored", "server", server.Name, "tool", t.Name, "err", err)
			continue
		}
		names[ours] = t.Name
		tools = append(tools, made)
	}
	return listing{tools, names}, nil
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

// resultOf is a server's result in blocks.
func resultOf(r *mcp.CallToolResult) provider.ToolResult {
	result := provider.ToolResult{Blocks: provider.Blocks{}, Failed: r.IsError}
	for _, c := range r.Content {
		result.Blocks = append(result.Blocks, blockOf(c))
	}
	if len(result.Blocks) == 0 && r.StructuredContent != nil { // the specification wants it as text too, and some servers leave that out
		if text, err := json.Marshal(r.StructuredContent); err == nil {
			result.Blocks = append(result.Blocks, provider.Text{Text: string(text)})
		}
	}
	return result
}

func blockOf(c mcp.Content) provider.Block {
	switch c := c.(type) {
	case *mcp.TextContent:
		return text("%s", c.Text)
	case *mcp.ImageContent:
		return media(c.MIMEType, c.Data)
	case *mcp.AudioContent:
		return media(c.MIMEType, c.Data)
	case *mcp.ResourceLink:
		return text("[a resource: %s] %s", strings.TrimSpace(c.Name+" "+c.MIMEType), c.URI)
	case *mcp.EmbeddedResource:
		switch r := c.Resource; {
		case r == nil:
			return text("[a resource without content]")
		case r.Blob != nil:
			return media(r.MIMEType, r.Blob)
		default:
			return text("[%s]\n%s", r.URI, r.Text)
		}
	}
	return text("[content of a kind that is not known here]")
}

// media is data as a block. Data without a type cannot be shown.
func media(kind string, data []byte) provider.Block {
	if kind == "" || len(data) == 0 {
		return text("[%d bytes of data without a type]", len(data))
	}
	return provider.Media{Type: kind, Data: data}
}

func text(format string, args ...any) provider.Text {
	return provider.Text{Text: strings.ToValidUTF8(fmt.Sprintf(format, args...), "\uFFFD")}
}
