package config

import (
	"encoding/json"
	"fmt"
)

// managed is what the file says of the vendor's own management of contexts, as JSON: a table with edits for the
// Messages API (docs: context-editing), an array of entries for Responses (docs: conversation-state). What they say
// beside their type is the vendor's to judge: it goes there word for word.
func (src *source) managed(key string, said any, api string) (json.RawMessage, error) {
	if said == nil {
		return nil, nil
	}
	var entries any
	switch api {
	case "messages":
		table, ok := said.(map[string]any)
		if !ok || table["edits"] == nil {
			return nil, src.errorf(key, `the Messages API wants a table such as { edits = [{ type = "clear_thinking_20251015" }] }`)
		}
		entries = table["edits"]
	case "responses":
		entries = said
	default:
		return nil, src.errorf(key, "only the APIs messages and responses have it, and this is %s", api)
	}
	list, ok := entries.([]any)
	for i, e := range list {
		entry, _ := e.(map[string]any)
		if kind, _ := entry["type"].(string); kind == "" {
			return nil, src.errorf(key, "entry %d has no type", i)
		}
	}
	if !ok || len(list) == 0 {
		return nil, src.errorf(key, `must be an array of tables such as { type = "..." }`)
	}
	text, err := json.Marshal(said)
	if err != nil { // a number that JSON has no word for
		return nil, src.errorf(key, "%w", fmt.Errorf("has no form in JSON: %w", err))
	}
	return text, nil
}

// maxExtra bounds what is merged into each request, in bytes of JSON.
const maxExtra = 64 << 10

// extra is what the file adds to each request, as JSON. The vendor judges it.
func (src *source) extra(key string, said map[string]any) (json.RawMessage, error) {
	if len(said) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(said)
	switch {
	case err != nil: // a number that JSON has no word for
		return nil, src.errorf(key, "%w", fmt.Errorf("has no form in JSON: %w", err))
	case len(text) > maxExtra:
		return nil, src.errorf(key, "has %d bytes of JSON; at most %d are allowed", len(text), maxExtra)
	}
	return text, nil
}
