package markdown

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A line is a row before it has its sequences.
type line []span

// width is how many columns a line takes.
func (l line) width() (n int) {
	for _, s := range l {
		n += ansi.StringWidth(s.text)
	}
	return n
}

// wrapper folds spans into lines.
type wrapper struct {
	room   int
	hard   bool
	lines  []line
	row    line
	column int
	blanks line // behind the row; they vanish where it ends
	gap    int
	word   line // that is being read
	size   int
}

// wrap folds text between words. Where a word is longer than a row, it is cut if hard, and else stays whole: the terminal folds it, so
// that an address can still be copied.
func wrap(spans []span, room int, hard bool) []line {
	w := &wrapper{room: max(room, 1), hard: hard}
	for _, s := range spans {
		w.span(s)
	}
	w.endWord()
	return append(w.lines, w.row)
}

func (w *wrapper) span(s span) {
	start := 0
	part := func(to int) span { return span{s.text[start:to], s.style, s.url} }
	for i, r := range s.text {
		switch {
		case r == '\n':
			w.letters(part(i))
			w.endWord()
			w.endRow()
			start = i + 1
		case r == ' ':
			w.letters(part(i))
			w.endWord()
			start = i
			w.blanks = append(w.blanks, part(i+1))
			w.gap++
			start = i + 1
		case r >= 0x2e80 && !strings.ContainsRune("、。，．！？；：）」』】》〉", r) && ansi.StringWidth(string(r)) == 2: // a row may end before an ideograph
			w.letters(part(i))
			w.endWord()
			start = i
		}
	}
	w.letters(part(len(s.text)))
}

// letters adds to the word.
func (w *wrapper) letters(s span) {
	if s.text == "" {
		return
	}
	n := ansi.StringWidth(s.text)
	if w.hard && w.size+n > w.room {
		for text := s.text; text != ""; {
			one, width := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
			if w.size+width > w.room {
				w.endWord()
			}
			w.word = append(w.word, span{one, s.style, s.url})
			w.size += width
			text = text[len(one):]
		}
		return
	}
	w.word = append(w.word, s)
	w.size += n
}

// endWord puts the word into the row, or into the next one.
func (w *wrapper) endWord() {
	if len(w.word) == 0 {
		return
	}
	if w.column > 0 && w.column+w.gap+w.size > w.room {
		w.endRow()
	} else {
		w.row = append(w.row, w.blanks...)
		w.column += w.gap
		w.blanks, w.gap = nil, 0
	}
	w.row = append(w.row, w.word...)
	w.column += w.size
	w.word, w.size = nil, 0
}

func (w *wrapper) endRow() {
	w.lines = append(w.lines, w.row)
	w.row, w.column, w.blanks, w.gap = nil, 0, nil, 0
}

// render is a line with its sequences. base is the style of all of it.
func (l line) render(s *Styles, base string) string {
	var b strings.Builder
	for i := 0; i < len(l); {
		to := i + 1
		text := l[i].text
		for to < len(l) && l[to].style == l[i].style && l[to].url == l[i].url {
			text += l[to].text
			to++
		}
		b.WriteString(s.span(span{text, l[i].style, l[i].url}, base))
		i = to
	}
	return b.String()
}

func (s *Styles) span(p span, base string) string {
	begin := base
	for _, one := range [...]struct {
		style style
		begin string
	}{{strong, s.Strong}, {emphasized, s.Emphasis}, {struck, s.Strike}, {verbatim, s.Code}, {muted, s.Muted}} {
		if p.style&one.style != 0 {
			begin += one.begin
		}
	}
	if p.style&verbatim != 0 && s.Code == "" {
		p.text = "`" + p.text + "`"
	}
	if p.url == "" {
		return styled(begin, p.text)
	}
	if p.style&muted == 0 {
		begin += s.Link
	}
	text := styled(begin, p.text)
	if s.Addresses {
		text = ansi.SetHyperlink(p.url) + text + ansi.ResetHyperlink()
	}
	return text
}
