package ownjson

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// plan says how values of a type are read. It is made once, and does not change then.
type plan struct {
	read   func(*reader, reflect.Value) bool
	fields []field // of a struct, in the order in which they are written
}

type field struct {
	name  string // with its quotes and the colon
	index []int
	plan  *plan
}

var plans sync.Map // reflect.Type to *plan

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	made := make(map[reflect.Type]*plan)
	p := makePlan(t, made)
	for t, p := range made {
		plans.Store(t, p) // all are complete; another goroutine may have made equal ones
	}
	return p
}

var (
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
	texts       = reflect.TypeFor[encoding.TextUnmarshaler]()
	rawMessage  = reflect.TypeFor[json.RawMessage]()
)

// makePlan makes the plans of a type and of all in it. A type may contain itself.
func makePlan(t reflect.Type, made map[reflect.Type]*plan) *plan {
	if p := made[t]; p != nil {
		return p
	}
	p := &plan{}
	made[t] = p
	switch kind := t.Kind(); {
	case t == rawMessage:
		p.read = readRaw
	case reflect.PointerTo(t).Implements(unmarshaler):
		p.read = readUnmarshaler
	case kind == reflect.Pointer && !t.Implements(texts):
		p.read = pointerTo(makePlan(t.Elem(), made), t.Elem())
	case reflect.PointerTo(t).Implements(texts):
		p.read = readOther
	case kind == reflect.String && t != reflect.TypeFor[json.Number]():
		p.read = readString
	case kind == reflect.Bool:
		p.read = readBool
	case kind >= reflect.Int && kind <= reflect.Int64:
		p.read = readInt
	case kind >= reflect.Uint && kind <= reflect.Uint64:
		p.read = readUint
	case kind == reflect.Float64:
		p.read = readFloat
	case kind == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		p.read = listOf(makePlan(t.Elem(), made), t)
	case kind == reflect.Struct:
		p.read = readOther
		if fields, ok := fieldsOf(t, nil, made); ok {
			p.fields, p.read = fields, p.readStruct
		}
	default:
		p.read = readOther
	}
	return p
}

// fieldsOf lists the members of a struct. ok is false if their names are not simple to find: two are equal, or a tag has an option that
// changes how the value is written.
func fieldsOf(t reflect.Type, before []int, made map[reflect.Type]*plan) (fields []field, ok bool) {
	seen := make(map[string]bool)
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		index := append(before[:len(before):len(before)], i)
		var add []field
		switch {
		case tag == "-" || !f.IsExported() && !f.Anonymous:
			continue
		case f.Anonymous && name == "":
			own := reflect.PointerTo(f.Type)
			if f.Type.Kind() != reflect.Struct || own.Implements(unmarshaler) || own.Implements(texts) {
				return nil, false
			}
			if add, ok = fieldsOf(f.Type, index, made); !ok {
				return nil, false
			}
		case !f.IsExported() || name == "" || strings.Contains(options, "string"):
			return nil, false
		default:
			add = []field{{strconv.Quote(name) + ":", index, makePlan(f.Type, made)}}
		}
		for _, f := range add {
			if seen[f.name] {
				return nil, false
			}
			seen[f.name] = true
		}
		fields = append(fields, add...)
	}
	return fields, true
}

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
