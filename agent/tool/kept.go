package tool

import "github.com/thinkd/thinkd/session/tool"

// The types that a session's log stores are defined in session/tool: the log does not import the code that runs tools. These
// aliases let the code that runs tools import one package.
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
