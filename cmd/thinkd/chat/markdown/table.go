package markdown

import (
	"strings"
)

// A table holds its rows until its end, because the widest cell of a column sets its width.
type table struct {
	align  []byte // of each column: l, r or c
	rows   [][]string
	size   int   // bytes of all cells
	widths []int // once the first rows were printed
}

// mostColumns is how many columns a table can have.
const mostColumns = 32

// gutter stands between two columns.
const gutter = "  "

// alignments reads the line below the head; nil: it is none.
func alignments(body string) []byte {
	if !strings.Contains(body, "-") || strings.Trim(body, "|-: ") != "" || !strings.ContainsAny(body, "|:") {
		return nil
	}
	var align []byte
	for _, cell := range split(body) {
		dashes := strings.TrimSuffix(strings.TrimPrefix(cell, ":"), ":")
		if dashes == "" || strings.Trim(dashes, "-") != "" || len(align) == mostColumns {
			return nil
		}
		switch {
		case strings.HasSuffix(cell, ":") && strings.HasPrefix(cell, ":"):
			align = append(align, 'c')
		case strings.HasSuffix(cell, ":"):
			align = append(align, 'r')
		default:
			align = append(align, 'l')
		}
	}
	return align
}

// split are the cells of a line. A bar behind a backslash belongs to its cell.
func split(body string) (cells []string) {
	body = strings.TrimPrefix(strings.Trim(body, " "), "|")
	start := 0
	for i := 0; i < len(body); i++ {
		switch {
		case body[i] == '\\':
			i++
		case body[i] == '|':
			cells = append(cells, body[start:i])
			start = i + 1
		}
	}
	if start < len(body) {
		cells = append(cells, body[start:])
	}
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(strings.Trim(c, " "), `\|`, "|")
	}
	return cells
}

// add takes a row. It has as many cells as the head.
func (t *table) add(body string) {
	cells := split(body)
	for len(cells) < len(t.align) {
		cells = append(cells, "")
	}
	t.rows = append(t.rows, cells[:len(t.align)])
	t.size += len(body)
}

// render are the rows of a table that fits into a width. Where its columns would be too narrow, each cell has a row, behind its title.
func (t *table) render(room int, styles *Styles) []string {
	if len(t.rows) == 0 {
		return nil
	}
	cells := make([][][]span, len(t.rows))
	for i, row := range t.rows {
		for _, cell := range row {
			cells[i] = append(cells[i], inline(strings.NewReplacer("<br>", "\n", "<br/>", "\n", "<br />", "\n").Replace(cell)))
		}
	}
	first := t.widths == nil
	if first {
		if t.widths = fit(cells, room-len(gutter)*(len(t.align)-1)); t.widths == nil {
			return t.records(cells, room, styles)
		}
	}
	var out []string
	for i, row := range cells {
		base := ""
		if first && i == 0 {
			base = styles.Heading
		}
		out = append(out, t.row(row, styles, base)...)
		if first && i == 0 {
			var rules []string
			for _, w := range t.widths {
				rules = append(rules, strings.Repeat("─", w))
			}
			out = append(out, styled(styles.Muted, strings.Join(rules, gutter)))
		}
	}
	return out
}

// A column is at least so wide, if its cells are: narrowest, or more for its longest word, but not for a word beyond wordMost.
const (
	narrowest = 6
	wordMost  = 16
)

// fit are the widths of columns that take at most so many columns of the terminal: the widest ones give way, as far as their words stay
// whole. nil: there is no room.
func fit(cells [][][]span, room int) []int {
	widths, least := make([]int, len(cells[0])), make([]int, len(cells[0]))
	for _, row := range cells {
		for i, cell := range row {
			widths[i] = max(widths[i], widest(wrap(cell, 1<<20, false)), 1)
			least[i] = max(least[i], min(widest(wrap(cell, 1, false)), wordMost), narrowest)
		}
	}
	for {
		sum, most, second := 0, -1, 0 // the widest column that can give way, and the next one
		for i, w := range widths {
			sum += w
			switch {
			case w <= least[i]:
			case most < 0 || w > widths[most]:
				if most >= 0 {
					second = max(second, widths[most])
				}
				most = i
			default:
				second = max(second, w)
			}
		}
		over := sum - room
		if over <= 0 {
			return widths
		}
		if most < 0 {
			return nil
		}
		widths[most] -= min(over, max(widths[most]-max(second, least[most]), 1))
	}
}

func widest(lines []line) (w int) {
	for _, l := range lines {
		w = max(w, l.width())
	}
	return w
}

// row is a row of the table, which takes as many rows of the terminal as its highest cell.
func (t *table) row(cells [][]span, styles *Styles, base string) []string {
	folded := make([][]line, len(cells))
	height := 1
	for i, cell := range cells {
		folded[i] = wrap(cell, t.widths[i], true)
		height = max(height, len(folded[i]))
	}
	out := make([]string, height)
	for n := range out {
		var b strings.Builder
		for i := range cells {
			var l line
			if n < len(folded[i]) {
				l = folded[i][n]
			}
			pad := t.widths[i] - l.width()
			before := map[byte]int{'l': 0, 'r': pad, 'c': pad / 2}[t.align[i]]
			b.WriteString(strings.Repeat(" ", max(before, 0)) + l.render(styles, base) + strings.Repeat(" ", max(pad-before, 0)))
			if i < len(cells)-1 {
				b.WriteString(gutter)
			}
		}
		out[n] = strings.TrimRight(b.String(), " ")
	}
	return out
}

// records are the cells below each other.
func (t *table) records(cells [][][]span, room int, styles *Styles) []string {
	t.widths = nil
	var out []string
	for i, row := range cells[1:] {
		if i > 0 {
			out = append(out, "")
		}
		for n, cell := range row {
			text := append(append([]span{}, cells[0][n]...), span{text: ": "})
			for _, l := range wrap(append(text, cell...), room, false) {
				out = append(out, l.render(styles, ""))
			}
		}
	}
	return out
}
