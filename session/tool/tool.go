// Package tool defines what the log of a session keeps of tools: the definitions that a session was made with, the rules
// of its client, the mode that people have chosen, and the grants that they gave.
//
// These are values. The packages below agent/tool decide on calls and run them. The log does not import these, so a program that
// only reads sessions links no shell parser and no JSON-schema library.
//
// Inside the package, files depend in one direction: grant and word, tool, policy.
package tool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// Kind says who runs a tool.
type Kind string

const (
	Client  Kind = "client"  // the client that gave its definition, or another client of the session
	MCP     Kind = "mcp"     // a server of the Model Context Protocol
	Builtin Kind = "builtin" // the daemon
)

// Words lists all kinds.
func (Kind) Words() []string { return provider.Words(Client, MCP, Builtin) }

// Effect is what a tool does to the world, as far as its host says.
type Effect string

const (
	Read  Effect = "read"  // looks, and changes nothing
	Edit  Effect = "edit"  // changes files or other data
	Run   Effect = "run"   // runs programs
	Other Effect = "other" // anything, or not known
)

// Words lists all effects.
func (Effect) Words() []string { return provider.Words(Read, Edit, Run, Other) }

// UnmarshalText reads an effect as configs and clients write it.
func (e *Effect) UnmarshalText(text []byte) (err error) {
	*e, err = readWord[Effect](text)
	return err
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

// Definition is a sum of all that a model gets of a tool, equal for equal definitions however their schemas are written.
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

// Server is the name of the MCP server that runs the tool, empty if none does. The Source of such a tool ends in it, behind
// a colon.
func (t Tool) Server() string {
	if t.Host != MCP {
		return ""
	}
	return t.Source[strings.LastIndexByte(t.Source, ':')+1:]
}

// Wish says in one sentence what a model asks for. It has no word of the server that the tool is of, except for names of
// which the characters are known.
func (t Tool) Wish(model string) string {
	switch {
	case t.Host == MCP:
		name := t.Name
		if server := t.Server(); server != "" {
			name = strings.TrimPrefix(name, server+"__")
		}
		return fmt.Sprintf("%s wants to use %s of the server %q.", model, name, t.Server())
	case t.Host == Client:
		return fmt.Sprintf("%s wants to use %s, which a client runs.", model, t.Name)
	case t.Effect == Run:
		return model + " wants to run a command."
	case t.Name == "edit_file":
		return model + " wants to edit a file."
	case t.Name == "write_file":
		return model + " wants to write a file."
	case t.Name == "read_file":
		return model + " wants to read a file."
	}
	return fmt.Sprintf("%s wants to use %s.", model, t.Name)
}

// CheckName returns what is wrong with the name of a tool, or nil.
func CheckName(name string) error {
	if !provider.ValidToolName(name) {
		return fmt.Errorf("a tool's name is 1 to %d letters, digits, _ and -, and begins with a letter or _", provider.MaxToolName)
	}
	return nil
}

// Failed returns a result that tells the model what went wrong.
func Failed(callID, text string) provider.ToolResult {
	return provider.ToolResult{CallID: callID, Failed: true, Blocks: provider.Blocks{provider.Text{Text: text}}}
}
