package approval

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
)

// Hidden reports whether a character cannot be seen, or makes others appear elsewhere: control and format characters, unusual
// spaces, fillers, and code points without a character. Tab and newline are not hidden.
func Hidden(r rune) bool {
	switch {
	case r == ' ' || r == '\t' || r == '\n':
		return false
	case r < 0x7f:
		return r < ' '
	case !unicode.IsGraphic(r), unicode.Is(unicode.Zs, r):
		return true
	}
	return unicode.Is(ignorable, r) || r == 0x2800 || r == unicode.ReplacementChar
}

// ignorable are characters of the categories of letters and marks that are drawn as nothing
// (Default_Ignorable_Code_Point of Unicode, without what is no graphic character).
var ignorable = &unicode.RangeTable{
	R16: []unicode.Range16{{0x034f, 0x034f, 1}, {0x115f, 0x1160, 1}, {0x17b4, 0x17b5, 1}, {0x180b, 0x180d, 1}, {0x180f, 0x180f, 1},
		{0x3164, 0x3164, 1}, {0xfe00, 0xfe0f, 1}, {0xffa0, 0xffa0, 1}},
	R32: []unicode.Range32{{0xe0100, 0xe01ef, 1}},
}

// hiddenNames has names for the characters that attacks have used. Others are shown by their code.
var hiddenNames = sync.OnceValue(func() map[rune]string {
	return map[rune]string{
		0x00: "NULL", 0x07: "BELL", 0x08: "BACKSPACE", 0x0b: "LINE TABULATION", 0x0c: "FORM FEED", 0x0d: "CARRIAGE RETURN", 0x1b: "ESCAPE", 0x7f: "DELETE",
		0x85: "NEXT LINE", 0x9b: "CONTROL SEQUENCE INTRODUCER", 0xa0: "NO-BREAK SPACE", 0xad: "SOFT HYPHEN", 0x34f: "COMBINING GRAPHEME JOINER", 0x61c: "ARABIC LETTER MARK",
		0x115f: "HANGUL CHOSEONG FILLER", 0x1160: "HANGUL JUNGSEONG FILLER", 0x180e: "MONGOLIAN VOWEL SEPARATOR", 0x2007: "FIGURE SPACE", 0x2009: "THIN SPACE", 0x200a: "HAIR SPACE",
		0x200b: "ZERO WIDTH SPACE", 0x200c: "ZERO WIDTH NON-JOINER", 0x200d: "ZERO WIDTH JOINER", 0x200e: "LEFT-TO-RIGHT MARK", 0x200f: "RIGHT-TO-LEFT MARK",
		0x2028: "LINE SEPARATOR", 0x2029: "PARAGRAPH SEPARATOR", 0x202a: "LEFT-TO-RIGHT EMBEDDING", 0x202b: "RIGHT-TO-LEFT EMBEDDING", 0x202c: "POP DIRECTIONAL FORMATTING",
		0x202d: "LEFT-TO-RIGHT OVERRIDE", 0x202e: "RIGHT-TO-LEFT OVERRIDE", 0x202f: "NARROW NO-BREAK SPACE", 0x2060: "WORD JOINER", 0x2066: "LEFT-TO-RIGHT ISOLATE", 0x2067: "RIGHT-TO-LEFT ISOLATE",
		0x2068: "FIRST STRONG ISOLATE", 0x2069: "POP DIRECTIONAL ISOLATE", 0x2800: "BRAILLE PATTERN BLANK", 0x3000: "IDEOGRAPHIC SPACE", 0x3164: "HANGUL FILLER", 0xfe0f: "VARIATION SELECTOR-16",
		0xfeff: "ZERO WIDTH NO-BREAK SPACE", 0xffa0: "HALFWIDTH HANGUL FILLER", 0xfffd: "REPLACEMENT CHARACTER",
	}
})

// HiddenName returns the code of a hidden character, and its name if it is known.
func HiddenName(r rune) string {
	if name := hiddenNames()[r]; name != "" {
		return fmt.Sprintf("U+%04X %s", r, name)
	}
	return fmt.Sprintf("U+%04X", r)
}

// Visible reports whether a text has no hidden character.
func Visible(text string) bool { return !strings.ContainsFunc(text, Hidden) }

// Reveal makes the hidden characters of a text visible, as ‹U+202E RIGHT-TO-LEFT OVERRIDE›, and counts them. A ‹ that could look
// like such a name is shown by its own code.
func Reveal(text string) (shown string, hidden int) {
	if !strings.ContainsFunc(text, func(r rune) bool { return r == '‹' || Hidden(r) }) {
		return text, 0
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '‹' && strings.HasPrefix(text[i+len("‹"):], "U+"):
			b.WriteString("‹U+2039›")
		case Hidden(r):
			hidden++
			b.WriteString("‹" + HiddenName(r) + "›")
		default:
			b.WriteRune(r)
		}
	}
	return b.String(), hidden
}
