package gemini

import (
	"encoding/json"

	"github.com/thinkd/thinkd/provider/sim"
)

// ran has the parts of a tool that the vendor runs: its call and its result, or none if the client does not see them. A search has its query.
func (c *call) ran(p sim.Part, id string) (parts []map[string]any, query string) {
	var asked map[string]any
	if json.Unmarshal(p.Input, &asked) != nil {
		asked = map[string]any{}
	}
	var call, result map[string]any
	switch {
	case p.Name == "code_execution":
		code := map[string]any{"language": "PYTHON", "code": asked["code"]}
		out := map[string]any{"outcome": "OUTCOME_OK", "output": "42\n"}
		if c.model.signs {
			code["id"], out["id"] = id, id
		}
		call, result = map[string]any{"executableCode": code}, map[string]any{"codeExecutionResult": out}
	default:
		query, _ = asked["query"].(string)
		if !c.exposes {
			return nil, query
		}
		call = map[string]any{"toolCall": map[string]any{"id": id, "toolType": "GOOGLE_SEARCH_WEB", "args": map[string]any{"queries": []any{query}}}}
		result = map[string]any{"toolResponse": map[string]any{"id": id, "toolType": "GOOGLE_SEARCH_WEB", "response": map[string]any{"search_suggestions": "the simulator"}}}
	}
	if c.model.signs {
		call, result = c.signed(call), c.signed(result)
	}
	return []map[string]any{call, result}, query
}

// searched is the metadata of the searches, which come with the end of the text. [docs: google-search]
func searched(asked []string) map[string]any {
	queries := []any{}
	for _, q := range asked {
		queries = append(queries, q)
	}
	return map[string]any{"webSearchQueries": queries, "groundingChunks": []any{map[string]any{"web": map[string]any{"uri": "https://example.com/simulator", "title": "The simulator"}}},
		"searchEntryPoint": map[string]any{"renderedContent": "<div></div>"}}
}
