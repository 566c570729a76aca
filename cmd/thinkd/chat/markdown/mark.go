package markdown

import "strings"

// longest is how many bytes of a line or of a paragraph are held back, and longestTable of a table.
const (
	longest      = 4 << 10
	longestTable = 8 << 10
)

func blank(text string) bool { return strings.Trim(text, " ") == "" }

// indentOf counts the blanks before a text.
func indentOf(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }

// A marker begins an item of a list.
type marker struct {
	mark    byte
	ordered bool
	number  int
	empty   bool   // nothing follows
	width   int    // bytes up to the content, with the sign of a task
	indent  int    // that the lines of the content have
	task    string // the sign of a task; empty: it is none
}

// parseMarker reads the marker at the beginning of a line without indent.
func parseMarker(body string) (m marker, ok bool) {
	at := 0
	for at < len(body) && at < 9 && body[at] >= '0' && body[at] <= '9' {
		m.number = m.number*10 + int(body[at]-'0')
		at++
	}
	m.ordered = at > 0
	if at == len(body) {
		return m, false
	}
	m.mark = body[at]
	if m.ordered && m.mark != '.' && m.mark != ')' || !m.ordered && m.mark != '-' && m.mark != '+' && m.mark != '*' {
		return m, false
	}
	at++
	content := strings.TrimLeft(body[at:], " ")
	blanks := len(body) - at - len(content)
	switch {
	case content == "":
		m.empty, m.width, m.indent = true, len(body), at+1
		return m, true
	case blanks == 0:
		return m, false
	case blanks > 4: // the content begins with indented code
		blanks = 1
	}
	m.width, m.indent = at+blanks, at+blanks
	if len(content) >= 4 && content[0] == '[' && content[2] == ']' && content[3] == ' ' {
		if m.task = map[byte]string{' ': "☐ ", 'x': "☑ ", 'X': "☑ "}[content[1]]; m.task != "" {
			m.width += 4
		}
	}
	return m, true
}

// isRule reports whether a line is a horizontal rule.
func isRule(body string) bool {
	body = strings.ReplaceAll(body, " ", "")
	return len(body) >= 3 && strings.ContainsRune("-_*", rune(body[0])) && strings.Trim(body, body[:1]) == ""
}

// fenceOf is the fence that a line begins code with; empty: it does not.
func fenceOf(body string) string {
	if body == "" || body[0] != '`' && body[0] != '~' {
		return ""
	}
	rest := strings.TrimLeft(body, body[:1])
	if n := len(body) - len(rest); n >= 3 && (body[0] == '~' || !strings.Contains(rest, "`")) {
		return body[:n]
	}
	return ""
}

// heading reads a heading that begins with number signs. Level 0 is none.
func heading(body string) (level int, title string) {
	rest := strings.TrimLeft(body, "#")
	level = len(body) - len(rest)
	if level == 0 || level > 6 || rest != "" && rest[0] != ' ' {
		return 0, ""
	}
	title = strings.TrimSpace(rest)
	if short := strings.TrimRight(title, "#"); short == "" || strings.HasSuffix(short, " ") {
		title = strings.TrimSpace(short)
	}
	return level, title
}

// startsLeaf reports whether a line ends the paragraph before it.
func startsLeaf(rest string) bool {
	n := indentOf(rest)
	if n >= 4 {
		return false
	}
	level, _ := heading(rest[n:])
	return level > 0 || isRule(rest[n:]) || fenceOf(rest[n:]) != ""
}
