package responses

import (
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
)

// item is one item of the input, with its place and its kind.
type item struct {
	path string // input[3]
	kind string
	id   string
	m    map[string]any
}

// role returns the role of a message; empty: the item is no message.
func (i item) role() string {
	if i.kind != "message" {
		return ""
	}
	role, _ := i.m["role"].(string)
	return role
}

// output reports whether an item is part of an answer.
func (i item) output() bool {
	switch i.kind {
	case "message":
		return i.role() == "assistant"
	case "function_call_output", "custom_tool_call_output", "configuration_update":
		return false
	}
	return true
}

func (i item) called() bool {
	return i.kind == "function_call" || i.kind == "custom_tool_call"
}

// answers reports whether an item is the result of a call.
func (i item) answers() bool {
	return i.kind == "function_call_output" || i.kind == "custom_tool_call_output"
}

func (i item) text(member string) string {
	s, _ := i.m[member].(string)
	return s
}

// call is a checked request for a response. It has only what the answer needs.
type call struct {
	door    door
	account string
	vision  bool // the header that Copilot requires for images

	model     *model
	name      string // of the model, as in the answer
	stream    bool
	plain     bool   // no padding in deltas
	effort    string // the effort in effect
	summary   bool
	sealed    bool // the request asks for encrypted content
	sources   bool // and for the pages of searches
	outputs   bool // and for what programs printed
	context   string
	maxOutput int // 0: the model's
	tools     map[string]map[string]any
	force     string // a tool that must be called; "*": any
	items     []item

	trigger int  // the number of tokens that starts a compaction; 0: never
	news    bool // there is an item after the last compaction
	due     bool // this answer begins with a compaction

	tokens  int // input
	prompt  sim.Prefixes
	cached  sim.CacheCount
	removed []any // reasoning that the model does not get
	ask     sim.Ask
}

// sealedPrefix is the beginning of all encrypted content.
const sealedPrefix = "gAAAAA"

func (c *call) noEffort(param, effort string) error {
	list := "'" + strings.Join(c.model.efforts, "', '") + "'"
	return unfit(param, "unsupported_value", "Unsupported value: '%s' is not supported with the '%s' model. Supported values are: %s.", effort, c.name, list)
}
