package quote

import (
	"time"

	"github.com/thinkd/thinkd/provider"
)

// Facts are all that a quote is made of.
type Facts struct {
	Pieces   []provider.Piece    // of the request; nil: what is sent is not known
	Summary  bool                // the first message is the summary of a compaction
	Thinking int                 // tokens of earlier thinking in the request, by the counts of those who wrote it
	PerMedia float64             // tokens of an image or another medium of the request, on average; 0: not known
	Terms    provider.CacheTerms // of the request
	State    provider.CacheState // of the vendor's cache; empty: no model has answered yet
	Price    *provider.Price     // nil: not known
	At       time.Time           // for prices that depend on it
	Level    provider.Level      // in effect
	Tools    bool                // the request offers tools
	Served   bool                // the vendor may run tools: nobody knows how often, and how long their results are
	Before   *Counted            // nil: no prompt of this session was counted
	Turns    []Turn              // that have ended, the oldest first
}

// Turn is an earlier turn of the session, as its vendor counted it.
type Turn struct {
	Level provider.Level // in effect
	Calls []Call
}

// Call is one model call of a turn.
type Call struct {
	Grown   int // tokens by which its prompt was longer than that of the turn's first call
	Said    int // tokens of output, without thinking
	Thought int // tokens of thinking
}
