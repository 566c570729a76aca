package ownjson

import (
	"encoding/json"
	"reflect"
	"strconv"
)

// readStruct reads an object whose members are some of the fields, in their order.
func (p *plan) readStruct(r *reader, v reflect.Value) bool {
	if !r.after('{') {
		return false
	}
	if r.after('}') {
		return true
	}
	for _, f := range p.fields {
		if !r.word(f.name) {
			continue
		}
		member := v
		for _, i := range f.index {
			member = member.Field(i)
		}
		if !f.plan.read(r, member) {
			return false
		}
		if !r.after(',') {
			return r.after('}')
		}
	}
	return false
}

func pointerTo(elem *plan, t reflect.Type) func(*reader, reflect.Value) bool {
	return func(r *reader, v reflect.Value) bool {
		if r.next() == 'n' {
			return r.word("null")
		}
		value := reflect.New(t)
		if !elem.read(r, value.Elem()) {
			return false
		}
		v.Set(value)
		return true
	}
}

func listOf(elem *plan, t reflect.Type) func(*reader, reflect.Value) bool {
	return func(r *reader, v reflect.Value) bool {
		if r.next() == 'n' {
			return r.word("null")
		}
		if !r.after('[') {
			return false
		}
		if r.after(']') {
			v.Set(reflect.MakeSlice(t, 0, 0))
			return true
		}
		for n := 0; ; n++ {
			if n == v.Cap() {
				v.Grow(max(1, n))
			}
			v.SetLen(n + 1)
			v.Index(n).SetZero()
			if !elem.read(r, v.Index(n)) {
				return false
			}
			if !r.after(',') {
				return r.after(']')
			}
		}
	}
}

func readRaw(r *reader, v reflect.Value) bool {
	raw, ok := r.skip(0)
	if ok {
		v.SetBytes(append([]byte(nil), raw...))
	}
	return ok
}

func readUnmarshaler(r *reader, v reflect.Value) bool {
	raw, ok := r.skip(0)
	return ok && v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(raw) == nil
}

// readOther reads a value of a type that has no plan of its own.
func readOther(r *reader, v reflect.Value) bool {
	raw, ok := r.skip(0)
	return ok && json.Unmarshal(raw, v.Addr().Interface()) == nil
}

func readString(r *reader, v reflect.Value) bool {
	text, ok := r.text()
	v.SetString(text)
	return ok
}

func readBool(r *reader, v reflect.Value) bool {
	if r.word("true") {
		v.SetBool(true)
		return true
	}
	return r.word("false")
}

func readInt(r *reader, v reflect.Value) bool {
	raw, ok := r.integer()
	if !ok {
		return false
	}
	n, err := strconv.ParseInt(string(raw), 10, v.Type().Bits())
	v.SetInt(n)
	return err == nil
}

func readUint(r *reader, v reflect.Value) bool {
	raw, ok := r.integer()
	if !ok {
		return false
	}
	n, err := strconv.ParseUint(string(raw), 10, v.Type().Bits())
	v.SetUint(n)
	return err == nil
}

func readFloat(r *reader, v reflect.Value) bool {
	raw, ok := r.number()
	if !ok {
		return false
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	v.SetFloat(n)
	return err == nil
}
