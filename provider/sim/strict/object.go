package strict

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Object is a JSON object of a request while it is checked. Members are taken one by one; what nobody took is extra
// input. The first wrong member stays in err, and all later calls give zero values. A null member is an absent one.
type Object struct {
	Path    string         // where the object stands in the request; empty: it is the request
	Members map[string]any // all of them, taken or not
	Taken   []string       // names that are no extra input
	Err     error          // the first thing that is wrong; a face may set its own
}

// Error is a member of a request that breaks a rule: its path, ": ", and what is wrong.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// Errorf makes an Error. Its text begins with the path of a member and ": ".
func Errorf(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// NewObject is v as an object at path.
func NewObject(path string, v any) *Object {
	m, ok := v.(map[string]any)
	f := &Object{Path: path, Members: m}
	if !ok {
		f.Fail("", "Input should be an object")
	}
	return f
}

// At is the path of a member; an empty name is the object itself.
func (f *Object) At(name string) string {
	switch {
	case f.Path == "":
		return name
	case name == "":
		return f.Path
	}
	return f.Path + "." + name
}

// Fail keeps what is wrong with a member, unless something was wrong before.
func (f *Object) Fail(name, text string) {
	if f.Err == nil {
		f.Err = Errorf("%s: %s", f.At(name), text)
	}
}

// Take is a member as it is, nil if there is none.
func (f *Object) Take(name string) any {
	f.Taken = append(f.Taken, name)
	return f.Members[name]
}

// Need is a member that must be there.
func (f *Object) Need(name string) any {
	v := f.Take(name)
	if v == nil {
		f.Fail(name, "Field required")
	}
	return v
}

// Text is a string; need says whether it must be there.
func (f *Object) Text(name string, need bool) string {
	v := f.Take(name)
	if v == nil {
		if need {
			f.Fail(name, "Field required")
		}
		return ""
	}
	s, ok := v.(string)
	if !ok {
		f.Fail(name, "Input should be a valid string")
	}
	return s
}

// Word is a string out of a list; empty if it is absent.
func (f *Object) Word(name string, need bool, list ...string) string {
	s := f.Text(name, need)
	if f.Err == nil && f.Members[name] != nil && !slices.Contains(list, s) {
		f.Fail(name, "Input should be "+OneOf(list))
	}
	return s
}

// Integer is a whole number; present tells zero from absent.
func (f *Object) Integer(name string, need bool) (n int, present bool) {
	v := f.Take(name)
	if v == nil {
		if need {
			f.Fail(name, "Field required")
		}
		return 0, false
	}
	number, ok := v.(json.Number)
	if !ok {
		f.Fail(name, "Input should be a valid integer")
		return 0, false
	}
	x, err := number.Float64()
	if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
		f.Fail(name, "Input should be a valid integer")
		return 0, false
	}
	return int(x), true
}

// Number is a number from low to high.
func (f *Object) Number(name string, low, high float64) (x float64, present bool) {
	v := f.Take(name)
	if v == nil {
		return 0, false
	}
	text, ok := v.(json.Number)
	if !ok {
		f.Fail(name, "Input should be a valid number")
		return 0, false
	}
	x, err := text.Float64()
	if err != nil || x < low || x > high {
		f.Fail(name, fmt.Sprintf("Input should be from %g to %g", low, high))
		return 0, false
	}
	return x, true
}

// Flag is a boolean.
func (f *Object) Flag(name string) bool {
	v := f.Take(name)
	b, ok := v.(bool)
	if v != nil && !ok {
		f.Fail(name, "Input should be a valid boolean")
	}
	return b
}

// List is an array; nil if it is absent.
func (f *Object) List(name string) []any {
	v := f.Take(name)
	l, ok := v.([]any)
	if v != nil && !ok {
		f.Fail(name, "Input should be a valid list")
	}
	return l
}

// Done is the first error, or that of the first member that nobody took.
func (f *Object) Done() error {
	if f.Err != nil {
		return f.Err
	}
	var extra []string
	for name := range f.Members {
		if !slices.Contains(f.Taken, name) {
			extra = append(extra, name)
		}
	}
	if extra != nil {
		return Errorf("%s: Extra inputs are not permitted", f.At(slices.Min(extra)))
	}
	return nil
}

// OneOf spells a choice: 'a', 'b' or 'c'.
func OneOf(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = "'" + s + "'"
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " or " + quoted[len(quoted)-1]
}
