package quote

import (
	"cmp"
	"math"

	"github.com/thinkd/thinkd/provider"
)

const (
	perCharacter = 0.25 // tokens, where nobody has counted
	perMedia     = 1500 // tokens of an image or of a page, where nobody has counted and no rule is known
	mostWrong    = 0.05 // of a prompt that counts as counted, may be wrong
)

// Counted is a prompt of the session that a vendor has counted.
type Counted struct {
	Pieces   []provider.Piece // of that prompt, as it would be sent now
	Usage    provider.Usage   // of its call
	Same     bool             // by the vendor and for the model that the quote is for
	Thinking int              // tokens of thinking in that prompt
	Removed  int              // of these, those that the vendor leaves out from the next prompt on
	Returned int              // tokens of the answer's thinking that go back with the next prompt
	Warm     bool             // as far as is known, the vendor still keeps what that call left in its cache
	Steady   bool             // the vendor's cache had what it should have whenever that could be seen
}

// ratio is the number of tokens for each character, by the vendor's count.
func (c *Counted) ratio(each float64) float64 {
	if c == nil {
		return perCharacter
	}
	text, media := 0, 0
	for _, p := range c.Pieces {
		text, media = text+p.Text, media+p.Media
	}
	all := c.Usage.Sent().Input
	counted := all - c.Thinking
	if counted < all/5 { // too much of it is thinking
		return perCharacter
	}
	if media > 0 {
		counted -= min(int(float64(media)*each), counted/2)
	}
	if text == 0 || counted <= 0 {
		return perCharacter
	}
	return min(max(float64(counted)/float64(text), perCharacter/3), perCharacter*4)
}

// measured is a prompt in tokens.
type measured struct {
	pieces           []float64 // of each piece, text and thinking
	media            []float64 // of each piece
	total, low, high int
	counted          bool
	each             float64 // tokens of a medium
}

// measure measures a prompt. thinking is how many tokens of thinking it has, and each how many a medium has; 0: not known.
func measure(now []provider.Piece, thinking int, before *Counted, each float64) measured {
	m := measured{pieces: make([]float64, len(now)), media: make([]float64, len(now)), each: cmp.Or(each, perMedia)}
	ratio, sealed, sum := before.ratio(m.each), 0, 0.0
	for _, p := range now {
		sealed += p.Sealed
	}
	for i, p := range now {
		m.pieces[i], m.media[i] = ratio*float64(p.Text), float64(p.Media)*m.each
		if sealed > 0 {
			m.pieces[i] += float64(thinking) * float64(p.Sealed) / float64(sealed)
		}
		sum += m.pieces[i] + m.media[i]
	}
	switch {
	case before == nil:
		m.bound(sum, 0.35*sum, 0.5*sum)
	case !before.Same:
		m.bound(sum, 0.25*sum, 0.4*sum)
	default:
		m.since(now, thinking, ratio, before)
	}
	if sum > 0 {
		for i := range m.pieces {
			m.pieces[i] *= float64(m.total) / sum
			m.media[i] *= float64(m.total) / sum
		}
	}
	return m
}

func (m *measured) bound(total, less, more float64) {
	m.total, m.low, m.high = int(math.Round(total)), max(int(total-less), 0), int(math.Ceil(total+more))
}

// since measures what was added and taken away since the vendor counted.
func (m *measured) since(now []provider.Piece, thinking int, ratio float64, before *Counted) {
	size := func(p provider.Piece) float64 { return ratio*float64(p.Text) + float64(p.Media)*m.each }
	had := make(map[uint64]int)
	for _, p := range before.Pieces {
		had[p.Hash]++
	}
	guessed, wrong, answered, behind := 0.0, 0.0, false, false
	total := float64(before.Usage.Sent().Input - before.Removed)
	for _, p := range now {
		if had[p.Hash] > 0 {
			had[p.Hash]--
			continue
		}
		if p.Role == provider.Assistant && !behind { // what the counted call answered
			answered = true
			continue
		}
		behind = behind || p.Role == provider.User
		guessed += size(p)
		total += size(p)
	}
	for _, p := range before.Pieces {
		if had[p.Hash] > 0 {
			had[p.Hash]--
			guessed += size(p)
			total -= size(p)
		}
	}
	if answered {
		said := before.Usage.Sent().Output
		if r := before.Usage.Reasoning; r != nil {
			said = max(said-*r, 0)
		}
		answer := float64(said + before.Returned)
		total += answer
		wrong += 0.1 * answer // the tokens of an answer are not quite those that it has in a prompt
	}
	wrong += 0.15 * guessed
	if more := thinking - before.Thinking - before.Returned + before.Removed; more > 0 { // of other answers since
		total += float64(more)
		wrong += float64(more)
	}
	total = max(total, 0)
	// In a short conversation, new text can have half as many tokens again as the vendor's count of the rest suggests. What the vendor drops
	// of earlier thinking is known within a tenth.
	doubt := wrong + 0.55*guessed + 0.1*float64(before.Removed)
	m.counted = doubt <= mostWrong*total
	m.bound(total, wrong+0.1*guessed, wrong+0.25*guessed)
}

// common is the number of pieces with which both prompts begin.
func common(a, b []provider.Piece) (n int) {
	for n < len(a) && n < len(b) && a[n].Hash == b[n].Hash {
		n++
	}
	return n
}
