// Package tool is what models can do beside speaking: tools, who runs them, and who may.
//
// A [Tool] is a definition that a model is told, with its host. A [Host] runs calls: an MCP server, or the daemon
// itself. Tools of a client have no Host: the agent tells the client of the call and waits for its word. A [Policy] says
// whether a call runs, waits for a person, or is refused.
//
// Guarantees: a Host is only ever given calls whose arguments are whole and pass [Check], each call once; what a
// policy refuses never reaches it.
package tool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/thinkd/thinkd/provider"
)

// Kind says who runs a tool.
type Kind string

const (
	Client  Kind = "client"  // whoever gave its definition, or another client of the session
	MCP     Kind = "mcp"     // a server of the Model Context Protocol
	Builtin Kind = "builtin" // the daemon
)

// Effect is what a tool does to the world, as far as its host says.
type Effect string

const (
	Read  Effect = "read"  // looks, and changes nothing
	Edit  Effect = "edit"  // changes files or other data
	Run   Effect = "run"   // runs programs
	Other Effect = "other" // anything, or not known
)

// UnmarshalText reads an effect as configs and clients write it.
func (e *Effect) UnmarshalText(text []byte) error {
	switch word := Effect(text); word {
	case Read, Edit, Run, Other:
		*e = word
		return nil
	}
	return fmt.Errorf("%q is not one of read, edit, run, other", text)
}

// Tool is a tool as a session has it: frozen in its record when the session is made, since vendors bind signed thinking
// to the definitions that it was thought with. Its Name is unique in a session, and one that every vendor takes
// ([CheckName]).
type Tool struct {
	provider.Tool
	Host   Kind   `json:"host"`
	Source string `json:"source,omitempty"` // the Name of its Host; empty for a client's
	Title  string `json:"title,omitempty"`  // for people; empty: its name will do
	Effect Effect `json:"effect,omitempty"` // empty: other
}

// Label is what people are shown of it.
func (t Tool) Label() string {
	if t.Title != "" {
		return t.Title
	}
	return t.Name
}

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

// Definition is a sum of all that a model is told of a tool, equal for equal definitions however their schemas are written.
func (t Tool) Definition() string {
	h := sha256.New()
	schema := []byte(t.Schema)
	var value any
	d := json.NewDecoder(bytes.NewReader(schema))
	d.UseNumber()
	if d.Decode(&value) == nil {
		if text, err := json.Marshal(value); err == nil {
			schema = text
		}
	}
	for _, part := range [][]byte{[]byte(t.Name), []byte(t.Description), schema} {
		fmt.Fprintf(h, "%d %s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Failed is a result that tells a model what went wrong.
func Failed(callID, text string) provider.ToolResult {
	return provider.ToolResult{CallID: callID, Failed: true, Blocks: provider.Blocks{provider.Text{Text: text}}}
}
