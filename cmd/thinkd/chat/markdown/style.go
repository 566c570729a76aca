package markdown

import (
	"strings"

	"github.com/thinkd/thinkd/cmd/thinkd/chat/highlight"
)

// Styles are the sequences that begin a style of each part; an empty one is none. "\x1b[m" ends each.
type Styles struct {
	Heading, Strong, Emphasis, Strike string
	Code                              string // within a line; without a style, its marks stay
	Link                              string
	Muted                             string // marks, rules and the addresses of links

	Comment, String, Keyword, Number string // of code
	Added, Removed                   string // of a diff

	Addresses bool // links have the sequence of an address (OSC 8), which terminals let people open
}

const endStyle = "\x1b[m"

// styled is a text in a style.
func styled(style, text string) string {
	if style == "" || text == "" {
		return text
	}
	return style + text + endStyle
}

// code is a line of code in its colours.
func (s *Styles) code(tokens []highlight.Token) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteString(styled(s.token(token.Kind), token.Text))
	}
	return b.String()
}

func (s *Styles) token(kind highlight.Kind) string {
	switch kind {
	case highlight.Comment:
		return s.Comment
	case highlight.String:
		return s.String
	case highlight.Keyword:
		return s.Keyword
	case highlight.Number:
		return s.Number
	case highlight.Added:
		return s.Added
	case highlight.Removed:
		return s.Removed
	case highlight.Hunk:
		return s.Muted
	}
	return ""
}
