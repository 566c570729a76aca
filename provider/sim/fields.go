package sim

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// fields is a JSON object of a request while it is checked. Members are taken one by one; what nobody took is extra
// input. The first wrong member stays in err, and all later calls give zero values. A null member is an absent one.
type fields struct {
	path  string
	m     map[string]any
	taken []string
	err   error
}

// strictError is a member of a request that breaks a rule: its path, ": ", and what is wrong.
type strictError struct{ text string }

func (e *strictError) Error() string { return e.text }

// breach makes a strictError.
func breach(format string, args ...any) error { return &strictError{fmt.Sprintf(format, args...)} }

// objectAt is v as an object at path.
func objectAt(path string, v any) *fields {
	m, ok := v.(map[string]any)
	f := &fields{path: path, m: m}
	if !ok {
		f.fail("", "Input should be an object")
	}
	return f
}

func (f *fields) at(name string) string {
	switch {
	case f.path == "":
		return name
	case name == "":
		return f.path
	}
	return f.path + "." + name
}

func (f *fields) fail(name, text string) {
	if f.err == nil {
		f.err = breach("%s: %s", f.at(name), text)
	}
}

// take is a member as it is, nil if there is none.
func (f *fields) take(name string) any {
	f.taken = append(f.taken, name)
	return f.m[name]
}

// need is a member that must be there.
func (f *fields) need(name string) any {
	v := f.take(name)
	if v == nil {
		f.fail(name, "Field required")
	}
	return v
}

// text is a string; need says whether it must be there.
func (f *fields) text(name string, need bool) string {
	v := f.take(name)
	if v == nil {
		if need {
			f.fail(name, "Field required")
		}
		return ""
	}
	s, ok := v.(string)
	if !ok {
		f.fail(name, "Input should be a valid string")
	}
	return s
}

// word is a string out of a list; empty if it is absent.
func (f *fields) word(name string, need bool, list ...string) string {
	s := f.text(name, need)
	if f.err == nil && f.m[name] != nil && !slices.Contains(list, s) {
		f.fail(name, "Input should be "+oneOf(list))
	}
	return s
}

// integer is a whole number; present tells zero from absent.
func (f *fields) integer(name string, need bool) (n int, present bool) {
	v := f.take(name)
	if v == nil {
		if need {
			f.fail(name, "Field required")
		}
		return 0, false
	}
	number, ok := v.(json.Number)
	if !ok {
		f.fail(name, "Input should be a valid integer")
		return 0, false
	}
	x, err := number.Float64()
	if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
		f.fail(name, "Input should be a valid integer")
		return 0, false
	}
	return int(x), true
}

// number is a number from low to high.
func (f *fields) number(name string, low, high float64) (x float64, present bool) {
	v := f.take(name)
	if v == nil {
		return 0, false
	}
	text, ok := v.(json.Number)
	if !ok {
		f.fail(name, "Input should be a valid number")
		return 0, false
	}
	x, err := text.Float64()
	if err != nil || x < low || x > high {
		f.fail(name, fmt.Sprintf("Input should be from %g to %g", low, high))
		return 0, false
	}
	return x, true
}

// flag is a boolean.
func (f *fields) flag(name string) bool {
	v := f.take(name)
	b, ok := v.(bool)
	if v != nil && !ok {
		f.fail(name, "Input should be a valid boolean")
	}
	return b
}

// list is an array; nil if it is absent.
func (f *fields) list(name string) []any {
	v := f.take(name)
	l, ok := v.([]any)
	if v != nil && !ok {
		f.fail(name, "Input should be a valid list")
	}
	return l
}

// done is the first error, or that of the first member that nobody took.
func (f *fields) done() error {
	if f.err != nil {
		return f.err
	}
	var extra []string
	for name := range f.m {
		if !slices.Contains(f.taken, name) {
			extra = append(extra, name)
		}
	}
	if extra != nil {
		return breach("%s: Extra inputs are not permitted", f.at(slices.Min(extra)))
	}
	return nil
}

// oneOf spells a choice: 'a', 'b' or 'c'.
func oneOf(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = "'" + s + "'"
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " or " + quoted[len(quoted)-1]
}
