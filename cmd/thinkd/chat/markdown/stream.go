// Package markdown renders Markdown as rows of a terminal while it arrives.
//
// A [Stream] takes a text in pieces of any size. It hands out the rows that nothing can change any more, each once, and shows the rows of
// the block that is still open as if the text ended there. The rows depend on the text only, never on the places where it was cut.
//
//	Write ─► line ─► parser: containers (quotes, items) ─► leaf: paragraph, code, table ─► rows ─► Take
//	          └── Open: a copy of the parser takes the unfinished line and ends
//
// The work for a piece does not grow with the text. Code is handed out line by line. A line, a paragraph or a table that is longer than a
// bound is handed out before its end; what follows is a block of its own.
//
// The Markdown is CommonMark with GFM's tables, tasks, strikethrough and bare addresses, with these exceptions: HTML is shown as text, a
// line break stays one, links by reference are shown as text because their address comes last, and the line below a heading has at least
// three characters, so that the first sign of an item does not look like one.
//
// The text cannot make a terminal obey it: control characters are replaced first, and an address becomes part of a sequence only
// if its scheme is http, https or mailto.
package markdown

import (
	"slices"
	"strings"
	"unicode/utf8"

	safe "github.com/thinkd/thinkd/cmd/thinkd/printable"
)

// A Stream renders one text. It is for one goroutine.
type Stream struct {
	clean  safe.Cleaner
	line   []byte // of the text, without its end
	joined bool   // what line is of stands in the parser already
	p      parser
}

// New returns a Stream for rows of so many columns.
func New(width int, styles *Styles) *Stream {
	return &Stream{p: parser{width: max(width, 1), styles: styles}}
}

// SetWidth sets the columns of the rows that are not finished yet.
func (s *Stream) SetWidth(width int) { s.p.width = max(width, 1) }

// Write takes the next piece of the text.
func (s *Stream) Write(text string) {
	text = s.clean.Clean(text)
	for {
		line, rest, ended := strings.Cut(text, "\n")
		s.line = append(s.line, line...)
		for len(s.line) > longest {
			s.feed(cut(s.line))
			s.joined = true
		}
		if !ended {
			return
		}
		s.feed(len(s.line))
		s.joined = false
		text = rest
	}
}

// cut is where a line that is too long is cut: behind its last blank within the bound, or else between two characters.
func cut(line []byte) int {
	if at := slices.Index(line[longest/2:longest], ' '); at >= 0 {
		return strings.LastIndexByte(string(line[:longest]), ' ') + 1
	}
	at := longest
	for !utf8.RuneStart(line[at]) {
		at--
	}
	return at
}

// feed gives the first n bytes of the line to the parser.
func (s *Stream) feed(n int) {
	s.p.line(string(s.line[:n]), s.joined)
	s.line = append(s.line[:0], s.line[n:]...)
}

// Close ends the text: all rows are finished.
func (s *Stream) Close() {
	if len(s.line) > 0 {
		s.feed(len(s.line))
	}
	s.p.close(0)
}

// Take returns the rows that were finished since the last call. No row has a newline. Code and long words may be wider than the
// Stream is: they are as they were written, and the terminal folds them.
func (s *Stream) Take() []string {
	rows := s.p.out
	s.p.out = nil
	return rows
}

// Open returns the rows of the block that is not finished, as if the text ended here.
func (s *Stream) Open() []string {
	p := s.p
	p.out, p.in, p.lists = nil, slices.Clone(p.in), slices.Clone(p.lists)
	p.leaf.table.rows = slices.Clip(p.leaf.table.rows)
	if len(s.line) > 0 {
		p.line(string(s.line), s.joined)
	}
	p.close(0)
	return p.out
}

// Rows renders a whole text.
func Rows(text string, width int, styles *Styles) []string {
	s := New(width, styles)
	s.Write(text)
	s.Close()
	return s.Take()
}
