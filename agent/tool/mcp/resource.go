package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/thinkd/thinkd/provider"
)

// action is a request to a server that a tool stands for. The token is that of its progress.
type action func(ctx context.Context, server *mcp.ClientSession, input json.RawMessage, token string) (provider.ToolResult, error)

// callTool is the action of a tool of the server.
func callTool(name string) action {
	return func(ctx context.Context, server *mcp.ClientSession, input json.RawMessage, token string) (provider.ToolResult, error) {
		params := &mcp.CallToolParams{Name: name, Arguments: input}
		params.SetProgressToken(token)
		result, err := server.CallTool(ctx, params)
		if err != nil {
			return provider.ToolResult{}, err
		}
		return resultOf(result), nil
	}
}

// A resourceTool is a tool of ours for a server that has resources. Models can only call tools.
type resourceTool struct {
	mcp.Tool
	run action
}

// resourceTools has no types of its own for the schemas: the tools of servers come with the same ones.
func resourceTools() []resourceTool {
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	return []resourceTool{
		{mcp.Tool{Name: "list_resources", Title: "List resources", Annotations: readOnly,
			Description: "List the resources of this server (files, records and other data), and the templates of their addresses.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)}, listResources},
		{mcp.Tool{Name: "read_resource", Title: "Read a resource", Annotations: readOnly,
			Description: "Read a resource of this server by its address, as list_resources shows it, or as made from a template.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"uri":{"type":"string"}},"required":["uri"],"additionalProperties":false}`)}, readResource},
	}
}

// maxResources bounds a list, which could have pages without end.
const maxResources = 500

// listResources returns a line for each resource and each template.
func listResources(ctx context.Context, server *mcp.ClientSession, _ json.RawMessage, token string) (provider.ToolResult, error) {
	var b strings.Builder
	params := &mcp.ListResourcesParams{}
	params.SetProgressToken(token)
	err := collect(server.Resources(ctx, params), &b, func(r *mcp.Resource) string {
		return resourceLine(r.URI, r.Name, r.MIMEType, r.Description)
	})
	if err != nil {
		return provider.ToolResult{}, err
	}
	var templates strings.Builder
	err = collect(server.ResourceTemplates(ctx, nil), &templates, func(r *mcp.ResourceTemplate) string {
		return resourceLine(r.URITemplate, r.Name, r.MIMEType, r.Description)
	})
	if err != nil && ctx.Err() != nil {
		return provider.ToolResult{}, err
	}
	if err == nil && templates.Len() > 0 { // a server may not know the method
		b.WriteString("Templates:\n" + templates.String())
	}
	if b.Len() == 0 {
		b.WriteString("The server has no resources.")
	}
	return provider.ToolResult{Blocks: provider.Blocks{text("%s", strings.TrimSpace(b.String()))}}, nil
}

func collect[T any](all iter.Seq2[T, error], b *strings.Builder, line func(T) string) error {
	n := 0
	for r, err := range all {
		if err != nil {
			return err
		}
		if n++; n > maxResources {
			fmt.Fprintf(b, "… only the first %d are listed\n", maxResources)
			return nil
		}
		b.WriteString(line(r) + "\n")
	}
	return nil
}

func resourceLine(address, name, kind, description string) string {
	return strings.Join(strings.Fields(strings.Join([]string{address, name, kind, description}, " ")), " ")
}

// readResource returns a block for each part of a resource.
func readResource(ctx context.Context, server *mcp.ClientSession, input json.RawMessage, token string) (provider.ToolResult, error) {
	var in struct{ URI string }
	if err := json.Unmarshal(input, &in); err != nil {
		return provider.ToolResult{Failed: true, Blocks: provider.Blocks{text("uri: %v", err)}}, nil
	}
	params := &mcp.ReadResourceParams{URI: in.URI}
	params.SetProgressToken(token)
	r, err := server.ReadResource(ctx, params)
	if err != nil {
		return provider.ToolResult{}, err
	}
	result := provider.ToolResult{Blocks: provider.Blocks{}}
	for _, part := range r.Contents {
		result.Blocks = append(result.Blocks, blockOf(&mcp.EmbeddedResource{Resource: part}))
	}
	return result, nil
}
