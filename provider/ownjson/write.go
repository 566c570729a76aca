package ownjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"unicode/utf8"
)

// isEmpty is what omitempty leaves out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

func (p *plan) writeStruct(out []byte, v reflect.Value) (_ []byte, err error) {
	out = append(out, '{')
	first := len(out)
	for _, f := range p.fields {
		member := v
		for _, i := range f.index {
			member = member.Field(i)
		}
		if f.omits != nil && f.omits(member) {
			continue
		}
		if len(out) > first {
			out = append(out, ',')
		}
		if out, err = f.plan.write(append(out, f.name...), member); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

func writePointer(elem *plan) func([]byte, reflect.Value) ([]byte, error) {
	return func(out []byte, v reflect.Value) ([]byte, error) {
		if v.IsNil() {
			return append(out, "null"...), nil
		}
		return elem.write(out, v.Elem())
	}
}

func writeList(elem *plan) func([]byte, reflect.Value) ([]byte, error) {
	return func(out []byte, v reflect.Value) (_ []byte, err error) {
		if v.IsNil() {
			return append(out, "null"...), nil
		}
		out = append(out, '[')
		for i := range v.Len() {
			if i > 0 {
				out = append(out, ',')
			}
			if out, err = elem.write(out, v.Index(i)); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	}
}

// writeRaw copies JSON without spaces, which encoding/json would walk more slowly.
func writeRaw(out []byte, v reflect.Value) ([]byte, error) {
	raw := v.Bytes()
	r := reader{data: raw}
	if _, ok := r.skip(0); ok && r.at == len(raw) {
		return append(out, raw...), nil
	}
	return writeOther(out, v)
}

// writeOther writes a value with encoding/json.
func writeOther(out []byte, v reflect.Value) ([]byte, error) {
	if v.CanAddr() {
		v = v.Addr() // methods of pointers count, as they do within a larger value
	}
	data, err := plain(v.Interface())
	return append(out, data...), err
}

// plain is JSON without the escapes that encoding/json adds for HTML.
func plain(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}

func writeString(out []byte, v reflect.Value) ([]byte, error) {
	return appendString(out, v.String()), nil
}

// appendString writes what most strings have, and leaves rare characters to encoding/json.
func appendString(out []byte, text string) []byte {
	before, rest, ascii := len(out), text, true
	out = append(out, '"')
	for {
		n, only := ordinary(rest)
		out, ascii = append(out, rest[:n]...), ascii && only
		if n == len(rest) {
			break
		}
		switch c := rest[n]; c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\n':
			out = append(out, '\\', 'n')
		case '\t':
			out = append(out, '\\', 't')
		default:
			return appendRare(out[:before], text)
		}
		rest = rest[n+1:]
	}
	if !ascii && (!utf8.ValidString(text) || strings.Contains(text, "\u2028") || strings.Contains(text, "\u2029")) {
		return appendRare(out[:before], text)
	}
	return append(out, '"')
}

func appendRare(out []byte, text string) []byte {
	data, err := plain(text)
	if err != nil {
		panic(err) // of a string there is none
	}
	return append(out, data...)
}
