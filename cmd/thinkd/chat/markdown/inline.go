package markdown

import (
	"strings"
)

// inline splits a text at its emphasis, code and links.
func inline(text string) []span {
	in := &inliner{text: text}
	for in.at < len(text) {
		in.next()
	}
	in.pair(0)
	return in.spans()
}

const special = "\\`<[]!*_~&hH"

// next reads one node.
func (in *inliner) next() {
	rest := in.text[in.at:]
	switch c := rest[0]; {
	case c == '\\' && len(rest) > 1 && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", rest[1]) >= 0:
		in.put(rest[1:2], 2)
	case c == '\\' && len(rest) > 1 && rest[1] == '\n':
		in.put("\n", 2)
	case c == '`':
		in.code(rest)
	case c == '<' && in.autolink(rest):
	case c == '!' && strings.HasPrefix(rest, "!["):
		in.brackets = append(in.brackets, bracket{node: len(in.nodes), image: true})
		in.add(node{span: span{text: "!["}}, 2)
	case c == '[':
		in.brackets = append(in.brackets, bracket{node: len(in.nodes)})
		in.add(node{span: span{text: "["}}, 1)
	case c == ']':
		in.link()
	case c == '*' || c == '_' || c == '~':
		in.delimiters(rest)
	case c == '&':
		in.entity(rest)
	case (c == 'h' || c == 'H') && in.bare(rest):
	default:
		n := strings.IndexAny(rest[1:], special) + 1
		if n == 0 {
			n = len(rest)
		}
		in.put(rest[:n], n)
	}
}

// code reads a code span. Without its end, the backticks are text.
func (in *inliner) code(rest string) {
	n := len(rest) - len(strings.TrimLeft(rest, "`"))
	if in.ticks == nil {
		in.ticks = make(map[int]int)
		for i := in.at; i < len(in.text); {
			run := len(in.text[i:]) - len(strings.TrimLeft(in.text[i:], "`"))
			if run > 0 {
				in.ticks[run] = i
			}
			i += max(run, 1)
		}
	}
	if in.ticks[n] <= in.at {
		in.put(rest[:n], n)
		return
	}
	end := n
	for {
		end += strings.IndexByte(rest[end:], '`')
		run := len(rest[end:]) - len(strings.TrimLeft(rest[end:], "`"))
		if run == n {
			break
		}
		end += run
	}
	text := strings.ReplaceAll(rest[n:end], "\n", " ")
	if strings.HasPrefix(text, " ") && strings.HasSuffix(text, " ") && !blank(text) {
		text = text[1 : len(text)-1]
	}
	in.add(node{span: span{text: text, style: verbatim}}, end+n)
}

// entity reads one of the few names of characters that models write.
func (in *inliner) entity(rest string) {
	for _, e := range [...]struct{ name, text string }{{"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", `"`}, {"&#39;", "'"}, {"&apos;", "'"}, {"&nbsp;", "\u00a0"}} {
		if strings.HasPrefix(rest, e.name) {
			in.put(e.text, len(e.name))
			return
		}
	}
	in.put("&", 1)
}
