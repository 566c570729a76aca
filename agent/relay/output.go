package relay

import (
	"fmt"
	"sync"
	"unicode/utf8"
)

// maxOutputWaiting bounds the output that was not taken yet, and what Tail keeps.
const maxOutputWaiting = 64 << 10

// Output is the output of a running tool, from the tool's goroutine, which uses Add and Close, to that of the session, which uses
// the rest. A nil Output is empty.
type Output struct {
	grew chan<- struct{} // gets a token when there is something to take

	mu      sync.Mutex // held for moments only
	waiting []byte
	lost    int // bytes before waiting that nobody got
	closed  bool

	tail []byte // the end of what was taken
}

// NewOutput is the output of a call; grew gets a token when there is something to take.
func NewOutput(grew chan<- struct{}) *Output { return &Output{grew: grew} }

// Add never waits. If nobody takes the output in time, its beginning is lost.
func (o *Output) Add(chunk string) {
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

// Close drops what is added from now on.
func (o *Output) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}

// Take is what was added since the last call, in whole characters.
func (o *Output) Take() string {
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

// Tail is the end of what was taken.
func (o *Output) Tail() string {
	if o == nil {
		return ""
	}
	return string(o.tail)
}
