package chat

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// foldedRows is how much of thinking and of a tool's output stands in the history.
const foldedRows = 8

// ready are the lines that go to the scrollback now, and counts them as printed. A line has no newline, and the
// terminal folds it. room is how many rows can stay on the screen because of a thought that can still be folded.
func (c *conversation) ready(width, room int, l look) []string {
	var lines []string
	for hold := c.holding(width, room, l); c.next < hold; c.next++ {
		it := c.items[c.next]
		lines = append(lines, it.ready(width, l, c.unfolded)...)
		if !it.done {
			break
		}
	}
	return lines
}

// holding is the first item that stays on the screen: a thought of the last turn with all that follows it, as far as there is room. So
// the thought can be folded and unfolded in place.
func (c *conversation) holding(width, room int, l look) int {
	hold, height := len(c.items), 0
	for i := len(c.items) - 1; i >= c.next; i-- {
		it := c.items[i]
		if it.kind == said || it.begun {
			break
		}
		if height += len(it.view(width, l, c.unfolded)); height > room {
			break
		}
		if it.kind == thinking && it.done && it.body.Len() > 0 {
			hold = i
		}
	}
	return hold
}

func (it *item) ready(width int, l look, unfolded bool) []string {
	if it.kind == answer {
		return it.spoken(width, l)
	}
	if !it.done {
		return nil
	}
	it.begun = true
	return it.lines(width, l, unfolded)
}

// lines is a whole item as it is printed.
func (it *item) lines(width int, l look, unfolded bool) []string {
	switch text := strings.TrimRight(it.text(), "\n"); it.kind {
	case said:
		return append([]string{""}, it.prompt(text, width-1, l)...)
	case thinking:
		return append([]string{""}, it.thought(text, width, l, unfolded)...)
	case call:
		return []string{"", line("→ "+text, width-1)}
	case output:
		switch {
		case it.bad:
			return folded("error: "+text, width, l, l.failure)
		case it.approved:
			return []string{l.dim("done, as shown above")}
		}
		return folded(text, width, l, l.output(text))
	case asked:
		return append([]string{""}, it.approval(width-1, l)...)
	case failure:
		return append([]string{""}, styled(foldAll("error: "+text, width-1), l.failure)...)
	case warned:
		return styled(foldBehind("! ", text, width-1), l.warning)
	case paused:
		return append([]string{""}, styled(foldBehind("‖ ", text, width-1), l.warning)...)
	case spent:
		return append([]string{""}, foldBehind("? ", text, width-1)...)
	default:
		return styled(foldBehind("· ", text, width-1), l.dim)
	}
}

// promptRows is how much of a prompt stands in the history.
const promptRows = 12

// prompt is what a person has said: the beginning, if it is long.
func (it *item) prompt(text string, width int, l look) []string {
	all := foldBehind("> ", text, width)
	out := styled(all[:min(len(all), promptRows)], l.bold)
	if more := len(all) - len(out); more > 0 {
		out = append(out, l.dim("  "+line(fmt.Sprintf("… %d more rows (Ctrl+O)", more), width-2)))
	}
	if it.head != "" {
		out[len(out)-1] += " " + l.dim("("+it.head+")")
	}
	return out
}

// approval is all of a call that was asked about, and what became of the question.
func (it *item) approval(width int, l look) []string {
	out := foldBehind("? ", visible(it.question.Message), width)
	for _, r := range callRows(*it.question, width, l) {
		out = append(out, r.text)
	}
	return append(out, styled(foldBehind("· ", it.head, width), l.dim)...)
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

// thought is the head of a thought, and its rows if it is unfolded.
func (it *item) thought(text string, width int, l look, unfolded bool) []string {
	head := "∴ " + it.head
	all := foldAll(text, width-1)
	switch {
	case text == "":
		all = nil
	case unfolded:
		head += " · Ctrl+T folds"
	case len(all) == 1:
		head, all = head+" · 1 row · Ctrl+T unfolds", nil
	default:
		head, all = head+fmt.Sprintf(" · %d rows · Ctrl+T unfolds", len(all)), nil
	}
	return append(styled(foldAll(head, width-1), l.dim), styled(all, l.thinking)...)
}

// output is the style of what a tool returns. A diff has its colours.
func (l look) output(text string) func(string) string {
	if !strings.HasPrefix(text, "--- ") && !strings.HasPrefix(text, "diff --git ") && !strings.HasPrefix(text, "@@ ") && !strings.Contains(text, "\n@@ ") {
		return l.dim
	}
	return func(one string) string {
		if coloured, ok := l.diff(one); ok {
			return coloured
		}
		return l.dim(one)
	}
}

// spoken are the rows of an answer that nothing can change any more.
func (it *item) spoken(width int, l look) []string {
	it.prose.update(it.text(), it.done, width-1, l, it.begun)
	lines := it.prose.rows[it.printed:]
	it.printed = len(it.prose.rows)
	if len(lines) > 0 && !it.begun {
		it.begun = true
		return append([]string{""}, lines...)
	}
	return lines
}

// view is what of an item stands on the screen before it is printed.
func (it *item) view(width int, l look, unfolded bool) []string {
	text := strings.TrimRight(it.text(), "\n")
	switch {
	case it.kind == answer:
		it.prose.update(it.text(), it.done, width-1, l, it.begun)
		var out []string
		if !it.begun && text != "" {
			out = append(out, "")
		}
		for _, list := range [][]string{it.prose.rows[it.printed:], it.prose.unfinished()} {
			for _, row := range list {
				out = append(out, rows(row, width-1)...)
			}
		}
		return out
	case it.done:
		if key := (laid{width: width, look: l, unfolded: unfolded}); it.laid.rows == nil || it.laid.width != width || it.laid.look != l || it.laid.unfolded != unfolded {
			for _, one := range it.lines(width, l, unfolded) {
				key.rows = append(key.rows, rows(one, width-1)...)
			}
			it.laid = key
		}
		return it.laid.rows
	case text == "":
		return nil
	case it.kind == thinking:
		return styled(last(foldAll(tail(it.text(), width, foldedRows), width-1), foldedRows), l.thinking)
	}
	return styled(last(rows(tail(text, width, foldedRows), width), foldedRows), l.dim)
}

// live are the last n rows of what is not printed yet.
func (c *conversation) live(width, n int, l look) []string {
	var out []string
	for _, it := range c.items[c.next:] {
		out = append(out, it.view(width, l, c.unfolded)...)
	}
	if len(out) > 0 && out[0] == "" { // the view begins with one
		out = out[1:]
	}
	return last(out, n)
}

// transcript is the conversation with all of its thinking and output, folded at words: it is for reading.
// thought is the row at which the last thought begins.
func (c *conversation) transcript(width int, l look) (out []string, thought int) {
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
			out = append(out, styled(foldBehind("> ", text, width), l.bold)...)
		case thinking:
			head := it.head
			if !it.done {
				head = "thinking"
			}
			thought = len(out)
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
			out = append(out, styled(foldBehind("! ", text, width), l.warning)...)
		case paused:
			out = append(out, styled(foldBehind("‖ ", text, width), l.warning)...)
		case spent:
			out = append(out, foldBehind("? ", text, width)...)
		case note:
			out = append(out, styled(foldBehind("· ", text, width), l.dim)...)
		default:
			it.full.update(it.text(), it.done, width, l, false)
			out = append(out, it.full.all(width)...)
		}
	}
	return out, thought
}

// reader shows the whole conversation over the whole screen. What comes meanwhile is shown as it comes, as long as the
// end is in view.
type reader struct {
	up    int // how many rows the view is above the end
	total int // rows, when it was last drawn
	page  int

	atThought bool // it goes to the last thought when it is first drawn
}

func (r *reader) move(by int) { r.up = min(max(r.up+by, 0), max(r.total-r.page, 0)) }

func (r *reader) view(c *conversation, width, height int, l look) string {
	all, thought := c.transcript(width, l)
	if r.atThought {
		r.atThought, r.up = false, max(len(all)-thought-max(height-1, 1), 0)
	}
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
