package ownjson

import "reflect"

// plan says how values of a type are read and written. It is made once, and does not change then.
type plan struct {
	read   func(*reader, reflect.Value) bool
	write  func([]byte, reflect.Value) ([]byte, error)
	fields []field // of a struct, in the order in which they are written
}

type field struct {
	name  string // with its quotes and the colon
	index []int
	plan  *plan
	omits func(reflect.Value) bool // whether a value is left out; nil: none is
}
