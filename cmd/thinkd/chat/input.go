package chat

import (
	"slices"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	safe "github.com/thinkd/thinkd/cmd/thinkd/printable"
)

// An input is an editor for a few lines. It folds them between words at the width, with a prompt before each row. It grows up to most
// rows, and then scrolls.
//
// The library's own editor (charm.land/bubbles/v2/textarea) costs time in every command of thinkd before main. It searches PATH for
// clipboard programs, and if standard output is a terminal inside tmux, it runs `tmux info`.
type input struct {
	text  []character
	at    int // the cursor stands before this one
	width int // columns of a row, with the prompt
	most  int // rows that are shown
	top   int // the first row that is shown
	goal  int // the column that moves up and down keep; -1: that of the cursor
}

// A character is one grapheme, of one or more code points. "\n" ends a line.
type character struct {
	text  string
	width int
}

// mark stands before each row.
const mark = "> "

func newInput() input { return input{width: 80, most: 1, goal: -1} }

// span is a part of the text: text[from:to].
type span struct{ from, to int }

// Value returns the text.
func (in *input) Value() string { return in.of(span{0, len(in.text)}) }

func (in *input) of(part span) string {
	var b strings.Builder
	for _, c := range in.text[part.from:part.to] {
		b.WriteString(c.text)
	}
	return b.String()
}

// SetValue replaces the text and puts the cursor at its end.
func (in *input) SetValue(text string) {
	in.text, in.at, in.top = nil, 0, 0
	in.insert(text)
}

// Replace puts text in place of what stands between a character and the cursor.
func (in *input) Replace(from int, text string) {
	in.cut(from, in.at)
	in.insert(text)
}

// SetSize sets the size of the window.
func (in *input) SetSize(width, most int) {
	in.width, in.most = width, most
	in.scroll()
}

// OnFirstLine reports whether the cursor is on the first line.
func (in *input) OnFirstLine() bool { return !slices.ContainsFunc(in.text[:in.at], character.ends) }

// OnLastLine reports whether the cursor is on the last line.
func (in *input) OnLastLine() bool { return !slices.ContainsFunc(in.text[in.at:], character.ends) }

// Paste inserts text that a terminal pastes.
func (in *input) Paste(text string) {
	in.insert(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text))
}

// insert puts text before the cursor, as far as a terminal can show it.
func (in *input) insert(text string) {
	var list []character
	for text = safe.Clean(text); text != ""; {
		one, width := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		list = append(list, character{one, width})
		text = text[len(one):]
	}
	in.text = slices.Insert(in.text, in.at, list...)
	in.move(in.at + len(list))
}

// Press handles a key.
func (in *input) Press(k tea.KeyPressMsg) {
	line := in.line()
	switch k.String() {
	case "ctrl+j", "shift+enter", "alt+enter":
		in.insert("\n")
	case "left", "ctrl+b":
		in.move(in.at - 1)
	case "right", "ctrl+f":
		in.move(in.at + 1)
	case "alt+left", "ctrl+left", "alt+b":
		in.move(in.wordLeft())
	case "alt+right", "ctrl+right", "alt+f":
		in.move(in.wordRight())
	case "up", "ctrl+p":
		in.climb(-1)
	case "down", "ctrl+n":
		in.climb(1)
	case "home", "ctrl+a":
		in.move(line.from)
	case "end", "ctrl+e":
		in.move(line.to)
	case "ctrl+home", "alt+<":
		in.move(0)
	case "ctrl+end", "alt+>":
		in.move(len(in.text))
	case "backspace", "ctrl+h":
		in.cut(in.at-1, in.at)
	case "delete", "ctrl+d":
		in.cut(in.at, in.at+1)
	case "alt+backspace", "ctrl+w":
		in.cut(in.wordLeft(), in.at)
	case "alt+delete", "alt+d":
		in.cut(in.at, in.wordRight())
	case "ctrl+u": // at the start of a line, its end before it
		in.cut(min(line.from, max(in.at-1, 0)), in.at)
	case "ctrl+k":
		in.cut(in.at, max(line.to, in.at+1))
	default:
		in.insert(k.Text)
	}
}

// move puts the cursor somewhere.
func (in *input) move(at int) {
	in.at = min(max(at, 0), len(in.text))
	in.moved()
}

// cut takes out text[from:to], as far as it is there.
func (in *input) cut(from, to int) {
	from, to = max(from, 0), min(to, len(in.text))
	in.text = slices.Delete(in.text, from, max(from, to))
	in.move(from)
}

// moved is for every change but one to another row.
func (in *input) moved() {
	in.goal = -1
	in.scroll()
}

// climb moves the cursor by rows.
func (in *input) climb(by int) {
	rows := in.rows()
	here := in.rowOf(rows)
	if here+by < 0 || here+by >= len(rows) {
		return
	}
	if in.goal < 0 {
		in.goal = in.columns(rows[here].from, in.at)
	}
	there := rows[here+by]
	in.at = there.from
	last := there.to // a row that goes on ends before its last character: behind it is the next row
	if here+by+1 < len(rows) && rows[here+by+1].from == there.to {
		last--
	}
	for in.at < last && in.columns(there.from, in.at+1) <= in.goal {
		in.at++
	}
	in.scroll()
}

// line is the one with the cursor, without its end.
func (in *input) line() span {
	from := in.at
	for from > 0 && !in.text[from-1].ends() {
		from--
	}
	to := in.at
	for to < len(in.text) && !in.text[to].ends() {
		to++
	}
	return span{from, to}
}

func (c character) ends() bool  { return c.text == "\n" }
func (c character) blank() bool { return strings.TrimFunc(c.text, unicode.IsSpace) == "" }

// wordLeft is where the word before the cursor begins.
func (in *input) wordLeft() int {
	at := in.at
	for at > 0 && in.text[at-1].blank() {
		at--
	}
	for at > 0 && !in.text[at-1].blank() {
		at--
	}
	return at
}

// wordRight is where the word behind the cursor ends.
func (in *input) wordRight() int {
	at := in.at
	for at < len(in.text) && in.text[at].blank() {
		at++
	}
	for at < len(in.text) && !in.text[at].blank() {
		at++
	}
	return at
}

// columns is the width of text[from:to].
func (in *input) columns(from, to int) (n int) {
	for _, c := range in.text[from:to] {
		n += c.width
	}
	return n
}

// rows folds the text: behind a blank where there is one, else where the row is full. There is always one row.
func (in *input) rows() []span {
	room := max(in.width-len(mark), 1)
	var list []span
	from, word, column := 0, 0, 0 // where the row begins, and its last word; the width so far
	for i, c := range in.text {
		if c.ends() {
			list = append(list, span{from, i})
			from, word, column = i+1, i+1, 0
			continue
		}
		for column+c.width > room && i > from { // twice where the last word fills the next row as well
			if word == from {
				word = i
			}
			list = append(list, span{from, word})
			from, column = word, in.columns(word, i)
		}
		column += c.width
		if c.blank() {
			word = i + 1
		}
	}
	return append(list, span{from, len(in.text)})
}

// rowOf is the index of the row with the cursor.
func (in *input) rowOf(rows []span) int {
	i := len(rows) - 1
	for rows[i].from > in.at {
		i--
	}
	return i
}

// scroll keeps the cursor in sight, and no row empty that need not be.
func (in *input) scroll() {
	rows := in.rows()
	here := in.rowOf(rows)
	in.top = max(min(in.top, here, len(rows)-in.most), here-in.most+1, 0)
}

// Height returns the height in rows.
func (in *input) Height() int { return min(len(in.rows()), max(in.most, 1)) }

// View returns the visible rows.
func (in *input) View() string {
	var lines []string
	for _, r := range in.rows()[in.top : in.top+in.Height()] {
		lines = append(lines, mark+in.of(r))
	}
	return strings.Join(lines, "\n")
}

// Cursor returns the position of the terminal's cursor, from the first visible row.
func (in *input) Cursor() *tea.Cursor {
	rows := in.rows()
	here := in.rowOf(rows)
	return tea.NewCursor(len(mark)+in.columns(rows[here].from, in.at), here-in.top)
}
