package printable

import (
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// Columns is how many columns the terminal has that w writes to; 0 if w is no terminal.
func Columns(w any) int {
	if safe, ok := w.(*Writer); ok {
		w = safe.To
	}
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// Wrap breaks the lines of a text between words, so that they fit into so many columns; 0: it breaks none. What continues a line is
// indented. A word that is too long stays whole.
func Wrap(text string, columns, indent int) string {
	if columns <= 2*indent {
		return text
	}
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if ansi.StringWidth(line) > columns {
			own := len(line) - len(strings.TrimLeft(line, " "))
			line = line[:own] + strings.Join(rows(line[own:], columns-own, indent), "\n"+strings.Repeat(" ", own+indent))
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// rows are the words of a line, in rows of so many columns, less the indent of all rows except the first. Only spaces part words: a path has
// hyphens.
func rows(line string, columns, indent int) []string {
	var list []string
	for i, word := range strings.Split(line, " ") {
		last := len(list) - 1
		if i == 0 || ansi.StringWidth(list[last])+1+ansi.StringWidth(word) > columns {
			if i > 0 && last == 0 {
				columns -= indent
			}
			list = append(list, word)
		} else {
			list[last] += " " + word
		}
	}
	return list
}

// Cut shortens each line of a text to so many columns; 0: it shortens none. An ellipsis stands for what is left out.
func Cut(text string, columns int) string {
	if columns <= 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = ansi.Truncate(strings.TrimRight(line, " "), columns, "…")
	}
	return strings.Join(lines, "\n")
}
