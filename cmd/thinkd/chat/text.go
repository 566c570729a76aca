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

// foldBehind folds each line of a text behind a sign. The other rows are indented as far as the sign; those of a line with a second column,
// such as a name and what it means, as far as that column.
func foldBehind(sign, text string, width int) []string {
	var out []string
	indent := ansi.StringWidth(sign)
	for one := range strings.SplitSeq(text, "\n") {
		hang := indent
		if name, meaning, ok := strings.Cut(one, "  "); ok && strings.TrimSpace(name) != "" && meaning != "" {
			second := indent + ansi.StringWidth(one) - ansi.StringWidth(strings.TrimLeft(meaning, " "))
			if second <= width/2 {
				hang = second
			}
		}
		first := fold(one, width-indent)[0]
		out = append(out, sign+first)
		sign = strings.Repeat(" ", indent)
		if rest := strings.TrimLeft(strings.TrimPrefix(one, first), " "); rest != "" {
			for _, row := range fold(rest, width-hang) {
				out = append(out, strings.Repeat(" ", hang)+row)
			}
		}
	}
	for i, row := range out {
		out[i] = strings.TrimRight(row, " ")
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

// size64 is a number of bytes for a person.
func size64(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f KB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1_000_000)
}
