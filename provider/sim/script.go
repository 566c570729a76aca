package sim

import (
	"encoding/json"
	"net/http"
	"sync"

	"github.com/thinkd/thinkd/provider/sim/strict"
)

// Answer says how a request is answered, once it has passed the checks. The zero value is the answer that the server
// composes by itself.
type Answer struct {
	Parts []Part // what is said, word for word; nil: composed from the prompt

	// For composed answers.
	Thinking *int   // about so many words; nil: by the level that was asked for
	Text     *int   // about so many words; nil: some hundred
	Blocks   int    // thinking comes in so many blocks; 0: one, two at high levels
	Redacted bool   // one more block of thinking, withheld
	Tool     string // call this tool first, whether it was offered or not
	Rounds   int    // so many times, one after the other; 0: once
	Calls    int    // so many calls in each round, each with the number of its part; 0: one, without a number
	CallID   string // of the first call in each round; empty: made from the request
	Says     string // all that is said beside thinking and calls; empty: composed
	Image    bool   // an image behind the text, where the API has a form for it
	Sources  bool   // pages behind that, which the text refers to

	Served   string  // the model that the answer names; empty: the one that was asked for
	Stop     string  // the vendor's stop reason; empty: the natural one
	Category string  // of a refusal
	Pace     float64 // deltas a second; 0: the server's, negative: as fast as asked

	Fault Fault
	// After is the number of deltas, shown or not, after which the fault or the Stop comes; nil: before the answer. An
	// answer with fewer deltas breaks before its closing events.
	After *int
	Bytes int         // FaultCut: not after deltas but after so many bytes of the body
	Times int         // of a marker's fault: only the first so many requests with this prompt; 0: all
	Head  http.Header // added to the answer's header, or in place of what is there
}

// After makes the pointer for [Answer].
func After(deltas int) *int { return &deltas }

// Part is a block of an answer.
type Part struct {
	Kind     PartKind
	Text     string          // Thinking, Redacted (what is withheld), Text; Image: its bytes; empty: a dot
	ID       string          // Call, ServerCall; empty: made from the request
	Name     string          // Call, ServerCall
	Input    json.RawMessage // Call, ServerCall; empty: {}
	Raw      json.RawMessage // Raw: the vendor's JSON of the block, sent in one piece
	Pages    []Page          // Sources
	Note     bool            // Thinking: a short note on progress, to be shown even where thinking is not
	Unsigned bool            // Thinking: leave the signature out
	Endless  bool            // Thinking, Text: say it over and over, beyond every limit
}

// PartKind is what a block is, whatever its API calls it.
type PartKind int

const (
	Text PartKind = iota
	Thinking
	Redacted   // thinking that is withheld
	Call       // of the client's tool
	ServerCall // of a tool that the vendor runs
	Raw
	Image   // made by the model
	Sources // of the text in front
)

// Fault is what goes wrong. The words are those of the marker.
type Fault string

const (
	// Refusals by status, or, with After, errors in mid-stream.
	FaultRateLimit  Fault = "rate_limit" // 429 with a retry-after
	FaultSpendCap   Fault = "spend_cap"  // 429 without
	FaultOverloaded Fault = "overloaded"
	FaultServer     Fault = "server_error"
	FaultTimeout    Fault = "timeout"
	FaultConflict   Fault = "conflict"
	FaultBadRequest Fault = "bad_request"
	FaultAuth       Fault = "auth"
	FaultPermission Fault = "permission"
	FaultBilling    Fault = "billing"
	FaultNotFound   Fault = "not_found"
	FaultTooLarge   Fault = "too_large"

	// Streams that go wrong.
	FaultCut      Fault = "cut"      // the connection breaks
	FaultEnd      Fault = "end"      // the body ends in good order, the answer does not
	FaultStall    Fault = "stall"    // silence until the client goes; without After: no header either
	FaultPings    Fault = "pings"    // nothing but pings
	FaultComments Fault = "comments" // nothing but comments
	FaultNoise    Fault = "noise"    // unknown events, unknown deltas and comments between the known ones; no fault at all

	// Complete answers in an unusual shape.
	FaultNoLastEvent Fault = "no_last_event" // a finish reason came, [DONE] or message_stop does not
	FaultMislabelled Fault = "mislabelled"   // a stream that begins with blank lines and is labelled application/json
	FaultCallIDs     Fault = "call_ids"      // each piece of a tool call has another id

	// The same, over Chat Completions alone.
	FaultDetailsAlone     Fault = "details_alone"     // thinking comes in reasoning_details, beside empty content (Snowflake)
	FaultNoFinishReason   Fault = "no_finish_reason"  // [DONE] without one, as of a gateway whose host is gone
	FaultMessageSignature Fault = "message_signature" // the signature is on the message, and calls have no id (Google's compatible endpoint)

	// Answers that are no stream.
	FaultWhole    Fault = "whole"      // the whole answer as JSON, though a stream was asked for
	FaultHTML     Fault = "html"       // a page, with status 200
	FaultJSON     Fault = "json_error" // an error, with status 200
	FaultEmpty    Fault = "empty"      // nothing, with status 200
	FaultGzip     Fault = "gzip"       // compressed, though nobody asked
	FaultBomb     Fault = "gzip_bomb"  // compressed, and 4 GiB when inflated
	FaultRedirect Fault = "redirect"   // 307 to another host

	// Answers without end.
	FaultEndlessThinking Fault = "endless_thinking"
	FaultEndlessText     Fault = "endless_text"
)

// faults is every word that a marker may say.
var faults = []Fault{
	FaultRateLimit, FaultSpendCap, FaultOverloaded, FaultServer, FaultTimeout, FaultConflict, FaultBadRequest, FaultAuth,
	FaultPermission, FaultBilling, FaultNotFound, FaultTooLarge, FaultCut, FaultEnd, FaultStall, FaultPings,
	FaultComments, FaultNoise, FaultNoLastEvent, FaultMislabelled, FaultCallIDs, FaultDetailsAlone, FaultMessageSignature, FaultNoFinishReason, FaultWhole, FaultHTML, FaultJSON, FaultEmpty, FaultGzip, FaultBomb, FaultRedirect,
	FaultEndlessThinking, FaultEndlessText,
}

// Refuses reports whether f is an error that the vendor tells by status or by an event.
func (f Fault) Refuses() bool {
	switch f {
	case FaultRateLimit, FaultSpendCap, FaultOverloaded, FaultServer, FaultTimeout, FaultConflict, FaultBadRequest,
		FaultAuth, FaultPermission, FaultBilling, FaultNotFound, FaultTooLarge:
		return true
	}
	return false
}

// Breaks reports whether f ends an answer at its After.
func (f Fault) Breaks() bool {
	return f.Refuses() || f == FaultCut || f == FaultEnd || f == FaultStall
}

// scripts is what tests want answered.
type scripts struct {
	mu    sync.Mutex
	queue []Answer
	ask   func(Request) *Answer
	tries map[[2]string]int // how often a marker's fault was asked for: account and prompt
}

// Script answers the next requests for an answer, one each, in order. Requests that are refused use none up.
func (s *Server) Script(answers ...Answer) {
	s.scripts.mu.Lock()
	defer s.scripts.mu.Unlock()
	s.scripts.queue = append(s.scripts.queue, answers...)
}

// ScriptFunc asks f for each request that no queued answer is left for; nil from f means the answer as usual. f is
// called from the handlers, many at once. A nil f ends this.
func (s *Server) ScriptFunc(f func(Request) *Answer) {
	s.scripts.mu.Lock()
	defer s.scripts.mu.Unlock()
	s.scripts.ask = f
}

// next chooses the answer: a queued one, the function's, the marker's.
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

// triesKept bounds the memory of markers with times=.
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
