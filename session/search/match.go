package search

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// ErrText refuses a text to search for: it is empty, or longer than MaxText.
var ErrText = errors.New("must have between 1 and 200 characters")

// MaxText is how many characters a text to search for has at most.
const MaxText = 200

// matcher finds a text, in upper or lower case. White space of any kind and length is the same as a space. It is not safe for concurrent
// use.
type matcher struct {
	pattern []byte // folded
	folded  []byte // of the last text
}

func newMatcher(text string) (*matcher, error) {
	text = strings.TrimSpace(text)
	if n := utf8.RuneCountInString(text); n == 0 || n > MaxText {
		return nil, ErrText
	}
	return &matcher{pattern: fold(nil, text)}, nil
}

// span is a part of a text, in bytes.
type span struct{ start, end int }

// find returns the places of the matches in a text, at most most of them, and the number of all. Matches do not overlap.
func (m *matcher) find(text string, most int) (places []span, total int) {
	m.folded = fold(m.folded[:0], text)
	total = bytes.Count(m.folded, m.pattern)
	if total == 0 {
		return nil, 0
	}
	var bounds []int // in the folded text: start, end, start, end, …
	for at := 0; len(bounds) < 2*min(total, most); {
		start := at + bytes.Index(m.folded[at:], m.pattern)
		at = start + len(m.pattern)
		bounds = append(bounds, start, at)
	}
	unfold(text, bounds)
	for i := 0; i < len(bounds); i += 2 {
		places = append(places, span{bounds[i], bounds[i+1]})
	}
	return places, total
}

// fold appends a text to dst in the form in which texts are compared.
func fold(dst []byte, text string) []byte {
	for i := 0; i < len(text); {
		form, n := next(text[i:])
		dst = utf8.AppendRune(dst, form)
		i += n
	}
	return dst
}

// next is the first character of a text in the form in which texts are compared, and how many bytes of the text it stands for: a run of white
// space is one space.
func next(text string) (form rune, n int) {
	r, n := utf8.DecodeRuneInString(text)
	if !unicode.IsSpace(r) {
		return lower(r), n
	}
	for n < len(text) {
		r, more := utf8.DecodeRuneInString(text[n:])
		if !unicode.IsSpace(r) {
			break
		}
		n += more
	}
	return ' ', n
}

// lower is the same for all forms of a letter.
func lower(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	return unicode.ToLower(least)
}

// unfold replaces places in a folded text, which are sorted and between characters, by the same places in the text.
func unfold(text string, places []int) {
	at := 0
	for i, folded := 0, 0; at < len(places); {
		for ; at < len(places) && places[at] == folded; at++ {
			places[at] = i
		}
		if i >= len(text) {
			return
		}
		form, n := next(text[i:])
		i, folded = i+n, folded+utf8.RuneLen(form)
	}
}

// How much of a text an excerpt shows, in bytes.
const (
	leading  = 60  // before the first match
	trailing = 180 // behind it
)

// excerpt is a line from a text around a match, and the places of all matches in it, which are places in the excerpt. From Markdown it
// leaves out the marks of bold text, except in a match.
func excerpt(text string, matches []span, markdown bool) (line string, places []span) {
	first := matches[0]
	from, upto := wordAfter(text, first.start-leading, first.start), wordBefore(text, first.end+trailing, first.end)
	var marks []int
	if markdown {
		marks = boldMarks(text, from, upto, matches)
	}
	var b strings.Builder
	if from > 0 {
		b.WriteString("…")
	}
	for i := from; i < upto; {
		if len(matches) > 0 && i == matches[0].end {
			places[len(places)-1].end = b.Len()
			matches = matches[1:]
		}
		if len(matches) > 0 && i == matches[0].start && matches[0].end <= upto {
			places = append(places, span{start: b.Len()})
		}
		if len(marks) > 0 && marks[0] == i {
			i, marks = i+2, marks[1:]
			continue
		}
		_, n := next(text[i:])
		if r, _ := utf8.DecodeRuneInString(text[i:]); unicode.IsSpace(r) {
			b.WriteByte(' ')
		} else {
			b.WriteString(text[i : i+n])
		}
		i += n
	}
	if len(matches) > 0 && len(places) > 0 && places[len(places)-1].end == 0 {
		places[len(places)-1].end = b.Len()
	}
	if upto < len(text) {
		b.WriteString("…")
	}
	return b.String(), places
}

// boldText matches bold text in a line of Markdown. Two stars between letters or digits are a sign of a program.
var boldText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^\pL\pN*` + "`" + `])(\*\*)[^\s*](?:[^*\n` + "`" + `]*[^\s*` + "`" + `])?(\*\*)(?:$|[^\pL\pN*` + "`" + `])`)
})

// boldMost is how far bold text may reach out of an excerpt, in bytes.
const boldMost = 200

// boldMarks returns the places of the marks around bold text in a part of a text, without those that a match has.
func boldMarks(text string, from, upto int, matches []span) (marks []int) {
	around := max(0, from-boldMost)
	near := text[around:min(len(text), upto+boldMost)]
	for at := 0; ; {
		found := boldText().FindStringSubmatchIndex(near[at:])
		if found == nil {
			return marks
		}
		pair := []int{around + at + found[2], around + at + found[4]}
		matched := slices.ContainsFunc(matches, func(m span) bool {
			return m.start < pair[0]+2 && pair[0] < m.end || m.start < pair[1]+2 && pair[1] < m.end
		})
		for _, start := range pair {
			if !matched && from <= start && start+2 <= upto {
				marks = append(marks, start)
			}
		}
		at += found[5] // what follows the text may stand before the next one
	}
}

// wordAfter is the first beginning of a word from a place on, or limit if there is none before it.
func wordAfter(text string, at, limit int) int {
	if at <= 0 {
		return 0
	}
	for i := at; i < limit; i++ {
		if text[i-1] == ' ' || text[i-1] == '\n' {
			return i
		}
	}
	for at < limit && !utf8.RuneStart(text[at]) {
		at++
	}
	return at
}

// wordBefore is the last end of a word up to a place, or, if there is none behind limit, the place itself.
func wordBefore(text string, at, limit int) int {
	if at >= len(text) {
		return len(text)
	}
	for i := at; i > limit; i-- {
		if text[i] == ' ' || text[i] == '\n' {
			return i
		}
	}
	for at > limit && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}
