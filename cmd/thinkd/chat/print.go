package chat

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// foldedRows is how much of thinking and of a tool's output stands in the history.
const foldedRows = 8

// ready are the lines that go to the scrollback now, and counts them as printed. A line has no newline, and the
// terminal folds it.
func (c *conversation) ready(width int, l look) []string {
	var lines []string
	for c.next < len(c.items) {
		it := c.items[c.next]
		lines = append(lines, it.ready(width, l)...)
		if !it.done {
			break
		}
		c.next++
	}
	return lines
}

func (it *item) ready(width int, l look) []string {
	if it.kind == answer {
		return it.spoken(width)
	}
	if !it.done {
		return nil
	}
	switch text := strings.TrimRight(it.text(), "\n"); it.kind {
	case said:
		head := ""
		if it.head != "" {
			head = " " + l.dim("("+it.head+")")
		}
		return append([]string{""}, strings.Split(l.bold("> "+text)+head, "\n")...)
	case thinking:
		return append([]string{"", l.dim("∴ " + it.head)}, folded(text, width, l, l.thinking)...)
	case call:
		return []string{"", line("→ "+text, width-1)}
	case output:
		if it.bad {
			return folded("error: "+text, width, l, l.failure)
		}
		return folded(text, width, l, l.dim)
	case asked:
		return append([]string{""}, it.approval(width-1, l)...)
	case failure:
		return append([]string{""}, styled(foldAll("error: "+text, width-1), l.failure)...)
	case warned:
		return styled(foldAll("! "+text, width-1), l.warning)
	case paused:
		return append([]string{""}, styled(foldAll("‖ "+text, width-1), l.warning)...)
	case spent:
		return append([]string{""}, foldAll("? "+text, width-1)...)
	default:
		return styled(foldAll("· "+text, width-1), l.dim)
	}
}

// approval is all of a call that was asked about, and what became of the question.
func (it *item) approval(width int, l look) []string {
	out := foldAll("? "+visible(it.question.Message), width)
	for _, r := range callRows(*it.question, width, l) {
		out = append(out, r.text)
	}
	return append(out, styled(foldAll("· "+it.head, width), l.dim)...)
}

func styled(rows []string, style func(string) string) []string {
	for i, row := range rows {
		rows[i] = style(row)
	}
	return rows
}

// folded are the first rows of a text, as rows: they are for reading.
func folded(text string, width int, l look, style func(string) string) []string {
	if text == "" {
		return nil
	}
	all := foldAll(text, width-1)
	out := styled(all[:min(len(all), foldedRows)], style)
	if more := len(all) - len(out); more > 0 {
		out = append(out, l.dim(line(fmt.Sprintf("… %d more rows (Ctrl+O)", more), width-1)))
	}
	return out
}

// spoken are the lines of an answer that nothing can change any more.
func (it *item) spoken(width int) []string {
	rest := it.text()[it.printed:]
	if !it.done {
		rest = rest[:strings.LastIndexByte(rest, '\n')+1]
	}
	if rest == "" {
		return nil
	}
	it.printed += len(rest)
	var lines []string
	if !it.begun {
		it.begun = true
		lines = []string{""}
	}
	for one := range strings.SplitSeq(strings.TrimSuffix(rest, "\n"), "\n") {
		lines = append(lines, it.folded(one, width)...)
		if strings.HasPrefix(strings.TrimSpace(one), "```") {
			it.fenced = !it.fenced
		}
	}
	return lines
}

// folded is a line of an answer as it is printed. In prose a line break means no more than a blank, so that it can be
// folded between words. Code and tables stay in one piece: the terminal folds them, and what is copied is as it was said.
func (it *item) folded(one string, width int) []string {
	if it.fenced || strings.HasPrefix(one, "    ") || strings.HasPrefix(one, "|") {
		return []string{one}
	}
	return fold(one, width-1)
}

// live are the last n rows of what is being written.
func (c *conversation) live(width, n int, l look) []string {
	var out []string
	for _, it := range c.items[c.next:] {
		if it.done {
			continue
		}
		switch it.kind {
		case answer:
			if rest := it.text()[it.printed:]; rest != "" {
				for _, one := range it.folded(rest, width) {
					out = append(out, last(rows(one, width), n)...)
				}
			}
		case thinking:
			if it.body.Len() == 0 {
				continue
			}
			for _, row := range last(foldAll(tail(it.text(), width, n), width-1), foldedRows) {
				out = append(out, l.thinking(row))
			}
		default:
			if it.body.Len() == 0 {
				continue
			}
			for _, row := range last(rows(tail(strings.TrimRight(it.text(), "\n"), width, n), width), foldedRows) {
				out = append(out, l.dim(row))
			}
		}
	}
	return last(out, n)
}

// whole is the conversation with all of its thinking and output, folded at words: it is for reading.
func (c *conversation) whole(width int, l look) []string {
	var out []string
	put := func(style func(string) string, text string) {
		for _, row := range strings.Split(ansi.Wrap(text, max(width, 1), ""), "\n") {
			out = append(out, style(row))
		}
	}
	asIs := func(s string) string { return s }
	for _, it := range c.items {
		text := strings.TrimRight(it.text(), "\n")
		if it.kind != note && it.kind != warned && it.kind != output {
			out = append(out, "")
		}
		switch it.kind {
		case said:
			put(l.bold, "> "+text)
		case thinking:
			head := it.head
			if !it.done {
				head = "thinking"
			}
			put(l.dim, "∴ "+head)
			if text != "" {
				put(l.thinking, text)
			}
		case call:
			put(asIs, "→ "+text)
		case output:
			switch {
			case it.bad:
				put(l.failure, "error: "+text)
			case text != "":
				put(l.dim, text)
			}
		case asked:
			out = append(out, it.approval(width, l)...)
		case failure:
			put(l.failure, "error: "+text)
		case warned:
			put(l.warning, "! "+text)
		case paused:
			put(l.warning, "‖ "+text)
		case spent:
			put(asIs, "? "+text)
		case note:
			put(l.dim, "· "+text)
		default:
			put(asIs, text)
		}
	}
	return out
}

// reader shows the whole conversation over the whole screen. What comes meanwhile is shown as it comes, as long as the
// end is in view.
type reader struct {
	up    int // how many rows the view is above the end
	total int // rows, when it was last drawn
	page  int
}

func (r *reader) move(by int) { r.up = min(max(r.up+by, 0), max(r.total-r.page, 0)) }

func (r *reader) view(c *conversation, width, height int, l look) string {
	all := c.whole(width, l)
	if grown := len(all) - r.total; r.up > 0 && r.total > 0 && grown > 0 {
		r.up += grown // what is read stays where it is
	}
	r.total, r.page = len(all), max(height-1, 1)
	r.move(0)
	to := len(all) - r.up
	shown := all[max(to-r.page, 0):to]
	lines := append(append([]string(nil), shown...), make([]string, r.page-len(shown))...)
	foot := fmt.Sprintf("rows %d to %d of %d · ↑ ↓ PgUp PgDn · Ctrl+O goes back", to-len(shown)+1, to, len(all))
	return strings.Join(append(lines, l.dim(line(foot, width-1))), "\n")
}
