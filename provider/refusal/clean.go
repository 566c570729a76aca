package refusal

import (
	"strings"
	"unicode"
)

// MaxText is how much of a vendor's error text is kept, in bytes.
const MaxText = 2 << 10

// maxWord bounds the code of an error and the id of a request, in bytes.
const maxWord = 100

// Clean replaces control characters by spaces and cuts a text at a whole character, to about limit bytes.
func Clean(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.TrimSpace(text)
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
