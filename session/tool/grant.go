package tool

import (
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// Scope says how far a grant goes.
type Scope string

const (
	ToolScope   Scope = "tool"   // all calls of a tool
	PrefixScope Scope = "prefix" // commands that begin with some words
	FolderScope Scope = "folder" // edits below a folder
)

// Words lists all scopes.
func (Scope) Words() []string { return provider.Words(ToolScope, PrefixScope, FolderScope) }

// Grant is a person's standing answer to later calls, until the session ends or it is revoked: an approval, or a denial.
type Grant struct {
	ID     string   `json:"id"`
	Text   string   `json:"text"` // what it covers, for people
	Scope  Scope    `json:"scope"`
	Deny   bool     `json:"deny,omitempty"`   // the calls are denied without a question; false: they are approved
	Tool   string   `json:"tool"`             // the tool's name; a grant is always of one tool
	Prefix []string `json:"prefix,omitempty"` // words
	Folder string   `json:"folder,omitempty"` // absolute

	// Definition is that of the tool, see [Tool.Definition]: a tool with another one is another tool. Empty: the grant is of a
	// daemon that did not keep it, and the session's definition, which never changes, is meant.
	Definition string `json:"definition,omitempty"`
}

// AddTo returns a list with g added, unless it has the same answer to the same calls already. A denial replaces the approval of the same
// calls, and an approval the denial. The given list does not change.
func (g Grant) AddTo(list []Grant) []Grant {
	if slices.ContainsFunc(list, g.Same) {
		return list
	}
	opposite := g
	opposite.Deny = !g.Deny
	return append(slices.DeleteFunc(slices.Clone(list), opposite.Same), g)
}

// Same reports whether two grants are the same answer to the same calls.
func (g Grant) Same(other Grant) bool {
	return g.Deny == other.Deny && g.Scope == other.Scope && g.Tool == other.Tool && g.Definition == other.Definition && g.Folder == other.Folder && slices.Equal(g.Prefix, other.Prefix)
}
