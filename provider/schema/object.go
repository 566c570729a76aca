package schema

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"
)

// object is a JSON object that keeps the order of its members: a model reads properties in the order that their author
// chose.
type object struct {
	names  []string
	values map[string]any // object, []any, or json.RawMessage
}

func newObject() *object { return &object{values: map[string]any{}} }

func (o *object) has(name string) bool { _, ok := o.values[name]; return ok }

func (o *object) set(name string, v any) {
	if !o.has(name) {
		o.names = append(o.names, name)
	}
	o.values[name] = v
}

func (o *object) drop(name string) {
	if o.has(name) {
		delete(o.values, name)
		o.names = slices.DeleteFunc(o.names, func(n string) bool { return n == name })
	}
}

// text is a member that is a string; empty: it is none.
func (o *object) text(name string) string {
	raw, _ := o.values[name].(json.RawMessage)
	return gjson.ParseBytes(raw).Str
}

// list is the strings of a member that is a list.
func (o *object) list(name string) (words []string) {
	all, _ := o.values[name].([]any)
	for _, e := range all {
		if raw, ok := e.(json.RawMessage); ok && gjson.ParseBytes(raw).Type == gjson.String {
			words = append(words, gjson.ParseBytes(raw).Str)
		}
	}
	return words
}

func (o *object) copy() *object {
	c := newObject()
	for _, name := range o.names {
		c.set(name, o.values[name])
	}
	return c
}

// parse reads a value. A name that comes twice has its last value.
func parse(r gjson.Result) any {
	switch {
	case r.IsObject():
		o := newObject()
		r.ForEach(func(name, value gjson.Result) bool {
			o.set(name.String(), parse(value))
			return true
		})
		return o
	case r.IsArray():
		list := []any{}
		r.ForEach(func(_, value gjson.Result) bool {
			list = append(list, parse(value))
			return true
		})
		return list
	}
	return json.RawMessage(r.Raw)
}

func quote(text string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		panic(err) // a string
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func words(list ...string) []any {
	out := []any{}
	for _, w := range list {
		out = append(out, quote(w))
	}
	return out
}

// write appends a value as compact JSON.
func write(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case *object:
		b.WriteByte('{')
		for i, name := range v.names {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(quote(name))
			b.WriteByte(':')
			write(b, v.values[name])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, e)
		}
		b.WriteByte(']')
	case json.RawMessage:
		b.Write(v)
	}
}

func encode(v any) []byte {
	var b bytes.Buffer
	write(&b, v)
	return b.Bytes()
}
