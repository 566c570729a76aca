package agent

import (
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
)

// maxOutputWaiting bounds what a tool told and people were not yet, and what a client that joins is told of it.
const maxOutputWaiting = 64 << 10

// output is what a running tool tells. add and close are for its goroutine, the rest for the agent's. A nil output has
// told nothing.
type output struct {
	grew chan<- struct{} // gets a token when there is something to take

	mu      sync.Mutex // held for moments only
	waiting []byte
	lost    int // bytes before waiting that nobody was told
	closed  bool

	tail []byte // the end of what was taken
}

// add never waits: what nobody takes in time is lost at its beginning.
func (o *output) add(chunk string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || chunk == "" {
		return
	}
	var cut int
	o.waiting, cut = end(append(o.waiting, chunk...))
	o.lost += cut
	select {
	case o.grew <- struct{}{}:
	default:
	}
}

// end is the last of text, as far as it is kept, and how many bytes are not.
func end(text []byte) ([]byte, int) {
	cut := max(len(text)-maxOutputWaiting, 0)
	for cut > 0 && cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut++
	}
	return append([]byte(nil), text[cut:]...), cut
}

func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}

// take is what came since it was last called, in whole characters.
func (o *output) take() string {
	if o == nil {
		return ""
	}
	o.mu.Lock()
	whole := len(o.waiting)
	if !o.closed {
		whole = wholeCharacters(o.waiting)
	}
	chunk := string(o.waiting[:whole])
	lost := o.lost
	o.waiting, o.lost = append([]byte(nil), o.waiting[whole:]...), 0
	o.mu.Unlock()
	if lost > 0 {
		chunk = fmt.Sprintf("\n[%d bytes were left out here]\n", lost) + chunk
	}
	o.tail, _ = end(append(o.tail, chunk...))
	return chunk
}

// wholeCharacters is the length of text without a character at its end that is still to come.
func wholeCharacters(text []byte) int {
	for i := len(text) - 1; i >= 0 && i >= len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return i
			}
			break
		}
	}
	return len(text)
}

func (o *output) sofar() string {
	if o == nil {
		return ""
	}
	return string(o.tail)
}

// tellOutput tells what the running calls told.
func (s *state) tellOutput() {
	for _, c := range s.run.round.calls {
		if chunk := c.output.take(); chunk != "" && !c.done {
			s.tell(s.run.ID, feed.ToolOutput{CallID: c.ID, Chunk: chunk})
		}
	}
}

// outputGrew has a token when tellOutput has something to tell, nil between rounds.
func (s *state) outputGrew() chan struct{} {
	if s.run == nil || s.run.round == nil {
		return nil
	}
	return s.run.round.grew
}

// maxToolMedia is in bytes, of one image or document of a result.
const maxToolMedia = 5 << 20

// fitting is a result as a model gets it: text up to a limit, of which the beginning and the end are kept, and media that
// the model takes. What is left out is told in its place.
func (s *state) fitting(content provider.Blocks) provider.Blocks {
	out := provider.Blocks{}
	room := s.cfg.Limits.ToolOutput
	for _, b := range content {
		switch b := b.(type) {
		case provider.Text:
			text := shortened(b.Text, room)
			room = max(room-len(text), 0)
			out = append(out, provider.Text{Text: text})
		case provider.Media:
			switch {
			case len(b.Data) > maxToolMedia:
				out = append(out, provider.Text{Text: fmt.Sprintf("[%s of %d bytes was left out: it is too large]", b.Type, len(b.Data))})
			case takes(s.run.model, provider.Blocks{b}) != nil:
				out = append(out, provider.Text{Text: fmt.Sprintf("[%s was left out: the model does not take it]", b.Type)})
			default:
				out = append(out, b)
			}
		default:
			out = append(out, provider.Text{Text: fmt.Sprintf("[%s was left out: a result has text and media]", provider.KindOf(b))})
		}
	}
	return out
}

// shortened keeps the beginning and the end of a text that is longer than limit bytes, and says how much it lost.
func shortened(text string, limit int) string {
	return abridged(text, limit, "the output is longer than a result may be")
}

// abridged is shortened with a reason.
func abridged(text string, limit int, why string) string {
	if len(text) <= limit {
		return text
	}
	head, tail := limit*2/3, len(text)-limit/3
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n[%d of %d bytes were left out here: %s]\n%s", text[:head], tail-head, len(text), why, text[tail:])
}
