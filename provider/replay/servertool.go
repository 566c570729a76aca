package replay

import (
	"encoding/json"
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// ServerTools is a conversation in which the work of vendors' tools is as an API takes it. own reports whether a state goes back
// unchanged. Other work stands in the conversation as a sentence, the same each time. What vendors refuse is left out: a call that has
// no result although the conversation went on, and a result without its call. foreign counts the results that go as text. It is for
// adapters.
func ServerTools(list []provider.Message, own func(provider.State) bool) (shown []provider.Message, foreign int) {
	if !slices.ContainsFunc(list, func(m provider.Message) bool { return slices.ContainsFunc(m.Blocks, isServerTool) }) {
		return list, 0
	}
	inputs, open := pairs(list)
	shown = slices.Clone(list)
	for i, m := range list {
		if !slices.ContainsFunc(m.Blocks, isServerTool) {
			continue
		}
		shown[i].Blocks = nil
		for j, b := range m.Blocks {
			tool, ok := b.(provider.ServerTool)
			_, called := inputs[tool.ID]
			switch {
			case !ok:
			case own(tool.State):
				if open[place{i, j}] || !called {
					continue
				}
			case !tool.Done:
				continue // its result says it
			default:
				foreign++
				b = provider.Text{Text: tool.Plain(inputs[tool.ID])}
			}
			shown[i].Blocks = append(shown[i].Blocks, b)
		}
	}
	return shown, foreign
}

func isServerTool(b provider.Block) bool {
	_, ok := b.(provider.ServerTool)
	return ok
}

// place is that of a block: the message, and the block in it.
type place struct{ message, block int }

// pairs has the arguments of all calls by id, and the calls that have no result and get none. A call may still get one if nothing
// follows its message except results of other tools: the vendor goes on with it.
func pairs(list []provider.Message) (inputs map[string]json.RawMessage, open map[place]bool) {
	inputs, open = map[string]json.RawMessage{}, map[place]bool{}
	waiting := map[string]place{}
	last := 0
	for i, m := range list {
		if m.Role == provider.Assistant {
			last = i
		} else if slices.ContainsFunc(m.Blocks, func(b provider.Block) bool { return provider.KindOf(b) != provider.KindToolResult }) {
			for _, at := range waiting {
				open[at] = true
			}
			clear(waiting)
		}
		for j, b := range m.Blocks {
			tool, ok := b.(provider.ServerTool)
			if !ok {
				continue
			}
			if len(tool.Input) > 0 || !tool.Done {
				inputs[tool.ID] = tool.Input
				waiting[tool.ID] = place{i, j}
			}
			if tool.Done {
				delete(waiting, tool.ID)
			}
		}
	}
	for _, at := range waiting {
		if at.message != last {
			open[at] = true
		}
	}
	return inputs, open
}

// ForeignTools tells of work of other vendors' tools that goes as text, if there is any.
func ForeignTools(foreign int) []provider.Notice {
	if foreign == 0 {
		return nil
	}
	return []provider.Notice{{Kind: provider.NoticeToolsAsText, Text: "results of another vendor's tools are sent as text"}}
}
