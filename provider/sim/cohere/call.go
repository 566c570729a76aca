package cohere

import (
	"regexp"
	"sync"

	"github.com/thinkd/thinkd/provider/sim"
)

// call is a checked request for an answer. It has only what the answer needs.
type call struct {
	model     *model
	stream    bool
	thinks    bool
	budget    int // tokens of thinking; 0: no limit
	maxTokens int
	stops     []string
	tools     map[string]map[string]any
	silent    bool // no tool may be called
	force     string
	messages  []message
	tokens    int // of the conversation
	ask       sim.Ask
}

// message is one entry of messages.
type message struct {
	role    string
	texts   []string
	calls   []string // ids
	results []string // ids of the calls that it answers
	pages   []any    // documents of results
}

// toolName is the vendor's rule for names of tools. [docs: reference/errors]
var toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })
