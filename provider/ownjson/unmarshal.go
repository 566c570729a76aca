package ownjson

import (
	"encoding/json"
	"reflect"
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
	r := reader{data: data}
	return planOf(reflect.TypeFor[T]()).read(&r, reflect.ValueOf(v).Elem()) && r.at == len(data)
}
