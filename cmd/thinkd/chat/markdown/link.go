package markdown

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// link reads what stands behind a closing bracket. Without an address, the brackets are text.
func (in *inliner) link() {
	last := len(in.brackets) - 1
	if last < 0 {
		in.put("]", 1)
		return
	}
	b := in.brackets[last]
	in.brackets = in.brackets[:last]
	address, size, ok := destination(in.text[in.at+1:])
	if !ok || b.dead {
		in.put("]", 1)
		return
	}
	in.pair(b.node + 1)
	in.nodes[b.node].text = ""
	if b.image {
		in.nodes[b.node].text = "image: "
	} else {
		for i := range in.brackets {
			in.brackets[i].dead = in.brackets[i].dead || !in.brackets[i].image
		}
	}
	url := openable(address)
	var words strings.Builder
	for i := range in.nodes[b.node:] {
		n := &in.nodes[b.node+i]
		n.url = url
		words.WriteString(n.text)
	}
	in.at += 1 + size
	if text := words.String(); address != "" && text != address && "mailto:"+text != address {
		in.add(node{span: span{text: " (" + address + ")", style: muted, url: url}}, 0)
	}
}

// destination reads the address of a link in its parentheses, and skips its title. size is the bytes up to the end.
func destination(text string) (address string, size int, ok bool) {
	if !strings.HasPrefix(text, "(") {
		return "", 0, false
	}
	skip := func(at int) int { return len(text) - len(strings.TrimLeft(text[at:], " \n")) }
	at := skip(1)
	if strings.HasPrefix(text[at:], "<") {
		end := strings.IndexAny(text[at:], ">\n")
		if end < 0 || text[at+end] == '\n' {
			return "", 0, false
		}
		address, at = text[at+1:at+end], at+end+1
	} else {
		start, depth := at, 0
		for at < len(text) && text[at] != ' ' && text[at] != '\n' && (text[at] != ')' || depth > 0) {
			switch text[at] {
			case '(':
				depth++
			case ')':
				depth--
			}
			at++
		}
		address = text[start:at]
	}
	at = skip(at)
	if at < len(text) && strings.IndexByte("\"'(", text[at]) >= 0 {
		end := strings.IndexByte(text[at+1:], map[byte]byte{'"': '"', '\'': '\'', '(': ')'}[text[at]])
		if end < 0 {
			return "", 0, false
		}
		at = skip(at + end + 2)
	}
	if at >= len(text) || text[at] != ')' {
		return "", 0, false
	}
	return address, at + 1, true
}

// autolink reads an address in angle brackets.
func (in *inliner) autolink(rest string) bool {
	end := strings.IndexAny(rest, "> \n")
	if end < 0 || rest[end] != '>' {
		return false
	}
	url := openable(rest[1:end])
	if url == "" {
		return false
	}
	in.add(node{span: span{text: rest[1:end], url: url}}, end+1)
	return true
}

// bare reads an address that stands in the text. Punctuation behind it does not belong to it.
func (in *inliner) bare(rest string) bool {
	if before, _ := utf8.DecodeLastRuneInString(in.text[:in.at]); in.at > 0 && (unicode.IsLetter(before) || unicode.IsDigit(before)) {
		return false
	}
	scheme := min(len(rest), len("https://"))
	if low := strings.ToLower(rest[:scheme]); !strings.HasPrefix(low, "http://") && low != "https://" {
		return false
	}
	n := strings.IndexFunc(rest, func(r rune) bool {
		return unicode.IsSpace(r) || r == '<' || r == '`' || strings.ContainsRune("|*[]", r)
	})
	if n < 0 {
		n = len(rest)
	}
	for text := rest[:n]; n > 0; text = rest[:n] {
		switch last := text[n-1]; {
		case strings.IndexByte("?!.,:*_~'\";", last) >= 0,
			last == ')' && strings.Count(text, ")") > strings.Count(text, "("):
			n--
			continue
		}
		break
	}
	url := openable(rest[:n])
	if url == "" || n <= len("https://") {
		return false
	}
	in.add(node{span: span{text: rest[:n], url: url}}, n)
	return true
}

// longestAddress is what terminals take of one.
const longestAddress = 2000

// openable is an address as a terminal may get it: in printable ASCII, of a scheme that does no harm. Empty: it cannot be opened.
func openable(address string) string {
	low := strings.ToLower(address[:min(len(address), len("https://"))])
	if !strings.HasPrefix(low, "http://") && low != "https://" && !strings.HasPrefix(low, "mailto:") || len(address) > longestAddress {
		return ""
	}
	var b strings.Builder
	for _, c := range []byte(address) {
		if c > ' ' && c < 0x7f {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
