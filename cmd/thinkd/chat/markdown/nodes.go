package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// style is how a text is set.
type style uint8

const (
	strong style = 1 << iota
	emphasized
	struck
	verbatim // code
	muted
)

// A span is text in one style.
type span struct {
	text  string
	style style
	url   string // of a link; empty: there is none, or it cannot be opened
}

// A node is text, or a run of delimiters that may become emphasis.
type node struct {
	span
	mark          byte // *, _ or ~; 0: text
	count         int  // delimiters that are text
	opens, closes bool
	begin, end    [3]int // how often each style begins behind the node, and ends before it
}

// styleOf are the styles of node.begin and node.end.
var styleOf = [3]style{strong, emphasized, struck}

// inliner reads the text of one leaf. It first makes nodes, and pairs delimiters where a link or the text ends.
type inliner struct {
	text     string
	at       int
	nodes    []node
	brackets []bracket
	ticks    map[int]int // where the last run of so many backticks begins; nil: not counted yet
}

// A bracket may begin a link.
type bracket struct {
	node  int
	image bool
	dead  bool // a link cannot be within a link
}

// put adds text for n bytes of the source.
func (in *inliner) put(text string, n int) { in.add(node{span: span{text: text}}, n) }

func (in *inliner) add(n node, size int) {
	in.nodes = append(in.nodes, n)
	in.at += size
}

// delimiters reads a run of delimiters. CommonMark's rules say what it can begin and end.
func (in *inliner) delimiters(rest string) {
	mark := rest[0]
	n := len(rest) - len(strings.TrimLeft(rest, rest[:1]))
	before, _ := utf8.DecodeLastRuneInString(in.text[:in.at])
	after, _ := utf8.DecodeRuneInString(rest[n:])
	if in.at == 0 {
		before = ' '
	}
	if n == len(rest) {
		after = ' '
	}
	left := !unicode.IsSpace(after) && (!punctuation(after) || unicode.IsSpace(before) || punctuation(before))
	right := !unicode.IsSpace(before) && (!punctuation(before) || unicode.IsSpace(after) || punctuation(after))
	d := node{mark: mark, count: n, opens: left, closes: right}
	switch {
	case mark == '_':
		d.opens = left && (!right || punctuation(before))
		d.closes = right && (!left || punctuation(after))
	case mark == '~' && n > 2:
		d.opens, d.closes = false, false
	}
	in.add(d, n)
}

func punctuation(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }

// pair makes emphasis of the delimiters behind a node.
func (in *inliner) pair(from int) {
	var openers []int
	for i := from; i < len(in.nodes); i++ {
		d := &in.nodes[i]
		for d.mark != 0 && d.closes && d.count > 0 {
			at := len(openers) - 1
			for at >= 0 && !in.fit(openers[at], i) {
				at--
			}
			if at < 0 {
				break
			}
			in.join(openers[at], i)
			if in.nodes[openers[at]].count > 0 {
				at++
			}
			openers = openers[:at]
		}
		if d.mark != 0 && d.opens && d.count > 0 {
			openers = append(openers, i)
		}
	}
	for i := from; i < len(in.nodes); i++ { // what is left is text
		in.nodes[i].opens, in.nodes[i].closes = false, false
	}
}

// fit reports whether two runs begin and end emphasis.
func (in *inliner) fit(opener, closer int) bool {
	o, c := &in.nodes[opener], &in.nodes[closer]
	switch {
	case o.mark != c.mark:
		return false
	case o.mark == '~':
		return o.count == c.count
	}
	return !(o.closes || c.opens) || (o.count+c.count)%3 != 0 || o.count%3 == 0 && c.count%3 == 0
}

func (in *inliner) join(opener, closer int) {
	o, c := &in.nodes[opener], &in.nodes[closer]
	kind, n := 1, 1
	switch {
	case o.mark == '~':
		kind, n = 2, o.count
	case o.count >= 2 && c.count >= 2:
		kind, n = 0, 2
	}
	o.count -= n
	c.count -= n
	o.begin[kind]++
	c.end[kind]++
}

// spans are the nodes with the styles that hold where they stand.
func (in *inliner) spans() []span {
	var out []span
	var text strings.Builder // of the last span
	var depth [3]int
	for _, n := range in.nodes {
		for i := range depth {
			depth[i] -= n.end[i]
		}
		s := n.span
		if n.mark != 0 {
			s.text = strings.Repeat(string(n.mark), n.count)
		}
		for i, times := range depth {
			if times > 0 {
				s.style |= styleOf[i]
			}
		}
		for i := range depth {
			depth[i] += n.begin[i]
		}
		last := len(out) - 1
		if s.text == "" {
			continue
		}
		if last < 0 || out[last].style != s.style || out[last].url != s.url || s.style&verbatim != 0 {
			if last >= 0 {
				out[last].text = text.String()
			}
			text = strings.Builder{}
			out = append(out, s)
		}
		text.WriteString(s.text)
	}
	if last := len(out) - 1; last >= 0 {
		out[last].text = text.String()
	}
	return out
}
