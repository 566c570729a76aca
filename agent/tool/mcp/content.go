package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/thinkd/thinkd/provider"
)

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
