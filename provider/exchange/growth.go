package exchange

import (
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// Growth joins a text that comes as a row of JSON strings and hands it on in whole characters. Some hosts cut their
// pieces by bytes, inside a character or between the two \u escapes of one: such an end waits for the next piece. It is
// for adapters, and for one goroutine.
type Growth struct {
	text strings.Builder
	held string // the end that waits, as it stands in the JSON
}

// Add takes in a piece, which is a JSON string, and returns what there is to show of it.
func (g *Growth) Add(piece gjson.Result) string {
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

// Write takes in a text that is whole already.
func (g *Growth) Write(text string) { g.text.WriteString(text) }

// Rest ends the text and returns what is still to be shown. whole is the text as its sender repeats it at the end, or
// empty; where it goes on from the text, the rest is taken from there, else the text stays as it was shown.
func (g *Growth) Rest(whole string) string {
	held := g.held
	g.held = ""
	if rest, ok := strings.CutPrefix(whole, g.text.String()); ok && whole != "" {
		rest = Valid(rest)
		g.text.WriteString(rest)
		return rest
	}
	return g.put(held)
}

func (g *Growth) put(raw string) string {
	if raw == "" {
		return ""
	}
	text := Valid(gjson.Parse(`"` + raw + `"`).Str)
	g.text.WriteString(text)
	return text
}

// String is the text so far, in whole characters.
func (g *Growth) String() string { return g.text.String() }

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

// NoArguments reports whether the text of a call's arguments stands for none: it is empty, or the word null, which some
// hosts write for a tool without parameters.
func NoArguments(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || text == "null"
}

// Valid is a text with U+FFFD in the place of bytes that are no UTF-8.
func Valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// HasError reports whether an object of unknown kind has an error in it.
func HasError(object gjson.Result) bool {
	e := object.Get("error")
	return e.IsObject() || e.Type == gjson.String
}
