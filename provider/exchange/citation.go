package exchange

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// Cite adds a citation to a list, once, unless it has no address or the list is full.
func Cite(list []provider.Citation, c provider.Citation) []provider.Citation {
	c.URL, c.Title, c.Quote = Valid(c.URL), Valid(c.Title), Valid(c.Quote)
	if c.URL == "" || len(list) >= provider.MaxCitations || slices.Contains(list, c) {
		return list
	}
	return append(list, c)
}

// Page adds a page that a vendor's tool found or read. What is no address is left out.
func Page(list []provider.Citation, url, title string) []provider.Citation {
	if !strings.Contains(url, "://") {
		return list
	}
	return Cite(list, provider.Citation{URL: url, Title: title})
}

// Pages says how many pages a vendor's search found.
func Pages(n int) string {
	if n == 1 {
		return "1 page"
	}
	return fmt.Sprintf("%d pages", n)
}

// MaxAddress bounds the address of an image, in bytes.
const MaxAddress = 8 << 10

// LinkedImage returns the source that replaces an image in an answer if the vendor sent only its address. thinkd does not fetch the image:
// the address may belong to anybody, and a request there would reveal that the answer was read.
func LinkedImage(address string) provider.Citation {
	return provider.Citation{URL: Valid(address), Title: "image"}
}

// LinkedImages is what an answer says that has such images and no text.
func LinkedImages(list []provider.Citation) string {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "[image: %s]\n", c.URL)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// DataURL is the medium in an address that begins with "data:", and false for any other address.
func DataURL(address string) (provider.Media, bool) {
	rest, ok := strings.CutPrefix(address, "data:")
	head, data, found := strings.Cut(rest, ",")
	kind, base := strings.CutSuffix(head, ";base64")
	if !ok || !found || !base {
		return provider.Media{}, false
	}
	return Decoded(kind, data)
}

// Decoded is a medium of base64 text, and false if the text is none or empty. The type is that of its bytes if it is not
// given.
func Decoded(kind, text string) (provider.Media, bool) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data) == 0 {
		return provider.Media{}, false
	}
	kind, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(kind)), ";")
	if kind == "" || !strings.Contains(kind, "/") || strings.ContainsFunc(kind, func(r rune) bool { return r <= ' ' || r > '~' }) {
		kind, _, _ = strings.Cut(http.DetectContentType(data), ";")
	}
	return provider.Media{Type: kind, Data: data}, true
}
