package ownjson

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

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
	marshaler   = reflect.TypeFor[json.Marshaler]()
	textOut     = reflect.TypeFor[encoding.TextMarshaler]()
)

// makePlan makes the plans of a type and of all in it. A type may contain itself.
func makePlan(t reflect.Type, made map[reflect.Type]*plan) *plan {
	if p := made[t]; p != nil {
		return p
	}
	p := &plan{}
	made[t] = p
	if t.Kind() == reflect.Struct {
		p.fields = fieldsOf(t, nil, made)
	}
	p.write = p.writerOf(t, made)
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
	case p.fields != nil:
		p.read = p.readStruct
	default:
		p.read = readOther
	}
	return p
}

// fieldsOf lists the members of a struct. It is nil if their names are not simple to find: two are equal, or a tag has an option that
// changes how the value is written.
func fieldsOf(t reflect.Type, before []int, made map[reflect.Type]*plan) []field {
	fields := []field{}
	seen := make(map[string]bool)
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("json") == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		members := membersOf(f, append(before[:len(before):len(before)], i), made)
		for _, m := range members {
			if seen[m.name] {
				return nil
			}
			seen[m.name] = true
		}
		if members == nil {
			return nil
		}
		fields = append(fields, members...)
	}
	return fields
}

// membersOf is one field, or those of an embedded struct; nil: they are not simple.
func membersOf(f reflect.StructField, index []int, made map[reflect.Type]*plan) []field {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if f.Anonymous && name == "" {
		if f.Type.Kind() != reflect.Struct || slices.ContainsFunc([]reflect.Type{unmarshaler, texts, marshaler, textOut}, reflect.PointerTo(f.Type).Implements) {
			return nil
		}
		return fieldsOf(f.Type, index, made)
	}
	omits, ok := omission(f.Type, options)
	if !f.IsExported() || name == "" || !ok {
		return nil
	}
	return []field{{strconv.Quote(name) + ":", index, makePlan(f.Type, made), omits}}
}

// omission is what the options of a tag leave out; ok is false if that is not simple to say.
func omission(t reflect.Type, options string) (omits func(reflect.Value) bool, ok bool) {
	switch options {
	case "":
		return nil, true
	case "omitempty":
		return isEmpty, true
	case "omitzero":
		type zeroer interface{ IsZero() bool }
		zero := reflect.TypeFor[zeroer]()
		switch kind := t.Kind(); {
		case kind == reflect.Pointer || kind == reflect.Interface || !t.Implements(zero) && reflect.PointerTo(t).Implements(zero):
			return nil, false
		case t.Implements(zero):
			return func(v reflect.Value) bool { return v.Interface().(zeroer).IsZero() }, true
		}
		return reflect.Value.IsZero, true
	}
	return nil, false
}

// writerOf is how values of a type are written. The fields are known.
func (p *plan) writerOf(t reflect.Type, made map[reflect.Type]*plan) func([]byte, reflect.Value) ([]byte, error) {
	own := reflect.PointerTo(t)
	switch kind := t.Kind(); {
	case t == rawMessage:
		return writeRaw
	case kind == reflect.Pointer && t.Elem() != rawMessage && (t.Elem().Kind() == reflect.Struct || !t.Implements(marshaler) && !t.Implements(textOut)):
		return writePointer(makePlan(t.Elem(), made))
	case own.Implements(marshaler) || own.Implements(textOut) || t == reflect.TypeFor[json.Number]():
		return writeOther
	case kind == reflect.String:
		return writeString
	case kind == reflect.Bool:
		return func(out []byte, v reflect.Value) ([]byte, error) { return strconv.AppendBool(out, v.Bool()), nil }
	case kind >= reflect.Int && kind <= reflect.Int64:
		return func(out []byte, v reflect.Value) ([]byte, error) { return strconv.AppendInt(out, v.Int(), 10), nil }
	case kind >= reflect.Uint && kind <= reflect.Uint64:
		return func(out []byte, v reflect.Value) ([]byte, error) { return strconv.AppendUint(out, v.Uint(), 10), nil }
	case kind == reflect.Interface:
		return writeInterface
	case kind == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return writeList(makePlan(t.Elem(), made))
	case p.fields != nil:
		return p.writeStruct
	}
	return writeOther
}

func writeInterface(out []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(out, "null"...), nil
	}
	v = v.Elem()
	return planOf(v.Type()).write(out, v)
}
