package sim

import (
	"maps"
	"slices"

	"github.com/thinkd/thinkd/provider/sim/schema"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// Force makes the answer call the tool of q.Tools that tool_choice demands, with an input that fits its schema. The name "*"
// stands for the alphabetically first tool. An empty name forces nothing.
func (q *Ask) Force(name string) {
	if name == "" || len(q.Tools) == 0 {
		return
	}
	if name == "*" {
		name = slices.Min(slices.Collect(maps.Keys(q.Tools)))
	}
	input := strict.AppendCanonical(nil, schema.Example(q.Tools[name], newWriter(q.Seed, q.Prompt).topic))
	q.call = &Part{Kind: Call, Name: name, Input: input}
}
