package replay

import "github.com/thinkd/thinkd/provider"

// What stands where an API wants something and there is nothing.
const (
	Unanswered = "interrupted before a result came"
	Between    = "(interrupted)"             // between results and a prompt, for models that refuse both in one turn
	Opening    = "(the conversation so far)" // before an answer that would begin the conversation
)

// Following are the results before the next answer, by the ids of their calls.
func Following(list []provider.Message) map[string][]provider.ToolResult {
	found := map[string][]provider.ToolResult{}
	for _, m := range list {
		if m.Role == provider.Assistant {
			break
		}
		for _, b := range m.Blocks {
			if r, ok := b.(provider.ToolResult); ok {
				found[r.CallID] = append(found[r.CallID], r)
			}
		}
	}
	return found
}

// ResultOf takes the next result of a call out of those that were found. A call without one failed.
func ResultOf(found map[string][]provider.ToolResult, call string) provider.ToolResult {
	list := found[call]
	if len(list) == 0 {
		return provider.ToolResult{CallID: call, Failed: true, Blocks: provider.Blocks{provider.Text{Text: Unanswered}}}
	}
	found[call] = list[1:]
	return list[0]
}
