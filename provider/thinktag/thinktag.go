// Package thinktag separates a model's text from thinking between tags in it.
//
// Servers without a parser for a model's thinking leave it at the start of the answer, between <think> and </think> or another pair. A
// [Splitter] reads the text as it streams, cut anywhere, and separates thinking from text. The result does not depend on the cuts: a
// tag may arrive in single bytes.
//
// Guarantees:
//
//   - the Raw of all pieces, joined, is the original text;
//   - a Text is empty only in pieces that mark a place;
//   - only the beginning of a tag and white space with an unclear place are held back, and [Splitter.Flush] returns them. At most 4 KiB of
//     white space is held back: beyond that, the result may depend on the cuts;
//   - the first closing tag ends thinking, wherever it is: tags do not nest.
//
// A closing tag without an opening one counts only if it is the model's own ([Tags.For]) and the text does not discuss it: it must be
// outside of code and quotes, not after an opening tag in the text, and not a word of a sentence.
//
// A Splitter is used only if a dialect or a model expects such text. It must never read what a user or a tool wrote. This package imports
// no other package of the project.
package thinktag

import "strings"

// Start says what the prompt's template has already opened when the model begins.
type Start string

const (
	Closed Start = "closed" // nothing: the model writes the opening tag itself
	Open   Start = "open"   // the opening tag: only the closing one comes
	Auto   Start = "auto"   // not known: a closing tag that was never opened tells afterwards
)

// Pair is an opening and a closing tag. Both match exactly; there are no attributes.
type Pair struct {
	Open  string `json:"open"`
	Close string `json:"close"`
}

// Tags is how thinking is marked.
type Tags struct {
	Pair
	Start  Start  `json:"start_mode"`
	Multi  bool   `json:"multi_block,omitempty"` // thinking comes again, at the beginning of a line outside of code
	Others []Pair `json:"others,omitempty"`      // further pairs; the one that opens is the one that closes
}

// Kind says what a piece is.
type Kind int

const (
	Said    Kind = iota // text of the answer
	Opened              // thinking begins; it may stay empty
	Thought             // thinking
	Ended               // thinking has ended
	Turned              // a closing tag that was never opened: all that was said so far was thinking
)

// Piece is one piece of a parted text.
type Piece struct {
	Kind Kind
	Text string // without tags and the white space around them
	Raw  string // what it was in the text
}

// space is what is dropped around tags.
const space = " \t\r\n"

// held is how much white space waits: a model that gets stuck in it shall be seen.
const held = 4 << 10

type state int

const (
	atStart state = iota
	thinking
	afterTag  // white space is dropped
	afterTurn // the same, with no thinking to end
	inText
)

// Splitter parts one text. It is not for concurrent use.
type Splitter struct {
	tags    Tags
	pairs   []Pair
	state   state
	pair    Pair            // the one that is open
	buf     string          // not yet decided
	raw     strings.Builder // of the marks since the last piece
	fresh   bool            // nothing of the open thinking was shown: white space is dropped
	watch   bool            // a closing tag would turn the text so far into thinking
	before  byte            // the last byte said
	code    code            // the state of code blocks at the end of the text so far
	quoted  int             // opening tags in the text so far without a closing tag
	newLine bool            // what comes begins a line
	fence   bool            // it is in a block of code
	closed  bool            // a closing tag came
}

// NewSplitter begins a text.
func NewSplitter(t Tags) *Splitter {
	return &Splitter{tags: t, pairs: append([]Pair{t.Pair}, t.Others...), newLine: true}
}

// Add takes in the next part of the text.
func (s *Splitter) Add(text string) []Piece {
	s.buf += text
	return s.run(false)
}

// Flush gives out what was held back, since the text ends or something else comes in between. Thinking that is open
// has ended by that.
func (s *Splitter) Flush() []Piece {
	out := s.run(true)
	if s.state == thinking {
		out = append(out, Piece{Kind: Ended, Raw: s.mark()})
		s.state = inText
	}
	return out
}

// Unclosed reports whether all so far was taken for thinking by the start alone: neither tag came.
func (s *Splitter) Unclosed() bool {
	return s.tags.Start == Open && !s.closed && s.pair == Pair{}
}

func (s *Splitter) run(flush bool) (out []Piece) {
	for {
		was, left := s.state, len(s.buf)
		switch s.state {
		case atStart:
			out = s.begin(out, flush)
		case thinking:
			out = s.think(out, flush)
		case afterTag, afterTurn:
			out = s.resume(out, flush)
		case inText:
			out = s.say(out, flush)
		}
		if s.state == was && len(s.buf) == left {
			return out
		}
	}
}

// mark takes the marks that wait for a piece to stand in.
func (s *Splitter) mark() string {
	raw := s.raw.String()
	s.raw.Reset()
	return raw
}

// take cuts n bytes from the front.
func (s *Splitter) take(n int) string {
	text := s.buf[:n]
	s.buf = s.buf[n:]
	return text
}

// begin looks for a tag at the start of the text.
func (s *Splitter) begin(out []Piece, flush bool) []Piece {
	text := strings.TrimLeft(s.buf, space)
	lead := len(s.buf) - len(text)
	if text == "" && !flush && lead < held {
		return out
	}
	for _, p := range s.pairs {
		switch {
		case strings.HasPrefix(text, p.Open):
			s.pair = p
			return s.open(out, lead+len(p.Open))
		case p == s.tags.Pair && strings.HasPrefix(text, p.Close): // of a template that closed an empty block
			after := text[len(p.Close):]
			if after == "" && !flush {
				return out
			}
			if after == "" || !mentioned(0, after[0]) {
				s.raw.WriteString(s.take(lead + len(p.Close)))
				s.state, s.closed = afterTurn, true
				return out
			}
		case !flush && text != "" && (strings.HasPrefix(p.Open, text) || strings.HasPrefix(p.Close, text)):
			return out
		}
	}
	switch {
	case s.tags.Start == Open && text != "":
		return s.open(out, lead)
	case text != "":
		s.state, s.watch = inText, s.tags.Start == Auto
	case s.buf != "":
		s.state = inText
	}
	return out
}

// open begins thinking after n bytes of marks.
func (s *Splitter) open(out []Piece, n int) []Piece {
	s.raw.WriteString(s.take(n))
	s.state, s.fresh, s.watch = thinking, true, false
	return append(out, Piece{Kind: Opened, Raw: s.mark()})
}

func (s *Splitter) think(out []Piece, flush bool) []Piece {
	if s.fresh {
		text := strings.TrimLeft(s.buf, space)
		s.raw.WriteString(s.take(len(s.buf) - len(text)))
		s.fresh = text == ""
	}
	end := s.pair
	if end == (Pair{}) {
		end = s.tags.Pair
	}
	if n := strings.Index(s.buf, end.Close); n >= 0 {
		text := s.take(n)
		if trimmed := strings.TrimRight(text, space); trimmed != "" {
			out = append(out, Piece{Thought, trimmed, s.mark() + trimmed})
			text = text[len(trimmed):]
		}
		s.raw.WriteString(text + s.take(len(end.Close)))
		s.state, s.closed = afterTag, true
		return out
	}
	n := len(s.buf)
	if !flush { // white space before the closing tag is no thinking, so it waits for what follows
		n -= begun(s.buf, end.Close)
		if said := len(strings.TrimRight(s.buf[:n], space)); n-said < held {
			n = said
		}
	}
	if n == 0 {
		return out
	}
	text := s.take(n)
	return append(out, Piece{Thought, text, s.mark() + text})
}

// resume drops white space until the answer goes on.
func (s *Splitter) resume(out []Piece, flush bool) []Piece {
	text := strings.TrimLeft(s.buf, space)
	s.raw.WriteString(s.take(len(s.buf) - len(text)))
	if text == "" && !flush {
		return out
	}
	kind := Ended
	if s.state == afterTurn {
		kind = Said
	}
	s.state, s.newLine = inText, true
	return append(out, Piece{Kind: kind, Raw: s.mark()})
}

func (s *Splitter) say(out []Piece, flush bool) []Piece {
	switch {
	case s.buf == "":
		return out
	case s.watch:
		return s.sayWatching(out, flush)
	case s.tags.Multi:
		return s.sayLines(out, flush)
	}
	return s.said(out, len(s.buf))
}

func (s *Splitter) said(out []Piece, n int) []Piece {
	if n == 0 {
		return out
	}
	text := s.take(n)
	s.before = text[n-1]
	s.code.add(text)
	return append(out, Piece{Said, text, s.mark() + text})
}

// sayWatching looks for a closing tag that was never opened and is not talked about.
func (s *Splitter) sayWatching(out []Piece, flush bool) []Piece {
	p := s.tags.Pair
	opens, closes := strings.Index(s.buf, p.Open), strings.Index(s.buf, p.Close)
	switch {
	case opens >= 0 && (closes < 0 || opens < closes):
		s.quoted++
		return s.said(out, opens+len(p.Open))
	case closes >= 0:
		after := s.buf[closes+len(p.Close):]
		if after == "" && !flush {
			return s.said(out, closes)
		}
		out = s.said(out, closes)
		next := byte('\n')
		if after != "" {
			next = after[0]
		}
		switch {
		case s.quoted > 0:
			s.quoted--
			return s.said(out, len(p.Close))
		case s.code.inside(), s.before == '"', s.before == '\'', mentioned(s.before, next):
			return s.said(out, len(p.Close))
		}
		out = append(out, Piece{Kind: Turned, Raw: s.take(len(p.Close))})
		s.state, s.watch, s.closed = afterTurn, false, true
		return out
	}
	n := len(s.buf)
	if !flush {
		n -= max(begun(s.buf, p.Open), begun(s.buf, p.Close))
	}
	return s.said(out, n)
}

// mentioned reports whether a tag between these two bytes is a word of a sentence: punctuation follows, or there is
// space before it and the line goes on, or it begins the text (before is 0) and a space follows.
func mentioned(before, next byte) bool {
	if strings.IndexByte(",.;:!?)]}'\"`*|", next) >= 0 {
		return true
	}
	return before == 0 && next == ' ' || (before == ' ' || before == '\t') && next != '\n' && next != '\r'
}

// sayLines looks for an opening tag at the beginning of each line.
func (s *Splitter) sayLines(out []Piece, flush bool) []Piece {
	if s.newLine {
		if strings.HasPrefix(s.buf, "```") {
			s.fence = !s.fence
		} else if !flush && strings.HasPrefix("```", s.buf) {
			return out
		}
		for _, p := range s.pairs {
			switch {
			case s.fence:
			case strings.HasPrefix(s.buf, p.Open):
				s.pair = p
				return s.open(out, len(p.Open))
			case !flush && strings.HasPrefix(p.Open, s.buf):
				return out
			}
		}
	}
	n := strings.IndexByte(s.buf, '\n') + 1
	s.newLine = n > 0
	if n == 0 {
		n = len(s.buf)
	}
	return s.said(out, n)
}

// begun is the length of the longest end of text that may be the beginning of tag.
func begun(text, tag string) int {
	if tag == "" {
		return 0
	}
	end := text[max(0, len(text)-len(tag)+1):]
	for {
		n := strings.IndexByte(end, tag[0])
		if n < 0 {
			return 0
		}
		if end = end[n:]; strings.HasPrefix(tag, end) {
			return len(end)
		}
		end = end[1:]
	}
}

// Split parts a text that is there as a whole.
func Split(text string, t Tags) []Piece {
	s := NewSplitter(t)
	return Settle(append(s.Add(text), s.Flush()...))
}

// Settle takes all pieces of a text that was not shown yet. Pieces that turned out to be thinking are thinking from the start.
func Settle(out []Piece) []Piece {
	for i, p := range out {
		if p.Kind != Turned {
			continue
		}
		parted := []Piece{{Kind: Opened}}
		for _, q := range out[:i] {
			if q.Text != "" {
				q.Kind = Thought
			}
			parted = append(parted, q)
		}
		if last := &parted[len(parted)-1]; last.Kind == Thought {
			last.Text = strings.TrimRight(last.Text, space)
		}
		if first := &parted[min(1, len(parted)-1)]; first.Kind == Thought {
			first.Text = strings.TrimLeft(first.Text, space)
		}
		parted = append(parted, Piece{Kind: Ended, Raw: p.Raw})
		return append(parted, out[i+1:]...)
	}
	return out
}
