package sim

import (
	"encoding/json"
	"net/http"
	"sync"

	"github.com/thinkd/thinkd/provider/sim/strict"
)

// Answer describes the answer to a request that has passed the checks. For the zero value, the server composes the
// answer.
type Answer struct {
	Parts []Part // the content, verbatim; nil: composed from the prompt

	// For composed answers.
	Thinking *int   // approximate number of words; nil: depends on the level of the request
	Text     *int   // approximate number of words; nil: 160
	Blocks   int    // number of blocks of thinking; 0: one, or two at high levels
	Redacted bool   // adds a block of withheld thinking
	Tool     string // the tool to call before answering

	// Args are the arguments of Tool. Nil: values that fit the schema that the request offers, or {"about": …} without one.
	// With CheckTool, the answer is a text that explains what is wrong if the request does not offer Tool or Args do not fit.
	Args      json.RawMessage
	CheckTool bool

	Rounds   int    // number of calls of Tool, one after the other; 0: one
	Calls    int    // number of parallel calls in each round, each with the number of its part; 0: one, without a number
	CallID   string // the id of the first call in each round; empty: made from the request
	Says     string // all text outside thinking and calls; empty: composed
	Searches int    // searches of the web by the vendor before the text, if the request allows them
	Programs int    // programs that the vendor runs before the text, if the request allows it
	Image    bool   // adds an image after the text, if the API has a form for it
	Sources  bool   // adds pages that the text refers to, if the API has a form for them

	Served   string  // the model that the answer names; empty: the one that the request names
	Stop     string  // the vendor's stop reason; empty: the one that fits the content
	Category string  // of a refusal
	Pace     float64 // deltas per second; 0: that of the server; negative: without delay

	Fault Fault
	// After is the number of deltas, visible or not, after which the fault or the Stop comes. Nil: before the answer. An
	// answer with fewer deltas breaks before its closing events.
	After *int
	Bytes int         // for FaultCut, the number of bytes of the body before the cut, in place of After
	Times int         // limits a marker's fault to the first requests with this prompt; 0: all requests
	Head  http.Header // these header fields replace those of the answer
}

// After returns the pointer for [Answer].After.
func After(deltas int) *int { return &deltas }

// Part is a block of an answer.
type Part struct {
	Kind     PartKind
	Text     string          // Thinking, Text; Redacted: the withheld text; Image: its bytes (empty: one pixel)
	ID       string          // Call, ServerCall; empty: made from the request
	Name     string          // Call, ServerCall
	Input    json.RawMessage // Call, ServerCall; empty: {}
	Raw      json.RawMessage // Raw: the vendor's JSON of the block, sent in one piece
	Pages    []Page          // Sources
	Note     bool            // Thinking: a short note on progress, which is visible even if thinking is hidden
	Unsigned bool            // Thinking: without its signature
	Endless  bool            // Thinking, Text: repeated without end, beyond every limit
}

// Page is a page that a text refers to.
type Page struct {
	URL, Title, Quote string
	Start, End        int // the place in the text before it, in characters; End 0: no place
}

// PartKind is the kind of a block in the words of this package.
type PartKind int

const (
	Text PartKind = iota
	Thinking
	Redacted   // withheld thinking
	Call       // of a tool of the client
	ServerCall // of a tool that the vendor runs
	Raw        // the vendor's JSON
	Image      // made by the model
	Sources    // of the text before it
)

// scripts chooses answers: from the queue of a test, from its function, or from the marker.
type scripts struct {
	mu    sync.Mutex
	queue []Answer
	ask   func(Request) *Answer
	tries map[[2]string]int // the number of requests for a marker's fault, by account and digest of the prompt
}

// next returns the answer to a request: the next one of the queue, otherwise that of the function, otherwise the marker's.
func (s *scripts) next(r Request, marked Answer, account, prompt string) Answer {
	s.mu.Lock()
	if len(s.queue) > 0 {
		a := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		return a
	}
	ask := s.ask
	s.mu.Unlock()
	if ask != nil {
		if a := ask(r); a != nil {
			return *a
		}
	}
	if marked.Times > 0 && s.try(account, prompt) > marked.Times {
		marked.Fault, marked.After = "", nil
	}
	return marked
}

// triesKept limits the number of prompts for which times= is counted. When it is reached, all counts begin again.
const triesKept = 1000

func (s *scripts) try(account, prompt string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tries == nil || len(s.tries) >= triesKept {
		s.tries = map[[2]string]int{}
	}
	key := [2]string{account, strict.DigestOf(prompt)}
	s.tries[key]++
	return s.tries[key]
}
