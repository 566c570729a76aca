package provider

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxCitations bounds the sources of one text.
const MaxCitations = 1000

// Place sets the place of a citation in a text, of which start and end count characters. A place that is not in the text
// is left out.
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

// Cite adds a citation to a list, once, unless it has no address or the list is full.
func Cite(list []Citation, c Citation) []Citation {
	c.URL, c.Title, c.Quote = valid(c.URL), valid(c.Title), valid(c.Quote)
	if c.URL == "" || len(list) >= MaxCitations || slices.Contains(list, c) {
		return list
	}
	return append(list, c)
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// MaxAddress bounds the address of an image, in bytes.
const MaxAddress = 8 << 10

// LinkedImage is the source that stands for an image of an answer of which only the address came. It is not fetched: the
// address may be anybody's, and asking there tells that the answer was read.
func LinkedImage(address string) Citation { return Citation{URL: valid(address), Title: "image"} }

// LinkedImages is what an answer says that has such images and no text.
func LinkedImages(list []Citation) string {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "[image: %s]\n", c.URL)
	}
	return strings.TrimSuffix(b.String(), "\n")
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

// DataURL is the medium in an address that begins with "data:", and false for any other address.
func DataURL(address string) (Media, bool) {
	rest, ok := strings.CutPrefix(address, "data:")
	head, data, found := strings.Cut(rest, ",")
	kind, base := strings.CutSuffix(head, ";base64")
	if !ok || !found || !base {
		return Media{}, false
	}
	return Decoded(kind, data)
}

// Decoded is a medium of base64 text, and false if the text is none or empty. The type is that of its bytes if it is not
// given.
func Decoded(kind, text string) (Media, bool) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data) == 0 {
		return Media{}, false
	}
	kind, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(kind)), ";")
	if kind == "" || !strings.Contains(kind, "/") || strings.ContainsFunc(kind, func(r rune) bool { return r <= ' ' || r > '~' }) {
		kind, _, _ = strings.Cut(http.DetectContentType(data), ";")
	}
	return Media{Type: kind, Data: data}, true
}
