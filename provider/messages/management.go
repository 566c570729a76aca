package messages

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// Betas of the server's own changes of a context (docs: api/beta-headers, context-editing, compaction).
const (
	betaEdits        = "context-management-2025-06-27"
	betaCompact      = "compact-2026-01-12"
	betaCompactLater = "compact-2026-09-04"
)

// managed is the context_management of a request; nil: none.
func (a *API) managed(req *provider.Request, t *thinking) json.RawMessage {
	if req.Whole || a.host.Betas != nil {
		return nil // the host takes none of the betas that the edits need
	}
	if t != nil && t.Type == "disabled" {
		return withoutClearing(a.caller.Context)
	}
	return a.caller.Context
}

// withoutClearing leaves the edits out that clear thinking: they are refused while thinking is off ("strategy requires `thinking` to
// be enabled or adaptive").
func withoutClearing(management json.RawMessage) json.RawMessage {
	var kept []json.RawMessage
	all := gjson.GetBytes(management, "edits").Array()
	for _, edit := range all {
		if !strings.HasPrefix(edit.Get("type").Str, "clear_thinking_") {
			kept = append(kept, json.RawMessage(edit.Raw))
		}
	}
	if len(kept) == len(all) {
		return management
	}
	if len(kept) == 0 {
		return nil
	}
	rest, err := exchange.WithMembers(management, map[string]any{"edits": kept})
	if err != nil {
		return nil
	}
	return rest
}

// managing lists the betas that the edits of a context_management need, and those of the compactions that go back,
// whether more are asked for or not.
func managing(management json.RawMessage, compacted []string) []string {
	betas := slices.Clone(compacted)
	for _, edit := range gjson.GetBytes(management, "edits.#.type").Array() {
		switch edit.Str {
		case "compact_20260112":
			betas = append(betas, betaCompact)
		default:
			betas = append(betas, betaEdits)
		}
	}
	return betas
}

// compactionBeta is what a block of compaction needs to go back: one that is signed needs the later beta (as
// @ai-sdk/anthropic 4.0.105 does).
func compactionBeta(block json.RawMessage) string {
	if gjson.GetBytes(block, "signature").Str != "" {
		return betaCompactLater
	}
	return betaCompact
}
