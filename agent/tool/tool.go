// Package tool defines tools: what they are, who runs them, and whether a call may run.
//
// A [Tool] is a definition for the model, with its host. A [Host] runs calls: an MCP server, or the daemon itself. Tools of a client have
// no Host: the agent publishes the call and waits for the client's result. A [Policy] decides whether a call runs, waits for a
// person, or is denied.
//
// Guarantees: a Host gets only calls whose arguments are complete and pass [Check], each call once. A denied call never reaches it.
package tool

import (
	"context"

	"github.com/thinkd/thinkd/provider"
)

// Host runs tools. It is safe for concurrent use: the calls of one reply run side by side, and sessions share hosts.
type Host interface {
	// Name tells the host from all others of its session. It stays the same over restarts, since the session's
	// record names it.
	Name() string

	// Tools lists what new sessions get: each with Host, and with Name() as its Source. A host that cannot be asked
	// is an error, and the session begins without its tools.
	Tools(ctx context.Context) ([]Tool, error)

	// Run runs a call to its end. Whatever goes wrong is a result that has Failed and says so in words that the model
	// can use; its CallID may be empty. progress, never nil, tells people what happens meanwhile; it never waits, and
	// is not called after Run has returned. When ctx ends (the turn was cancelled, or took too long), Run ends what it
	// started and returns soon; its result is not used then.
	Run(ctx context.Context, call provider.ToolCall, progress func(chunk string)) provider.ToolResult

	// Close ends whatever the host started, and waits for it. Calls that still run fail.
	Close() error
}

// Hinter is a [Host] of a server that says itself what its tools do.
type Hinter interface {
	// TrustsHints reports whether the operator believes the server.
	TrustsHints() bool
}

// Failed is a result that tells a model what went wrong.
func Failed(callID, text string) provider.ToolResult {
	return provider.ToolResult{CallID: callID, Failed: true, Blocks: provider.Blocks{provider.Text{Text: text}}}
}
