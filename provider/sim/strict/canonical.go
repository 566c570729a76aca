package strict

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Decode reads exactly one JSON value; numbers stay text.
func Decode(b []byte) (any, error) {
	if i := halfCharacter(b); i >= 0 {
		return nil, fmt.Errorf("no low surrogate in string: char %d", i)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return v, nil
}

// halfCharacter is where a body has an escape of half a character, which Go's decoder takes and the vendors' do not; -1:
// nowhere.
func halfCharacter(b []byte) int {
	unit := func(i int) rune {
		if i+6 > len(b) || b[i] != '\\' || b[i+1] != 'u' {
			return 0
		}
		n, err := strconv.ParseUint(string(b[i+2:i+6]), 16, 16)
		if err != nil {
			return 0
		}
		return rune(n)
	}
	for i := 0; ; {
		next := bytes.IndexByte(b[min(i, len(b)):], '\\')
		if next < 0 {
			return -1
		}
		i += next
		switch r := unit(i); {
		case utf16.IsSurrogate(r) && utf16.DecodeRune(r, unit(i+6)) == utf8.RuneError:
			return i
		case utf16.IsSurrogate(r):
			i += 12
		default:
			i += 2
		}
	}
}

// AppendCanonical appends the one spelling of a decoded value: members sorted, no white space, equal numbers spelt equally.
// What is equal by value is equal in bytes.
func AppendCanonical(b []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		b = append(b, '{')
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(AppendQuoted(b, k), ':')
			b = AppendCanonical(b, v[k])
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = AppendCanonical(b, e)
		}
		return append(b, ']')
	case string:
		return AppendQuoted(b, v)
	case json.Number:
		return append(b, number(v)...)
	case bool:
		return strconv.AppendBool(b, v)
	default:
		return append(b, "null"...)
	}
}

// number spells integers as they are and the rest as a float64, as far as that loses nothing worth keeping: 1.0 is 1.
func number(n json.Number) string {
	if i, err := n.Int64(); err == nil {
		return strconv.FormatInt(i, 10)
	}
	f, err := n.Float64()
	if err != nil {
		return n.String()
	}
	if i := int64(f); float64(i) == f && i > -1<<53 && i < 1<<53 {
		return strconv.FormatInt(i, 10)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// AppendQuoted appends s as a JSON string. Most have nothing to escape, and deltas come by the thousand.
func AppendQuoted(b []byte, s string) []byte {
	if plain(s) {
		b = append(b, '"')
		b = append(b, s...)
		return append(b, '"')
	}
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // strings always encode
	}
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			return false
		}
	}
	return utf8.ValidString(s)
}

// Digest is the hash of a growing sequence of parts.
type Digest [sha256.Size]byte

// With is the digest of the sequence with more parts at its end. Lengths go in, so that no two sequences run together.
func (d Digest) With(parts ...[]byte) Digest {
	h := sha256.New()
	h.Write(d[:])
	for _, p := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		h.Write(p)
	}
	return Digest(h.Sum(nil))
}

// String is enough of d to tell it from any other.
func (d Digest) String() string { return hex.EncodeToString(d[:12]) }

// DigestOf is the digest of one string as text.
func DigestOf(s string) string { return Digest{}.With([]byte(s)).String() }

// Without returns m without the named members.
func Without(m map[string]any, names ...string) map[string]any {
	rest := make(map[string]any, len(m))
	for k, v := range m {
		if !slices.Contains(names, k) {
			rest[k] = v
		}
	}
	return rest
}
