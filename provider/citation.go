package provider

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Citation is a page that a text refers to: all of the text, or its bytes from Start up to End, which is above Start.
type Citation struct {
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
	Start int    `json:"start,omitempty"`
	End   int    `json:"end,omitempty"` // 0: no place in the text is known
	Quote string `json:"quote,omitempty"`
}

// MaxCitations bounds the sources of one text.
const MaxCitations = 1000

// Place sets the place of a citation in a text. start and end count characters. A place outside the text is left out.
func (c *Citation) Place(text string, start, end int64) {
	if start < 0 || end <= start || end > int64(len(text)) {
		return
	}
	from, to, n := -1, -1, int64(0)
	for i := range text {
		if n == start {
			from = i
		}
		if n == end {
			to = i
			break
		}
		n++
	}
	if n == end && to < 0 && int64(utf8.RuneCountInString(text)) == end {
		to = len(text)
	}
	if from >= 0 && to > from {
		c.Start, c.End = from, to
	}
}

// SourceList writes the pages of citations for people, one a line, each once.
func SourceList(list []Citation) string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, c := range list {
		if seen[c.URL] {
			continue
		}
		seen[c.URL] = true
		if title := strings.Join(strings.Fields(c.Title), " "); title != "" && title != c.URL {
			fmt.Fprintf(&b, "- %s: %s\n", title, c.URL)
		} else {
			fmt.Fprintf(&b, "- %s\n", c.URL)
		}
	}
	return b.String()
}
