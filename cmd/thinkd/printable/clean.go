package printable

import "strings"

// Clean makes foreign text safe for a terminal. Tabs become blanks, and [Mark] replaces each character that the terminal would obey.
func Clean(text string) string { return new(Cleaner).Clean(text) }

// A Cleaner does for the pieces of a text what [Clean] does for the whole: it knows in which column a tab stands.
type Cleaner struct{ column int }

// Clean returns the next piece, made safe. A piece ends between two characters.
func (c *Cleaner) Clean(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range text {
		switch {
		case r == '\n':
			c.column = 0
			b.WriteByte('\n')
			continue
		case r == '\t':
			n := 8 - c.column%8
			b.WriteString("        "[:n])
			c.column += n
			continue
		case r == '\r':
			continue
		case Obeyed(r):
			r = Mark
		}
		b.WriteRune(r)
		c.column++
	}
	return b.String()
}
