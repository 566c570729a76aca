package exchange

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// Part is a block of an answer while it comes: text, thinking or a call of a tool.
type Part struct {
	Kind     provider.BlockKind
	Thinking provider.ThinkingKind // of thinking
	ID, Name string                // of a call
	Text     Growth                // text or thinking, or the arguments of a call as JSON
	Ended    bool

	since  time.Time // of its start; zero: the answer came whole
	begun  bool      // Begin was sent, and number is set
	number int
	shown  bool // of a call: a piece of its arguments was sent
}

// Duration is how long the part has taken so far; 0 if the answer came whole.
func (p *Part) Duration() time.Duration {
	if p.since.IsZero() {
		return 0
	}
	return time.Since(p.since)
}

// Number is our number of a part that was announced.
func (p *Part) Number() int { return p.number }

// Parts emits the blocks of one answer. A block of text or thinking begins with its first character, so one that stays empty is
// never announced. It is for adapters whose APIs name the kind of a block before its text, and for one goroutine.
type Parts struct {
	answer *Answer
	next   int // our number of the next block
}

// NewParts begins with no block.
func NewParts(a *Answer) Parts { return Parts{answer: a} }

// Open makes a part, without announcing it.
func (s *Parts) Open(kind provider.BlockKind) Part {
	p := Part{Kind: kind}
	if !s.answer.Whole {
		p.since = time.Now()
	}
	return p
}

// Begin announces a part, once. The error is that of [Answer.Emit], as in all that follows.
func (s *Parts) Begin(p *Part) error {
	if p.begun {
		return nil
	}
	p.begun, p.number = true, s.next
	s.next++
	var shell provider.Block
	switch p.Kind {
	case provider.KindText:
		shell = provider.Text{}
	case provider.KindThinking:
		shell = provider.Thinking{Kind: p.Thinking}
	case provider.KindToolCall:
		shell = provider.ToolCall{ID: p.ID, Name: p.Name}
	}
	return s.answer.Emit(provider.Begin{Index: p.number, Block: shell})
}

// Grow adds a piece, which is a JSON string. What is none only shows that the vendor is there.
func (s *Parts) Grow(p *Part, piece gjson.Result) error {
	if piece.Type != gjson.String {
		return s.answer.Alive()
	}
	return s.show(p, p.Text.Add(piece))
}

// show emits what is new of a part.
func (s *Parts) show(p *Part, text string) error {
	if text == "" {
		return s.answer.Alive()
	}
	if p.Kind == provider.KindToolCall && !p.shown { // the word null stands for no arguments, and is not shown
		text = p.Text.String()
		if strings.HasPrefix("null", strings.TrimSpace(text)) {
			return s.answer.Alive()
		}
		p.shown = true
	}
	if err := s.Begin(p); err != nil {
		return err
	}
	return s.answer.Delta(p.number, text)
}

// End ends a part with the block that finish makes of it. Nil, without an error, is no block: then nothing was announced.
func (s *Parts) End(p *Part, finish func() (provider.Block, error)) error {
	p.Ended = true
	if rest := p.Text.Rest(""); rest != "" {
		if err := s.show(p, rest); err != nil {
			return err
		}
	}
	b, err := finish()
	if err != nil || b == nil {
		return err
	}
	if err := s.Begin(p); err != nil {
		return err
	}
	return s.answer.Emit(provider.End{Index: p.number, Block: b})
}

// Call is the call that a part holds. No text at all is a call without arguments.
func (s *Parts) Call(p *Part) (provider.Block, error) {
	b := provider.ToolCall{ID: p.ID, Name: p.Name}
	text, shown := p.Text.String(), p.shown
	p.shown = true // what comes is complete
	if NoArguments(text) {
		text = "{}"
	} else if !shown {
		if err := s.show(p, text); err != nil {
			return nil, err
		}
	}
	if !gjson.Valid(text) || !gjson.Parse(text).IsObject() {
		b.Invalid = text
		return b, nil
	}
	b.Input = json.RawMessage(text)
	return b, nil
}
