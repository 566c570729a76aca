package chat

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	safe "github.com/thinkd/thinkd/cmd/thinkd/printable"
)

// line is the text in one line of at most width columns.
func line(text string, width int) string {
	return ansi.Truncate(strings.Join(strings.Fields(safe.Clean(text)), " "), max(width, 1), "…")
}

// rows folds text as the terminal does: at the margin, even inside a word.
func rows(text string, width int) []string {
	return strings.Split(ansi.Hardwrap(text, max(width, 1), true), "\n")
}

// fold breaks a line only between words. The terminal breaks a word that is longer than a row, such as an address or a command.
func fold(text string, width int) []string {
	if ansi.StringWidth(text) <= width {
		return []string{text}
	}
	var out []string
	start, column := 0, 0 // of the row; within it, where the next word begins
	for at := 0; at < len(text); {
		end := at + strings.IndexByte(text[at:]+" ", ' ')
		for end < len(text) && end == at && text[end] == ' ' { // blanks belong to the word behind them
			at, column = at+1, column+1
			end = at + strings.IndexByte(text[at:]+" ", ' ')
		}
		w := ansi.StringWidth(text[at:end])
		if column+w > width && at > start && strings.TrimSpace(text[start:at]) != "" {
			out = append(out, strings.TrimRight(text[start:at], " "))
			start, column = at, 0
		}
		column += w
		at = end
	}
	return append(out, text[start:])
}

// foldAll folds each line of a text.
func foldAll(text string, width int) []string {
	var out []string
	for one := range strings.SplitSeq(text, "\n") {
		out = append(out, fold(one, width)...)
	}
	return out
}

// tail is the end of a text, of at least n rows if it has them: of a long one that grows no more is looked at.
func tail(text string, width, n int) string {
	at := len(text) - 4*n*max(width, 1)
	if at <= 0 {
		return text
	}
	if _, rest, ok := strings.Cut(text[at:], "\n"); ok {
		return rest
	}
	return strings.ToValidUTF8(text[at:], "")
}

func last(rows []string, n int) []string { return rows[max(len(rows)-n, 0):] }

// printable is a line such that the terminal and the renderer agree on how many rows it takes. The renderer counts
// width/columns+1, and erases to the right of what it wrote, which takes the last cell of a row that is just full.
func printable(text string, width int) []string {
	if width < 2 {
		return []string{text}
	}
	w := ansi.StringWidth(text)
	switch {
	case w == 0 || w < width:
		return []string{text}
	case w%width == 0:
		text += " "
		w++
	}
	if folded := rows(text, width); len(folded) == w/width+1 {
		return []string{text}
	}
	return rows(text, width-1) // a wide character stands at the margin
}

// look has the styles of the parts. Without colour, the other attributes stay.
type look struct{ plain, colour bool }

func (l look) thinking(s string) string { return l.with("\x1b[2;3m", s) }
func (l look) dim(s string) string      { return l.with("\x1b[2m", s) }
func (l look) bold(s string) string     { return l.with("\x1b[1m", s) }
func (l look) mark(s string) string     { return l.with("\x1b[7m", s) }

// hidden is a name in place of a character. What stands around it keeps its own style.
func (l look) hidden(s string) string {
	if l.plain || s == "" {
		return s
	}
	return "\x1b[7m" + s + "\x1b[27m"
}

func (l look) warning(s string) string  { return l.tinted("\x1b[33m", "\x1b[1m", s) }
func (l look) selected(s string) string { return l.tinted("\x1b[36m", "\x1b[1m", s) }
func (l look) added(s string) string    { return l.tinted("\x1b[32m", "", s) }
func (l look) removed(s string) string  { return l.tinted("\x1b[31m", "", s) }

// tinted has a colour, or another style where there is none.
func (l look) tinted(colour, other, s string) string {
	switch {
	case l.colour:
		return l.with(colour, s)
	case other != "":
		return l.with(other, s)
	}
	return s
}

func (l look) failure(s string) string {
	if !l.colour {
		return l.bold(s)
	}
	return l.with("\x1b[31m", s)
}

// with sets the style again on each line, because the terminal prints them separately.
func (l look) with(style, s string) string {
	if l.plain || s == "" {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, one := range lines {
		if one != "" {
			lines[i] = style + one + "\x1b[m"
		}
	}
	return strings.Join(lines, "\n")
}

// thousands is a number of tokens in few characters.
func thousands(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 100_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
}
