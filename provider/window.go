package provider

import "strings"

// ollamaWindow is the window that an Ollama is asked for where nobody names one, in tokens: an agent needs 64k at least,
// and what a model was trained for seldom fits into memory (docs: context-length).
const ollamaWindow = 65_536

// OllamaWindow is the one number for the window of a model of Ollama's: what its server is asked for, and what the
// conversation has to fit into. asked is that of the provider's configuration; 0: none. It is 0 for models of the cloud,
// which always have all of theirs.
func OllamaWindow(row Model, asked int) int {
	switch {
	case strings.HasSuffix(row.ID, ":cloud"), strings.HasSuffix(row.ID, "-cloud"):
		return 0
	case row.NumCtx > 0:
		return row.NumCtx
	case asked > 0:
		return asked
	case row.Window > 0:
		return min(row.Window, ollamaWindow)
	}
	return ollamaWindow
}
