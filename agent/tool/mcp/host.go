package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/agent/tool/mcplogin"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session/tool"
)

// Host runs the tools of one server. It implements [toolhost.Host].
type Host struct {
	config Config
	ctx    context.Context // ends with Close
	stop   context.CancelFunc
	links  sync.WaitGroup // a goroutine for each link

	mu     sync.Mutex
	link   *link // the last one; nil: the server was not needed yet
	closed bool
}

// New returns a host. It starts nothing. The caller must call Close.
func New(c Config) *Host {
	h := &Host{config: c}
	h.ctx, h.stop = context.WithCancel(context.Background())
	return h
}

// Name is that of the Config.
func (h *Host) Name() string { return h.config.Name }

// TrustsHints reports whether the operator trusts the server's statements about its tools.
func (h *Host) TrustsHints() bool { return h.config.Server.TrustHints }

// Examine compares the definition of a tool in the session, which people approved, with the server's current one. If the server
// cannot be asked, there is no concern, and the call fails.
func (h *Host) Examine(ctx context.Context, t tool.Tool, _ provider.ToolCall) approval.Concern {
	l, err := h.connected(ctx)
	if err != nil {
		return approval.Concern{}
	}
	if now, err := l.current(ctx); err != nil || now.defines(t) {
		return approval.Concern{}
	}
	return approval.Concern{Danger: approval.Changed, Place: t.Definition(),
		Why: fmt.Sprintf("the server %s has changed the definition of this tool since the session began", h.config.Server.Name)}
}

var errClosed = errors.New("the host is closed")

// connected is a link that is up, a new one if the last has ended.
func (h *Host) connected(ctx context.Context) (*link, error) {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, errClosed
	}
	l := h.link
	if l == nil || l.ended() {
		l = newLink(h.ctx, h.config)
		h.link = l
		h.links.Go(func() { l.run(h.ctx, &h.links) }) // ends with the server, with Rest or with Close, which waits
	}
	h.mu.Unlock()
	select {
	case <-l.ready:
		return l, l.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Tools lists those of the server's tools that the config names and every vendor accepts. It starts the server if necessary.
func (h *Host) Tools(ctx context.Context) ([]tool.Tool, error) {
	l, err := h.connected(ctx)
	if err != nil {
		return nil, err
	}
	now, err := l.current(ctx)
	return now.tools, err
}

// Run calls a tool of the server. It starts the server if necessary.
func (h *Host) Run(ctx context.Context, call provider.ToolCall, progress func(string)) provider.ToolResult {
	result, err := h.call(ctx, call, progress)
	if errors.Is(err, mcp.ErrSessionMissing) { // it does not know us any more, so it has not run the call
		result, err = h.call(ctx, call, progress)
	}
	if err == nil {
		result.CallID = call.ID
		return result
	}
	if refused, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return tool.Failed(call.ID, refused.Message)
	}
	if ctx.Err() == nil {
		h.config.Log.Warn("call of an mcp server", "server", h.config.Server.Name, "tool", call.Name, "err", err)
	}
	name := h.config.Server.Name
	if need, ok := errors.AsType[*mcplogin.NeededError](err); ok {
		return tool.Failed(call.ID, fmt.Sprintf("the server %s cannot be used, and the call was not run: %v", name, need))
	}
	switch {
	case errors.Is(err, errUnknown):
		return tool.Failed(call.ID, fmt.Sprintf("the server %s has no such tool any more", name))
	case errors.Is(err, errChanged):
		return tool.Failed(call.ID, fmt.Sprintf("the server %s has changed this tool since the call was allowed, so it was not run", name))
	case errors.Is(err, errBroken):
		return tool.Failed(call.ID, fmt.Sprintf("the server %s ended while it ran this call, which may have done part of its work or all of it; it is started again for the next call", name))
	}
	return tool.Failed(call.ID, fmt.Sprintf("the server %s cannot be reached; the call was not run", name))
}

var (
	errUnknown = errors.New("the server has no such tool")
	errChanged = errors.New("the server defines the tool otherwise")
)

func (h *Host) call(ctx context.Context, call provider.ToolCall, progress func(string)) (provider.ToolResult, error) {
	l, err := h.connected(ctx)
	if err != nil {
		return provider.ToolResult{}, err
	}
	now, err := l.current(ctx)
	if err != nil {
		return provider.ToolResult{}, err
	}
	run := now.actions[call.Name]
	if run == nil {
		return provider.ToolResult{}, errUnknown
	}
	if d := approval.DecisionOn(ctx); d.Tool.Name != "" && d.Concern.Danger != approval.Changed && !now.defines(d.Tool) {
		return provider.ToolResult{}, errChanged // since the decision
	}
	return l.call(ctx, run, call.Input, progress)
}

// Rest stops the server until it is needed again. It does not wait for the end.
func (h *Host) Rest() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.link != nil {
		h.link.stop()
	}
}

// Close stops the server, and waits for its end.
func (h *Host) Close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.stop()
	h.links.Wait()
	return nil
}
