package markdown

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/thinkd/thinkd/cmd/thinkd/chat/highlight"
)

// A parser takes lines and writes rows. What is open is a list of containers, the innermost last, and at most one leaf in it.
//
// A line first goes through the containers that it continues. What is left of it may begin more containers, and then begins a leaf or
// belongs to the open one.
type parser struct {
	width  int
	styles *Styles

	in    []container
	lists []list // the last list at each depth, for the numbers of items
	leaf  leaf

	out   []string
	begun bool   // there was a row
	gap   bool   // an empty row stands before the next one
	gapIn string // what the empty row has
}

// A container is a quote or an item of a list.
type container struct {
	quote  bool
	indent int    // of the content of an item
	marker string // of an item; empty: it was printed
	width  int    // of the marker
}

// deepest is how many containers there can be. A deeper mark is text.
const deepest = 12

// A list gives its items their numbers.
type list struct {
	mark byte // -, +, *, . or )
	next int
}

// A leaf is a block of text.
type leaf struct {
	kind  leafKind
	text  string // of a paragraph
	table table

	// Of code:
	fence  string // that ends it; empty: it is indented code
	indent int    // of the fence
	lexer  highlight.Lexer
	blanks int // lines that may still be behind indented code
}

type leafKind int

const (
	none leafKind = iota
	paragraph
	code
	tabular
)

// line takes a line. Where it is joined to the one before, both are parts of a line that was too long.
func (p *parser) line(text string, joined bool) {
	if joined {
		p.join(text)
		return
	}
	rest, matched := p.match(text)
	all := matched == len(p.in)
	if p.leaf.kind == code && p.leaf.fence != "" {
		if all {
			p.fenced(rest)
			return
		}
		p.close(matched)
	}
	rest, opened := p.open(rest, matched, all)
	switch {
	case opened:
	case blank(rest):
		p.blank(matched)
		return
	case !all && p.leaf.kind == paragraph && !startsLeaf(rest): // a lazy line
	default:
		if !all {
			p.close(matched)
		}
	}
	if blank(rest) { // behind the mark of a container
		return
	}
	p.begin(rest)
}

// match goes through the containers that a line continues.
func (p *parser) match(rest string) (behind string, matched int) {
	for _, c := range p.in {
		n := indentOf(rest)
		switch {
		case c.quote && n < 4 && strings.HasPrefix(rest[n:], ">"):
			rest = strings.TrimPrefix(rest[n+1:], " ")
		case !c.quote && blank(rest):
			rest = ""
		case !c.quote && n >= c.indent:
			rest = rest[c.indent:]
		default:
			return rest, matched
		}
		matched++
	}
	return rest, matched
}

// open begins the containers whose marks stand next in a line. It closes what the line does not continue before.
func (p *parser) open(rest string, matched int, all bool) (behind string, opened bool) {
	for len(p.in) < deepest || matched < len(p.in) {
		n := indentOf(rest)
		if n >= 4 || blank(rest) {
			break
		}
		body := rest[n:]
		if body[0] == '>' {
			p.close(matched)
			p.lists = p.lists[:min(len(p.lists), matched)]
			p.in = append(p.in, container{quote: true})
			rest = strings.TrimPrefix(body[1:], " ")
		} else {
			m, ok := parseMarker(body)
			within := all && !opened && p.leaf.kind == paragraph // CommonMark: what may end a paragraph
			if !ok || isRule(body) || within && (m.empty || m.ordered && m.number != 1) {
				break
			}
			p.close(matched)
			p.in = append(p.in, p.item(m, n))
			rest = body[min(m.width, len(body)):]
		}
		matched, opened = matched+1, true
	}
	return rest, opened
}

// item makes the container of an item, with the number that it has in its list.
func (p *parser) item(m marker, indent int) container {
	depth := len(p.in)
	if len(p.lists) <= depth || p.lists[depth].mark != m.mark {
		p.lists = append(p.lists[:min(depth, len(p.lists))], slices.Repeat([]list{{}}, max(depth-len(p.lists), 0))...)
		p.lists = append(p.lists, list{m.mark, m.number})
	}
	p.lists = p.lists[:depth+1]
	l := &p.lists[depth]
	sign := "• "
	switch {
	case m.task != "":
		sign = m.task
	case m.ordered:
		sign = fmt.Sprintf("%d%c ", l.next, m.mark)
	}
	l.next++
	return container{indent: indent + m.indent, marker: sign, width: ansi.StringWidth(sign)}
}

// blank takes a line without text.
func (p *parser) blank(matched int) {
	if p.leaf.kind == code && matched == len(p.in) {
		p.leaf.blanks++
		return
	}
	p.endLeaf()
	if matched < len(p.in) && slices.ContainsFunc(p.in[matched:], func(c container) bool { return c.quote }) {
		p.close(matched)
	}
	if !p.gap {
		p.gap, p.gapIn = true, p.quotes()
	}
}

// begin takes the text of a line behind the marks of its containers: a new leaf, or more of the open one.
func (p *parser) begin(rest string) {
	n := indentOf(rest)
	body := strings.TrimRight(rest[n:], " ")
	if p.leaf.kind == code { // indented
		if n >= 4 {
			for ; p.leaf.blanks > 0; p.leaf.blanks-- {
				p.row("")
			}
			p.row(rest[4:])
			return
		}
		p.endLeaf()
	}
	if n >= 4 && p.leaf.kind == none {
		p.start(leaf{kind: code})
		p.row(rest[4:])
		return
	}
	if n < 4 && p.special(n, body) {
		return
	}
	if p.leaf.kind == tabular {
		if strings.Contains(body, "|") {
			p.leaf.table.add(body)
			p.boundTable()
			return
		}
		p.endLeaf()
	}
	if p.leaf.kind == paragraph {
		if p.tabulated(body) {
			return
		}
		p.leaf.text += "\n" + body
	} else {
		p.start(leaf{kind: paragraph, text: body})
	}
	p.boundParagraph()
}

// special takes a heading, a rule and the beginning of fenced code. It returns false for all others.
func (p *parser) special(indent int, body string) bool {
	switch level, title := heading(body); {
	case level > 0:
		p.start(leaf{})
		p.heading(level, title)
	case p.leaf.kind == paragraph && !blank(p.leaf.text) && len(body) >= 3 && (strings.Trim(body, "=") == "" || strings.Trim(body, "-") == ""):
		level = 1
		if body[0] == '-' {
			level = 2
		}
		title := p.leaf.text
		p.leaf = leaf{}
		p.heading(level, title)
	case isRule(body):
		p.start(leaf{})
		p.row(styled(p.styles.Muted, strings.Repeat("─", min(p.room(), 40))))
	case fenceOf(body) != "":
		fence := fenceOf(body)
		name, _, _ := strings.Cut(strings.TrimSpace(body[len(fence):]), " ")
		p.start(leaf{kind: code, fence: fence, indent: indent, lexer: highlight.New(name)})
		p.row(styled(p.styles.Muted, strings.TrimSpace("── "+ansi.Truncate(name, 20, "…"))))
	default:
		return false
	}
	return true
}

// fenced takes a line of fenced code.
func (p *parser) fenced(rest string) {
	n := indentOf(rest)
	end := strings.TrimRight(rest[n:], " ")
	if n < 4 && len(end) >= len(p.leaf.fence) && strings.Trim(end, p.leaf.fence[:1]) == "" {
		p.row(styled(p.styles.Muted, "──"))
		p.leaf = leaf{}
		return
	}
	p.row(p.styles.code(p.leaf.lexer.Line(rest[min(n, p.leaf.indent):])))
}

// join takes more of a line that is too long.
func (p *parser) join(text string) {
	switch {
	case p.leaf.kind == code:
		p.row(p.styles.code(p.leaf.lexer.Line(text)))
		return
	case p.leaf.kind == paragraph && !blank(p.leaf.text):
		p.leaf.text += text
	default:
		p.start(leaf{kind: paragraph, text: text})
	}
	p.boundParagraph()
}

// boundParagraph hands out a paragraph that is too long.
func (p *parser) boundParagraph() {
	if len(p.leaf.text) > longest {
		p.endLeaf()
		p.leaf = leaf{kind: paragraph}
	}
}

// start ends the open leaf and begins another one. A list ends where its depth has another block.
func (p *parser) start(l leaf) {
	p.endLeaf()
	p.lists = p.lists[:min(len(p.lists), len(p.in))]
	p.leaf = l
}

// endLeaf prints the rest of the open leaf.
func (p *parser) endLeaf() {
	l := p.leaf
	p.leaf = leaf{}
	switch l.kind {
	case paragraph:
		if text := strings.Trim(l.text, "\n"); !blank(text) {
			p.rows(wrap(inline(text), p.room(), false), "")
		}
	case tabular:
		for _, row := range l.table.render(p.room(), p.styles) {
			p.row(row)
		}
	case code:
		if l.blanks > 0 && l.fence == "" && !p.gap {
			p.gap, p.gapIn = true, p.quotes()
		}
	}
}

// close ends the leaf, and the containers behind the first n.
func (p *parser) close(n int) {
	p.endLeaf()
	for len(p.in) > n {
		if last := p.in[len(p.in)-1]; !last.quote && last.marker != "" { // the item is empty
			p.row("")
		}
		p.in = p.in[:len(p.in)-1]
	}
}

// tabulated takes the line below the head of a table: it makes a table of the last line of the paragraph.
func (p *parser) tabulated(body string) bool {
	above, head := "", p.leaf.text
	if at := strings.LastIndexByte(head, '\n'); at >= 0 {
		above, head = head[:at], head[at+1:]
	}
	align := alignments(body)
	if align == nil || !strings.Contains(head, "|") {
		return false
	}
	cells := split(head)
	if len(cells) != len(align) {
		return false
	}
	if p.leaf.text = above; blank(above) {
		p.leaf = leaf{}
	}
	p.start(leaf{kind: tabular, table: table{align: align}})
	p.leaf.table.add(head)
	return true
}

// boundTable prints a table that is too long. What follows has the same widths.
func (p *parser) boundTable() {
	t := &p.leaf.table
	if t.size <= longestTable && t.widths == nil {
		return
	}
	for _, row := range t.render(p.room(), p.styles) {
		p.row(row)
	}
	t.size = 0
	if t.rows = t.rows[:1:1]; t.widths != nil {
		t.rows = nil
	}
}

// heading prints a heading. A line below the first two levels shows them without colours too.
func (p *parser) heading(level int, title string) {
	if p.begun && !p.gap {
		p.gap, p.gapIn = true, p.quotes()
	}
	lines := wrap(inline(title), p.room(), false)
	p.rows(lines, p.styles.Heading)
	widest := 0
	for _, l := range lines {
		widest = max(widest, l.width())
	}
	if level <= 2 && widest > 0 {
		p.row(styled(p.styles.Muted, strings.Repeat([]string{"━", "─"}[level-1], min(widest, p.room()))))
	}
}

func (p *parser) rows(lines []line, base string) {
	for _, l := range lines {
		p.row(l.render(p.styles, base))
	}
}

// row prints a row behind the marks of its containers.
func (p *parser) row(text string) {
	if p.gap && p.begun {
		p.out = append(p.out, strings.TrimRight(p.gapIn, " "))
	}
	p.gap, p.begun = false, true
	var b strings.Builder
	for i := range p.in {
		c := &p.in[i]
		switch {
		case c.quote:
			b.WriteString(styled(p.styles.Muted, "│") + " ")
		case c.marker != "":
			b.WriteString(c.marker)
			c.marker = ""
		default:
			b.WriteString(strings.Repeat(" ", c.width))
		}
	}
	p.out = append(p.out, strings.TrimRight(b.String()+text, " "))
}

// quotes is what stands before an empty row.
func (p *parser) quotes() string {
	var b strings.Builder
	for _, c := range p.in {
		if c.quote {
			b.WriteString(styled(p.styles.Muted, "│") + " ")
		} else {
			b.WriteString(strings.Repeat(" ", c.width))
		}
	}
	return b.String()
}

// room is how many columns the containers leave to a leaf.
func (p *parser) room() int {
	room := p.width
	for _, c := range p.in {
		if c.quote {
			room -= 2
		}
		room -= c.width
	}
	return max(room, 8)
}
