package chat

import (
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// growth joins a text that comes as a row of JSON strings and hands it on in whole characters. Some hosts cut their
// pieces by bytes, inside a character or between the two \u escapes of one: such an end waits for the next piece.
type growth struct {
	text strings.Builder
	held string // the end that waits, as it stands in the JSON
}

// add takes in a JSON string and returns what there is to show of it.
func (g *growth) add(piece gjson.Result) string {
	raw := piece.Raw[1 : len(piece.Raw)-1]
	if g.held == "" && unfinished(raw) == 0 && utf8.ValidString(piece.Str) {
		g.text.WriteString(piece.Str)
		return piece.Str
	}
	raw = g.held + raw
	n := len(raw) - unfinished(raw)
	g.held = raw[n:]
	return g.put(raw[:n])
}

// rest is the end that still waits, made valid, when nothing more comes.
func (g *growth) rest() string {
	held := g.held
	g.held = ""
	return g.put(held)
}

func (g *growth) put(raw string) string {
	if raw == "" {
		return ""
	}
	text := valid(gjson.Parse(`"` + raw + `"`).Str)
	g.text.WriteString(text)
	return text
}

func (g *growth) String() string { return g.text.String() }
func (g *growth) empty() bool    { return g.text.Len() == 0 }

// unfinished is how many bytes at the end of raw, the inside of a JSON string, may be the beginning of a character.
func unfinished(raw string) int {
	if n := len(raw); n >= 6 && raw[n-6] == '\\' && raw[n-5] == 'u' && strings.ContainsRune("dD", rune(raw[n-4])) &&
		strings.ContainsRune("89abAB", rune(raw[n-3])) && escapes(raw[:n-5]) {
		return 6
	}
	for n := 1; n < utf8.UTFMax && n <= len(raw); n++ {
		if c := raw[len(raw)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRuneInString(raw[len(raw)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// escapes reports whether the backslash that raw ends in is one, and not itself escaped.
func escapes(raw string) bool {
	n := len(raw) - len(strings.TrimRight(raw, `\`))
	return n%2 == 1
}

// write takes in a text that is whole already.
func (g *growth) write(text string) { g.text.WriteString(text) }
