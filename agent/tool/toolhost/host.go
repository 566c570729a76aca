package toolhost

import (
	"context"

	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session/tool"
)

// Host runs tools. It is safe for concurrent use: the calls of one reply run in parallel, and sessions share hosts.
type Host interface {
	// Name is unique among the hosts of a session. It stays the same over restarts, because the session's record has it.
	Name() string

	// Tools lists what new sessions get. Each tool has Name() as its Source. After an error, the session starts without
	// the tools of this host.
	Tools(ctx context.Context) ([]tool.Tool, error)

	// Run runs a call to its end. It reports every error as a result with Failed and a text that the model can use; the CallID
	// of the result may be empty. progress is never nil and never waits. It tells people what happens so far, and must not be
	// called after Run has returned. When ctx ends, because the turn was cancelled or took too long, Run ends what it started
	// and returns soon; its result is then ignored.
	Run(ctx context.Context, call provider.ToolCall, progress func(chunk string)) provider.ToolResult

	// Close ends whatever the host started, and waits for it. Calls that still run fail.
	Close() error
}

// Hinter is a [Host] whose server states the effects of its tools.
type Hinter interface {
	// TrustsHints reports whether the operator trusts these statements. If not, the effect of each tool counts as unknown.
	TrustsHints() bool
}

// Examiner is a [Host] that looks at the arguments of a call before anybody decides on it.
type Examiner interface {
	// Examine changes nothing. It runs before every call, and returns soon after ctx ends.
	Examine(ctx context.Context, t tool.Tool, call provider.ToolCall) approval.Concern
}

// Inspector is a [Host] that knows more about a call than its arguments show: what an edit changes, or in which folder a command
// works.
type Inspector interface {
	// Inspect returns what a call would do. It changes nothing, and runs only before a question. It leaves out what it cannot
	// find out: people then see the arguments, and can grant only the whole tool. It returns soon after ctx ends.
	Inspect(ctx context.Context, call provider.ToolCall) approval.Inspection
}

// Prompter is a [Host] whose server has prompts, which people choose by name.
type Prompter interface {
	// Prompts lists those of a server that runs, as it listed them last. It waits for nothing.
	Prompts() []Prompt

	// Prompt returns what a prompt says with these arguments. It starts the server if necessary. Its errors are for people.
	Prompt(ctx context.Context, name string, arguments map[string]string) (provider.Blocks, error)
}

// Prompt describes a prompt of a server.
type Prompt struct {
	Name        string // without white space
	Description string
	Arguments   []Argument
}

// Argument is a text that a prompt takes.
type Argument struct {
	Name     string
	Required bool
}
