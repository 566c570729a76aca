package ownjson

import (
	"bytes"
	"hash/maphash"
	"unicode/utf8"
)

// reader walks JSON. Each method moves behind what it reads and reports whether that was there. If not, the reader is of no use any
// more. It accepts only JSON without spaces, as encoding/json writes it.
type reader struct {
	data []byte
	at   int
	seen *[256]string // short strings that were read, by their hash: see shared
}

// maxDepth bounds the nesting of values that are skipped. encoding/json accepts more.
const maxDepth = 100

// after moves behind a character.
func (r *reader) after(c byte) bool {
	if r.at < len(r.data) && r.data[r.at] == c {
		r.at++
		return true
	}
	return false
}

// next is the next character, 0 at the end.
func (r *reader) next() byte {
	if r.at < len(r.data) {
		return r.data[r.at]
	}
	return 0
}

// word moves behind a text.
func (r *reader) word(text string) bool {
	if end := r.at + len(text); end <= len(r.data) && string(r.data[r.at:end]) == text {
		r.at = end
		return true
	}
	return false
}

// raw reads a string, without its quotes. plain: it has no escapes.
func (r *reader) raw() (raw []byte, plain, ok bool) {
	if !r.after('"') {
		return nil, false, false
	}
	from, plain, ascii := r.at, true, true
	for {
		n, only := ordinary(r.data[r.at:])
		r.at, ascii = r.at+n, ascii && only
		switch r.next() {
		case '"':
			raw = r.data[from:r.at]
			r.at++
			return raw, plain, ascii || utf8.Valid(raw)
		case '\\':
			plain = false
			if r.at += 2; r.at <= len(r.data) { // what follows is checked by unescape
				continue
			}
		}
		return nil, false, false // the end, or a control character
	}
}

// ordinary is how many bytes a text begins with that stand in a JSON string as they are: no quote, no backslash, and no control character.
// It also reports whether all of them are ASCII.
//
// It looks at eight bytes at once. (x-ones*n)&^x has the highest bit of some byte set exactly if a byte of x is below n, for n up to 128.
// Which byte it is may be wrong after a borrow, so the bytes of that word are looked at one by one.
func ordinary[T string | []byte](text T) (n int, ascii bool) {
	const ones, highest = 0x0101010101010101, 0x8080808080808080
	var seen uint64
	for ; n+8 <= len(text); n += 8 {
		t := text[n : n+8]
		x := uint64(t[0]) | uint64(t[1])<<8 | uint64(t[2])<<16 | uint64(t[3])<<24 | uint64(t[4])<<32 | uint64(t[5])<<40 | uint64(t[6])<<48 | uint64(t[7])<<56
		quote, slash := x^ones*'"', x^ones*'\\'
		if ((x-ones*' ')&^x|(quote-ones)&^quote|(slash-ones)&^slash)&highest != 0 {
			break
		}
		seen |= x
	}
	for ; n < len(text); n++ {
		c := text[n]
		if c < ' ' || c == '"' || c == '\\' {
			break
		}
		seen |= uint64(c)
	}
	return n, seen&highest == 0
}

// text reads a string.
func (r *reader) text() (string, bool) {
	raw, plain, ok := r.raw()
	if !ok {
		return "", false
	}
	if plain {
		return r.shared(raw), true
	}
	text, ok := unescape(raw)
	return string(text), ok
}

// maxShared is the length of the longest string that is shared, in bytes.
const maxShared = 32

var seed = maphash.MakeSeed()

// shared is raw as a string. Most short strings of a log come again and again, such as the names of models and hosts: a string that was
// read before takes no memory again.
func (r *reader) shared(raw []byte) string {
	if len(raw) > maxShared {
		return string(raw)
	}
	known := &r.seen[maphash.Bytes(seed, raw)%uint64(len(r.seen))]
	if *known != string(raw) {
		*known = string(raw)
	}
	return *known
}

// unescape replaces escapes. ok is false for surrogates and for what is no escape.
func unescape(raw []byte) (text []byte, ok bool) {
	text = make([]byte, 0, len(raw))
	for {
		at := bytes.IndexByte(raw, '\\')
		if at < 0 {
			return append(text, raw...), true
		}
		char, n, ok := escape(raw[at+1:])
		if !ok {
			return nil, false
		}
		text = utf8.AppendRune(append(text, raw[:at]...), char)
		raw = raw[at+1+n:]
	}
}

// unescapes reports whether unescape can read a string.
func unescapes(raw []byte) bool {
	for {
		at := bytes.IndexByte(raw, '\\')
		if at < 0 {
			return true
		}
		_, n, ok := escape(raw[at+1:])
		if !ok {
			return false
		}
		raw = raw[at+1+n:]
	}
}

// escape reads what stands behind a backslash: a character, named in n bytes.
func escape(raw []byte) (char rune, n int, ok bool) {
	if len(raw) == 0 {
		return 0, 0, false
	}
	if raw[0] == 'u' {
		char, ok = hex(raw[1:])
		return char, 5, ok
	}
	char = rune(escapes[raw[0]])
	return char, 1, char != 0
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// hex reads four digits that are no surrogate.
func hex(raw []byte) (char rune, ok bool) {
	if len(raw) < 4 {
		return 0, false
	}
	for _, c := range raw[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		char = char<<4 | rune(c)
	}
	return char, utf8.ValidRune(char)
}

// integer reads a whole number.
func (r *reader) integer() (raw []byte, ok bool) {
	raw, ok = r.number()
	return raw, ok && !bytes.ContainsAny(raw, ".eE")
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func (r *reader) digits() bool {
	from := r.at
	for r.at < len(r.data) && isDigit(r.data[r.at]) {
		r.at++
	}
	return r.at > from
}

// number reads any number.
func (r *reader) number() (raw []byte, ok bool) {
	from := r.at
	r.after('-')
	if !r.after('0') && !r.digits() {
		return nil, false
	}
	if r.after('.') && !r.digits() {
		return nil, false
	}
	if r.after('e') || r.after('E') {
		if !r.after('+') {
			r.after('-')
		}
		if !r.digits() {
			return nil, false
		}
	}
	return r.data[from:r.at], true
}

// skip reads any value.
func (r *reader) skip(depth int) (raw []byte, ok bool) {
	from := r.at
	switch r.next() {
	case '{':
		ok = depth < maxDepth && r.members('}', depth+1, true)
	case '[':
		ok = depth < maxDepth && r.members(']', depth+1, false)
	case '"':
		var text []byte
		var plain bool
		text, plain, ok = r.raw()
		ok = ok && (plain || unescapes(text))
	case 't':
		ok = r.word("true")
	case 'f':
		ok = r.word("false")
	case 'n':
		ok = r.word("null")
	default:
		_, ok = r.number()
	}
	return r.data[from:r.at], ok
}

// members reads what is in an object or a list, and both brackets.
func (r *reader) members(end byte, depth int, named bool) bool {
	r.at++
	if r.after(end) {
		return true
	}
	for {
		if named {
			if text, plain, ok := r.raw(); !ok || !r.after(':') || !plain && !unescapes(text) {
				return false
			}
		}
		if _, ok := r.skip(depth); !ok {
			return false
		}
		if r.after(end) {
			return true
		}
		if !r.after(',') {
			return false
		}
	}
}
