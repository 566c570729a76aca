package ownjson

import (
	"encoding/json"
	"reflect"
	"sync"
)

// Unmarshal stores in v what json.Unmarshal would store in a zero T, and returns its error. What v had before is lost. It is safe for
// concurrent use.
func Unmarshal[T any](data []byte, v *T) error {
	if fits(data, v) {
		return nil
	}
	*v = *new(T)
	return json.Unmarshal(data, v)
}

// fits reads data in one walk, and reports whether that was possible. If not, v has some part of it.
func fits[T any](data []byte, v *T) bool {
	*v = *new(T)
	r, _ := readers.Get().(*reader)
	if r == nil {
		r = &reader{seen: new([256]string)}
	}
	r.data, r.at = data, 0
	ok := planOf(reflect.TypeFor[T]()).read(r, reflect.ValueOf(v).Elem()) && r.at == len(data)
	r.data = nil
	readers.Put(r)
	return ok
}

// readers are kept for the strings that they share.
var readers sync.Pool
