package sim

import (
	"maps"
	"slices"

	"github.com/thinkd/thinkd/provider/sim/strict"
)

// Force makes the answer call the tool that tool_choice demands, with an input that fits its schema. tools has the schemas by
// name. The name "*" stands for the alphabetically first tool. An empty name forces nothing.
func (q *Ask) Force(name string, tools map[string]map[string]any) {
	if name == "" || len(tools) == 0 {
		return
	}
	if name == "*" {
		name = slices.Min(slices.Collect(maps.Keys(tools)))
	}
	input := strict.AppendCanonical(nil, newWriter(q.Seed, q.Prompt).example(tools[name], 0))
	q.call = &Part{Kind: Call, Name: name, Input: input}
}
