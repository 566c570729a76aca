package budget

import (
	"time"
	"unicode/utf8"

	"github.com/thinkd/thinkd/provider"
)

// PerToken is how many characters count as a token if no vendor has counted.
const PerToken = 4

// Estimate is what a call used, for as long as its vendor has not reported it.
type Estimate struct {
	Sent    int // characters that went out
	Shown   int // tokens of images and sounds that went out, by a rule of their vendor
	Media   int // images and other media that went out, without a rule
	Cached  int // tokens that are probably in the vendor's cache
	Counted int // tokens of the prompt, if the vendor has counted most of them in an earlier call; otherwise 0
	Said    int // characters that came
	thought int // of these: thinking
}

// Usage is the estimate in tokens. It is rather too low: media without a known rule, thinking that was sent back, and thinking that is
// not shown do not count.
func (e Estimate) Usage() provider.Usage {
	u := provider.Usage{Input: Tokens(e.Sent) + e.Shown, Output: Tokens(e.Said), Estimated: true}
	u.Cached = min(e.Cached, u.Input)
	if thought := Tokens(e.thought); thought > 0 {
		u.Reasoning = &thought
	}
	return u
}

// What a prompt may have at most.
const (
	countedWrong = 20   // one token more in so many, if most of them are counted
	leastChars   = 2    // characters of a token
	mostMedia    = 5000 // tokens of an image or a document
)

// Most is what the call may use at most, if its answer has at most output tokens, thinking that is not shown included. Nothing is
// read from the vendor's cache.
func (e Estimate) Most(output int) provider.Usage {
	u := provider.Usage{Input: (e.Sent+leastChars-1)/leastChars + e.Shown + e.Shown/4 + e.Media*mostMedia, Output: max(output, Tokens(e.Said)), Estimated: true}
	if e.Counted > 0 {
		u.Input = e.Counted + e.Counted/countedWrong + 1
	}
	return u
}

// Dearest returns the usage with its cost, for the more expensive of two cases: the vendor writes none or all of the prompt to its cache.
func Dearest(p *provider.Price, u provider.Usage, at time.Time) provider.Usage {
	written, long := u, u
	written.CacheWrite = u.Input
	long.CacheWrite, long.CacheWriteLong = u.Input, u.Input
	if u.Cost = p.Cost(u, at); u.Cost == nil {
		return u
	}
	for _, other := range []provider.Usage{written, long} {
		if other.Cost = p.Cost(other, at); other.Cost != nil && other.Cost.Amount > u.Cost.Amount {
			u = other
		}
	}
	return u
}

// Tokens is how many tokens so many characters are, rounded up.
func Tokens(characters int) int { return (characters + PerToken - 1) / PerToken }

// Hear counts what a call says.
func (e *Estimate) Hear(kind provider.BlockKind, text string) {
	n := utf8.RuneCountInString(text)
	e.Said += n
	if kind == provider.KindThinking {
		e.thought += n
	}
}
