package mcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/thinkd/thinkd/agent/tool/mcplogin"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
)

// Prompts makes it a [toolhost.Prompter].
func (h *Host) Prompts() []toolhost.Prompt {
	h.mu.Lock()
	l := h.link
	h.mu.Unlock()
	if l == nil || l.ended() {
		return nil
	}
	if list := l.prompts.Load(); list != nil {
		return *list
	}
	return nil
}

// Prompt makes it a [toolhost.Prompter]. What a prompt says as the model is text that says so: nobody else may write for the model.
func (h *Host) Prompt(ctx context.Context, name string, arguments map[string]string) (provider.Blocks, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	server := h.config.Server.Name
	l, err := h.connected(ctx)
	if err == nil {
		_, err = l.current(ctx)
	}
	var r *mcp.GetPromptResult
	if err == nil {
		r, err = l.session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: arguments})
	}
	if err != nil {
		if need, ok := errors.AsType[*mcplogin.NeededError](err); ok {
			return nil, fmt.Errorf("the server %s: %w", server, need)
		}
		if refused, ok := errors.AsType[*jsonrpc.Error](err); ok && refused.Code != undelivered {
			return nil, fmt.Errorf("the server %s refuses the prompt: %s", server, refused.Message)
		}
		h.config.Log.Warn("prompt of an mcp server", "server", server, "prompt", name, "err", err)
		return nil, fmt.Errorf("the server %s cannot be reached", server)
	}
	var blocks provider.Blocks
	size := 0
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			blocks = append(blocks, text("[as the assistant]"))
		}
		b := blockOf(m.Content)
		if t, ok := b.(provider.Text); ok {
			size += len(t.Text)
		}
		blocks = append(blocks, b)
	}
	switch {
	case len(blocks) == 0:
		return nil, fmt.Errorf("the prompt %s of the server %s is empty", name, server)
	case size > maxPromptBytes:
		return nil, fmt.Errorf("the prompt %s of the server %s is longer than %d bytes", name, server, maxPromptBytes)
	}
	return blocks, nil
}
