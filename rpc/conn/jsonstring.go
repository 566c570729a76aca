package conn

import "unicode/utf8"

// AppendString appends text as a JSON string, in one line. The bytes are those of encoding/json without the escapes for
// HTML: invalid UTF-8 becomes U+FFFD, and U+2028 and U+2029, which end lines in JavaScript but not in JSON, are escaped.
func AppendString(out []byte, text string) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	kept := 0 // so much of text is out
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		size := 1
		var escape []byte
		switch c {
		case '"', '\\':
			escape = []byte{'\\', c}
		case '\b':
			escape = []byte(`\b`)
		case '\f':
			escape = []byte(`\f`)
		case '\n':
			escape = []byte(`\n`)
		case '\r':
			escape = []byte(`\r`)
		case '\t':
			escape = []byte(`\t`)
		default:
			if c < ' ' {
				escape = []byte{'\\', 'u', '0', '0', hex[c>>4], hex[c&0xF]}
				break
			}
			var r rune
			switch r, size = utf8.DecodeRuneInString(text[i:]); {
			case r == utf8.RuneError && size == 1:
				escape = []byte(`\ufffd`)
			case r == '\u2028', r == '\u2029':
				escape = []byte{'\\', 'u', '2', '0', '2', hex[r&0xF]}
			default:
				i += size
				continue
			}
		}
		out = append(append(out, text[kept:i]...), escape...)
		i += size
		kept = i
	}
	return append(append(out, text[kept:]...), '"')
}
