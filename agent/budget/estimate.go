package budget

import (
	"unicode/utf8"

	"github.com/thinkd/thinkd/provider"
)

// PerToken is how many characters count as a token if no vendor has counted.
const PerToken = 4

// Estimate is what a call used, for as long as its vendor has not reported it.
type Estimate struct {
	Sent    int // characters that went out
	Cached  int // tokens that are probably in the vendor's cache
	Said    int // characters that came
	thought int // of these: thinking
}

// Usage is the estimate in tokens. It is rather too low: images, thinking that was sent back, and thinking that is not shown do
// not count.
func (e Estimate) Usage() provider.Usage {
	u := provider.Usage{Input: Tokens(e.Sent), Output: Tokens(e.Said), Estimated: true}
	u.Cached = min(e.Cached, u.Input)
	if thought := Tokens(e.thought); thought > 0 {
		u.Reasoning = &thought
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
