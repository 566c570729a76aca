package chat

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/thinkd/thinkd/agent/tool/approval"
)

// visible is a short text of others in one line, with a name in place of each character that cannot be seen.
func visible(text string) string {
	shown, _ := approval.Reveal(text)
	return strings.NewReplacer("\n", "‹U+000A›", "\t", "‹U+0009›").Replace(shown)
}

// hidden counts the characters of a call that cannot be seen.
func (u update) hidden() (n int) {
	for _, p := range u.Parts {
		_, name := approval.Reveal(p.Name)
		_, text := approval.Reveal(p.Text)
		n += name + text
	}
	return n
}

// size is how long a command is.
func size(text string) string {
	words := fmt.Sprintf("%d characters", utf8.RuneCountInString(text))
	if n := len(textLines(text)); n > 1 {
		words += fmt.Sprintf(", %d lines", n)
	}
	return words
}

// changed counts the lines that a diff adds and removes.
func changed(diff string) (added, removed int) {
	for _, one := range textLines(diff) {
		switch {
		case strings.HasPrefix(one, "+"):
			added++
		case strings.HasPrefix(one, "-"):
			removed++
		}
	}
	return added, removed
}

// textLines are the lines of a text, of which the last need not end.
func textLines(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// cell is what stands in some columns of a row.
type cell struct {
	text   string
	width  int
	hidden bool // it stands for a character that cannot be seen
}

// cells are a line of a call. A tab is a blank up to the next column that eight divides.
func cells(line string) (list []cell) {
	add := func(text string, hidden bool) {
		for text != "" {
			one, width := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
			list = append(list, cell{one, width, hidden})
			text = text[len(one):]
		}
	}
	start := 0
	for i, r := range line {
		name := ""
		switch {
		case r == '\t':
		case r == '\n' || approval.Hidden(r): // of a name; a text has no newline inside of a line
			name = "‹" + approval.HiddenName(r) + "›"
		case r == '‹' && strings.HasPrefix(line[i+len("‹"):], "U+"):
			name = "‹U+2039›"
		default:
			continue
		}
		add(line[start:i], false)
		if add(name, true); r == '\t' {
			list = append(list, cell{"\t", 8, false})
		}
		_, n := utf8.DecodeRuneInString(line[i:])
		start = i + n
	}
	add(line[start:], false)
	return list
}

// folds are the rows of a line: as many columns as there is room for, wherever that is.
func folds(line string, room int, l look) (out []string) {
	var row, run strings.Builder
	column, hidden := 0, false
	flush := func() {
		text := run.String()
		if hidden {
			text = l.hidden(text)
		}
		row.WriteString(text)
		run.Reset()
	}
	for _, c := range cells(line) {
		if c.text == "\t" {
			c.width = 8 - column%8
			c.text = strings.Repeat(" ", min(c.width, max(room-column, 1)))
			c.width = len(c.text)
		}
		if column+c.width > room && column > 0 {
			flush()
			out = append(out, row.String())
			row.Reset()
			column = 0
		}
		if c.hidden != hidden {
			flush()
			hidden = c.hidden
		}
		run.WriteString(c.text)
		column += c.width
	}
	flush()
	return append(out, row.String())
}

// cardRow is a row of a call, and where it ends in it.
type cardRow struct {
	text string
	end  int
}

// layout puts a call into rows.
type layout struct {
	width int
	look  look
	rows  []cardRow
	bytes int
}

// put adds a line behind what stands before it. Rows that continue it have a sign there.
func (b *layout) put(before, line string, style func(string) string) {
	w := ansi.StringWidth(before)
	next := strings.Repeat(" ", max(w-3, 0)) + "↪  "
	if w < 3 {
		next = strings.Repeat(" ", w)
	}
	b.bytes += len(line) + 1
	list := folds(line, max(b.width-w, 1), b.look)
	for i, row := range list {
		if style != nil {
			row = style(row)
		}
		if i > 0 {
			before = b.look.dim(next)
		}
		end := b.bytes
		if i < len(list)-1 { // a share of the line, so that a wide window and a narrow one agree on what was seen
			end = b.bytes - len(line) - 1 + len(line)*(i+1)/len(list)
		}
		b.rows = append(b.rows, cardRow{before + row, end})
	}
}

// callRows are all rows of a call.
func callRows(q update, width int, l look) []cardRow {
	b := &layout{width: width, look: l}
	name := 0
	for _, p := range q.Parts {
		if p.Kind != "diff" && p.Kind != "content" {
			name = max(name, ansi.StringWidth(visible(p.Name)))
		}
	}
	name = min(name, 16, width/3)
	for _, p := range q.Parts {
		switch p.Kind {
		case "command":
			b.numbered("", p.Text)
		case "diff":
			b.put("  ", p.Name, l.bold)
			b.diff(p.Text)
		case "content":
			b.put("  ", p.Name, l.bold)
			b.numbered("", p.Text)
		default:
			b.value(p, name)
		}
	}
	return b.rows
}

func (b *layout) numbered(before, text string) {
	list := textLines(text)
	digits := max(len(strconv.Itoa(len(list))), 2)
	for i, one := range list {
		b.put(fmt.Sprintf("%s  %*d  ", before, digits, i+1), one, nil)
	}
	if text == "" {
		b.rows[len(b.rows)-1].text += b.look.dim("(empty)")
	}
}

// value is an argument: its name, and its text beside it.
func (b *layout) value(p part, column int) {
	name := "  " + visible(p.Name)
	blank := strings.Repeat(" ", column+4)
	if ansi.StringWidth(name) > column+2 {
		b.put("  ", p.Name, b.look.dim)
		name = blank
	} else {
		name += strings.Repeat(" ", column+4-ansi.StringWidth(name))
	}
	if list := textLines(p.Text); len(list) > 1 {
		for i, one := range list {
			if i > 0 {
				name = blank
			}
			b.put(name+"│ ", one, nil)
		}
		return
	}
	b.put(name, strings.TrimSuffix(p.Text, "\n"), nil)
	if p.Text == "" {
		b.rows[len(b.rows)-1].text += b.look.dim("(empty)")
	}
}

// diff is hunks with the numbers of their lines, before and after.
func (b *layout) diff(text string) {
	var from, to int
	numbers := false
	number := func(n int, shown bool) string {
		if !shown || !numbers {
			return "    "
		}
		return fmt.Sprintf("%4d", n)
	}
	for _, one := range textLines(text) {
		switch sign, rest := one[:min(len(one), 1)], one[min(len(one), 1):]; sign {
		case "@":
			var oldCount, newCount int
			_, err := fmt.Sscanf(one, "@@ -%d,%d +%d,%d @@", &from, &oldCount, &to, &newCount)
			numbers = err == nil
			b.put("  ", one, b.look.dim)
		case "-":
			b.put(number(from, true)+number(to, false)+"  - ", rest, b.look.removed)
			from++
		case "+":
			b.put(number(from, false)+number(to, true)+"  + ", rest, b.look.added)
			to++
		case " ":
			b.put(number(from, true)+number(to, true)+"    ", rest, nil)
			from, to = from+1, to+1
		default:
			b.put("            ", one, b.look.dim)
		}
	}
}
