// Package printable makes foreign text safe for a terminal: text of models, tools, vendors and files.
//
// If a program prints such text unchanged, the text can move the cursor, change earlier output, set the title, or answer in the person's
// name: a terminal replies to some sequences as if the reply had been typed. Marks of direction make one line read as another.
package printable

import (
	"io"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Mark stands in place of what a terminal would obey.
const Mark = '\uFFFD'

// Obeyed reports whether a terminal would obey a character in place of showing it: control characters, the C1 range too, and
// marks of direction. A tab and a newline are for the caller to judge.
func Obeyed(r rune) bool {
	return r != '\n' && r != '\t' && unicode.IsControl(r) || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069
}

// Writer hands on text without what a terminal would obey. A carriage return is left out: at the end of a line it does
// nothing, and in a line it hides what was written before. It is safe for concurrent use.
type Writer struct {
	To io.Writer // the terminal

	mu   sync.Mutex
	rest []byte // the beginning of a character that is not whole yet
}

// Write takes in all of text.
func (w *Writer) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	in := append(w.rest, text...)
	out := make([]byte, 0, len(in))
	for len(in) > 0 && utf8.FullRune(in) {
		r, size := utf8.DecodeRune(in)
		switch {
		case r == '\r':
		case Obeyed(r), r == utf8.RuneError: // a byte of the C1 range is no UTF-8, and some terminals obey it
			out = utf8.AppendRune(out, Mark)
		default:
			out = append(out, in[:size]...)
		}
		in = in[size:]
	}
	w.rest = append([]byte(nil), in...)
	if len(out) == 0 {
		return len(text), nil
	}
	if _, err := w.To.Write(out); err != nil {
		return 0, err
	}
	return len(text), nil
}
