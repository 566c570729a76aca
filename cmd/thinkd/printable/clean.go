package printable

import "strings"

// Clean makes foreign text safe for a terminal. Tabs become blanks, and [Mark] replaces each character that the terminal would obey.
func Clean(text string) string {
	var b strings.Builder
	column := 0
	for _, r := range text {
		switch {
		case r == '\n':
			column = 0
			b.WriteByte('\n')
			continue
		case r == '\t':
			n := 8 - column%8
			b.WriteString("        "[:n])
			column += n
			continue
		case r == '\r':
			continue
		case Obeyed(r):
			r = Mark
		}
		b.WriteRune(r)
		column++
	}
	return b.String()
}
