package agent

import "github.com/thinkd/thinkd/provider"

// maxSame is how often a turn may make the same tool call in a row: a model that gets the same answer once more goes
// on asking.
const maxSame = 3

// limitRepetition is how turn_end names it.
const limitRepetition = "repetition"

// repeated takes note of a tool call.
func (r *turn) repeated(call provider.ToolCall) {
	as := call.Name + "\x00" + string(call.Input) + call.Invalid
	if as != r.lastTool {
		r.lastTool, r.same = as, 0
	}
	r.same++
}
