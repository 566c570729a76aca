package tool

import "github.com/thinkd/thinkd/session/tool"

// What the log of a session keeps of tools is defined in session/tool, so that the log needs nothing of what runs them. The
// names are here as well: whoever runs tools needs one package.
type (
	Tool   = tool.Tool
	Kind   = tool.Kind
	Effect = tool.Effect
	Policy = tool.Policy
	Rule   = tool.Rule
	Mode   = tool.Mode
	Grant  = tool.Grant
	Scope  = tool.Scope
)

const (
	Client  = tool.Client
	MCP     = tool.MCP
	Builtin = tool.Builtin

	Read  = tool.Read
	Edit  = tool.Edit
	Run   = tool.Run
	Other = tool.Other

	Allow = tool.Allow
	Ask   = tool.Ask
	Deny  = tool.Deny

	ModeAsk  = tool.ModeAsk
	ModeEdit = tool.ModeEdit
	ModeRead = tool.ModeRead

	ToolScope   = tool.ToolScope
	PrefixScope = tool.PrefixScope
	FolderScope = tool.FolderScope
)
