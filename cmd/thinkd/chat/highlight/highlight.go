// Package highlight finds the comments, strings, keywords and numbers of source code, one line after another.
//
// A [Lexer] remembers only what a line can leave open: a comment or a string. So code can be coloured while it arrives, and a line costs
// the same at the end of a long file as at its beginning. It knows the lexical rules of a language and not its grammar: a terminal shows
// four colours, which need no more.
package highlight

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Token is a part of a line.
type Token struct {
	Text string
	Kind Kind
}

// A Lexer splits the lines of one text. The zero value knows no language: each line is one plain token.
type Lexer struct {
	lang *language
	open *delimiter // a comment or a string that the last line left open; nil: none
}

// New returns a lexer for the language with this name, as it stands behind the fence of a code block: "go", "python", "sh".
// An unknown name is no language.
func New(name string) Lexer { return Lexer{lang: lookup(strings.ToLower(name))} }

// Known reports whether the lexer knows its language.
func (l *Lexer) Known() bool { return l.lang != nil }

// Line splits the next line, which has no newline. The texts of the tokens, joined, are the line.
func (l *Lexer) Line(line string) []Token {
	switch {
	case line == "":
		return nil
	case l.lang == nil:
		return []Token{{line, Plain}}
	case l.lang.diff:
		return []Token{{line, diffKind(line)}}
	}
	s := scan{lang: l.lang, rest: line}
	if l.open != nil {
		l.open = s.until(l.open, 0)
	}
	for s.rest != "" {
		l.open = s.next()
	}
	return s.tokens
}

func diffKind(line string) Kind {
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "index "):
		return Keyword
	case line[0] == '+':
		return Added
	case line[0] == '-':
		return Removed
	case strings.HasPrefix(line, "@@"):
		return Hunk
	}
	return Plain
}

// scan is the work on one line.
type scan struct {
	lang   *language
	rest   string
	before rune // the character before rest; 0: rest is the whole line
	tokens []Token
}

// take makes the next n bytes a token, which joins the one before if both are of one kind.
func (s *scan) take(n int, kind Kind) {
	if n == 0 {
		return
	}
	text := s.rest[:n]
	s.before, _ = utf8.DecodeLastRuneInString(text)
	s.rest = s.rest[n:]
	if last := len(s.tokens) - 1; last >= 0 && s.tokens[last].Kind == kind {
		s.tokens[last].Text += text
		return
	}
	s.tokens = append(s.tokens, Token{text, kind})
}

// until takes the rest of what a delimiter began, which is already skipped bytes long. It returns the delimiter if the line ends before.
func (s *scan) until(d *delimiter, skip int) *delimiter {
	for i := skip; i < len(s.rest); i++ {
		switch {
		case d.escape && s.rest[i] == '\\':
			i++
		case d.end != "" && strings.HasPrefix(s.rest[i:], d.end):
			s.take(i+len(d.end), d.kind)
			return nil
		}
	}
	s.take(len(s.rest), d.kind)
	if d.lines {
		return d
	}
	return nil
}

// next takes a token, and returns the delimiter that it leaves open at the end of the line.
func (s *scan) next() *delimiter {
	for i := range s.lang.delimiters {
		d := &s.lang.delimiters[i]
		if strings.HasPrefix(s.rest, d.start) && (!d.apart || s.before == 0 || unicode.IsSpace(s.before)) {
			return s.until(d, len(d.start))
		}
	}
	r, size := utf8.DecodeRuneInString(s.rest)
	switch {
	case r >= '0' && r <= '9':
		s.take(s.run(func(r rune) bool { return r == '.' || s.lang.inWord(r) }), Number)
	case s.lang.inWord(r):
		n := s.run(s.lang.inWord)
		kind := Plain
		if s.lang.keyword(s.rest[:n]) {
			kind = Keyword
		}
		s.take(n, kind)
	default:
		s.take(size, Plain)
	}
	return nil
}

// run is the length of the characters at the beginning of the rest that belong together.
func (s *scan) run(belongs func(rune) bool) int {
	if n := strings.IndexFunc(s.rest, func(r rune) bool { return !belongs(r) }); n >= 0 {
		return n
	}
	return len(s.rest)
}

func (l *language) inWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(l.letters, r)
}

func (l *language) keyword(word string) bool {
	if l.anyCase {
		word = strings.ToLower(word)
	}
	_, found := slices.BinarySearch(l.keywords, word)
	return found
}
