package exchange

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// A Stencil recognizes an event that differs from the one before only in its text, as most events of an answer do. If all
// other bytes are equal, the event means the same, and only the text has to be read. This is right for any order of members, and for
// repeated and unknown members, because the stencil compares bytes and not members. An event with any other difference
// does not match, and is decoded in full.
//
// What an event does to the reply must follow from its bytes and from what the event before it left: so an adapter
// clears the stencil whenever it decodes another one. The zero value matches nothing. It is for adapters, and for one
// goroutine.
type Stencil struct {
	solid []byte // the event without what was in its holes
	holes []hole
}

// hole is a value that was cut out.
type hole struct {
	at   int // in solid
	kind holeKind
}

type holeKind int

const (
	pieceHole  holeKind = iota // the text, or what repeats it
	stringHole                 // a string that says nothing
	numberHole                 // a number that says nothing, or is looked up where it is wanted
)

// longest is the maximum size of a kept event without its text, in bytes. Larger ones are not worth the memory.
const longest = 4 << 10

// Clear makes s match nothing.
func (s *Stencil) Clear() { s.holes = s.holes[:0] }

// Cut makes s of an event that was decoded: data is valid JSON, pieces are strings in it that are its text, the same in
// each, and idle are strings and numbers that may differ, since they change nothing: counters, times, padding. Idle
// values that are not there, or are something else, are left out. All of them were got of data as a whole, so that they
// know their place.
func (s *Stencil) Cut(data []byte, pieces []gjson.Result, idle ...gjson.Result) {
	s.solid, s.holes = s.solid[:0], s.holes[:0]
	type cut struct {
		value gjson.Result
		kind  holeKind
	}
	var places [8]cut // on the stack
	cuts, size := places[:0], len(data)
	for _, v := range pieces {
		if v.Type != gjson.String || v.Raw != pieces[0].Raw {
			return
		}
		cuts, size = append(cuts, cut{v, pieceHole}), size-len(v.Raw)
	}
	if len(cuts) == 0 || size > longest {
		return
	}
	for _, v := range idle {
		switch v.Type {
		case gjson.String:
			cuts = append(cuts, cut{v, stringHole})
		case gjson.Number:
			cuts = append(cuts, cut{v, numberHole})
		}
	}
	slices.SortFunc(cuts, func(a, b cut) int { return cmp.Compare(a.value.Index, b.value.Index) })
	done := 0
	for _, c := range cuts {
		end := c.value.Index + len(c.value.Raw)
		if c.value.Index < done || end > len(data) || string(data[c.value.Index:end]) != c.value.Raw {
			s.Clear() // it is not of this event, or the same as another
			return
		}
		s.solid = append(s.solid, data[done:c.value.Index]...)
		s.holes = append(s.holes, hole{len(s.solid), c.kind})
		done = end
	}
	s.solid = append(s.solid, data[done:]...)
}

// Match returns the text of an event that is the one that s was cut of with another text.
func (s *Stencil) Match(data []byte) (piece gjson.Result, ok bool) {
	if len(s.holes) == 0 {
		return piece, false
	}
	var text []byte
	escaped, done := false, 0
	for _, h := range s.holes {
		before := s.solid[done:h.at]
		if !bytes.HasPrefix(data, before) {
			return piece, false
		}
		data, done = data[len(before):], h.at
		n := 0
		switch h.kind {
		case numberHole:
			n = digits(data)
		case stringHole:
			n, _ = quoted(data)
		case pieceHole:
			n, escaped = quoted(data)
			if text != nil && !bytes.Equal(text, data[:n]) {
				return piece, false
			}
			text = data[:n]
		}
		if n == 0 {
			return piece, false
		}
		data = data[n:]
	}
	if tail := s.solid[done:]; !bytes.Equal(data, tail) && !closes(data, tail) {
		return piece, false
	}
	if escaped {
		return gjson.ParseBytes(text), true
	}
	raw := string(text)
	return gjson.Result{Type: gjson.String, Raw: raw, Str: raw[1 : len(raw)-1]}, true
}

// Once is a member of an object that has it once, and no value otherwise: which one of several counts is for the code
// that decodes, and what is noted for a [Stencil] must not depend on it.
func Once(object gjson.Result, name string) (found gjson.Result) {
	n := 0
	object.ForEach(func(key, value gjson.Result) bool {
		if key.Str == name {
			found = value
			n++
		}
		return true
	})
	if n != 1 {
		return gjson.Result{}
	}
	return found
}

// quoted is the length of the JSON string at the start of data, 0 if none is there.
func quoted(data []byte) (n int, escaped bool) {
	if len(data) == 0 || data[0] != '"' {
		return 0, false
	}
	for i := 1; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			return i + 1, escaped
		case c < ' ':
			return 0, false
		case c == '\\':
			n := escape(data[i:])
			if n == 0 {
				return 0, false
			}
			escaped = true
			i += n - 1
		}
	}
	return 0, false
}

// escape is the length of the escape at the start of data, 0 if none is there.
func escape(data []byte) int {
	switch {
	case len(data) < 2:
		return 0
	case strings.IndexByte(`"\/bfnrt`, data[1]) >= 0:
		return 2
	case data[1] != 'u' || len(data) < 6:
		return 0
	}
	for _, c := range data[2:6] {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			return 0
		}
	}
	return 6
}

// digits is the length of the count at the start of data, 0 if none is there.
func digits(data []byte) int {
	n := 0
	for n < len(data) && data[n] >= '0' && data[n] <= '9' {
		n++
	}
	if n > 1 && data[0] == '0' {
		return 0
	}
	return n
}

// closes reports whether two ends of an event are the same brackets, with any white space between them: some hosts pad
// their events there.
func closes(a, b []byte) bool {
	for {
		a, b = bytes.TrimLeft(a, " "), bytes.TrimLeft(b, " ")
		if len(a) == 0 || len(b) == 0 {
			return len(a) == len(b)
		}
		if a[0] != b[0] || a[0] != '}' && a[0] != ']' {
			return false
		}
		a, b = a[1:], b[1:]
	}
}
