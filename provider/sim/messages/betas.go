package messages

import (
	"net/http"
	"slices"
	"strings"
)

// betas are the beta features that a request names.
type betas map[string]bool

func newBetas(h http.Header) betas {
	b := betas{}
	for _, line := range h.Values("anthropic-beta") {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.TrimSpace(name); name != "" {
				b[name] = true
			}
		}
	}
	return b
}

const (
	betaInterleaved = "interleaved-thinking-2025-05-14"
	betaBinding     = "thinking-binding-controls-2026-08-01"
	betaTurnEffort  = "mid-conversation-output-config-2026-07-01"
	betaTokenCount  = "thinking-token-count-2026-05-13"
	betaUpdates     = "thinking-display-updates-2026-08-18"
)

// betasKnown are the names in the API's documentation. Any other name is probably a typing error, and is refused. [docs: api/beta-headers]
var betasKnown = []string{
	betaInterleaved, betaBinding, betaTurnEffort, betaTokenCount, betaUpdates,
	"oauth-2025-04-20", betaEdits, betaCompact, betaCompactLater,
	"server-side-fallback-2026-06-01", "server-side-fallback-2026-07-01",
	"mid-conversation-system-clear-at-2026-08-21", "mid-conversation-tool-changes-2026-07-01",
	"inline-tools-2026-09-15", "task-budgets-2026-03-13", "fast-mode-2026-02-01", "fallback-credit-2026-06-01",
	"output-300k-2026-03-24", "dev-full-thinking-2025-05-14",
	// Older names without effect.
	"prompt-caching-2024-07-31", "extended-cache-ttl-2025-04-11", "token-efficient-tools-2025-02-19",
	"output-128k-2025-02-19", "context-1m-2025-08-07", "fine-grained-tool-streaming-2025-05-14",
	"effort-2025-11-24", "structured-outputs-2025-11-13", "files-api-2025-04-14", "mcp-client-2025-11-20",
}

func (b betas) check() error {
	for name := range b {
		if !slices.Contains(betasKnown, name) {
			return invalid("Unexpected value(s) `%s` for the `anthropic-beta` header.", name)
		}
	}
	return nil
}

// Betas of context_management. [docs: api/beta-headers]
const (
	betaEdits        = "context-management-2025-06-27"
	betaCompact      = "compact-2026-01-12"
	betaCompactLater = "compact-2026-09-04"
)
