package method

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
)

// Field is a member of a params struct.
type Field struct {
	Name     string
	Index    []int
	Required bool
	most     int // bytes of its JSON; 0: as the message
}

// FieldsOf lists the members of a params struct, embedded ones too. A member is required unless its tag says
// omitempty or omitzero: the rule of the schemas in rpc.discover. The tag most bounds its JSON: a million names are a
// hundred times as large in a map.
func FieldsOf(t reflect.Type) []Field {
	var fields []Field
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || !f.IsExported() {
			continue
		}
		optional := slices.ContainsFunc(strings.Split(options, ","), func(o string) bool {
			return o == "omitempty" || o == "omitzero"
		})
		most, err := strconv.Atoi(cmp.Or(f.Tag.Get("most"), "0"))
		if err != nil {
			panic(err) // of our own making, at the start
		}
		fields = append(fields, Field{name, f.Index, !optional, most})
	}
	return fields
}

// DecodeParams fills a params struct, member by member: so names are compared exactly, null is the same as absent
// whatever the member's type, and each error names its member. Unknown members are ignored here: [Known] finds them. Every error is a *[conn.Error] or a *[provider.LevelError].
func DecodeParams(params json.RawMessage, into reflect.Value, fields []Field) error {
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	if params[0] != '{' {
		return conn.InvalidParams("", "params must be an object")
	}
	seen := make([]bool, len(fields))
	for name, value := range conn.Members(params) {
		if string(value) == "null" {
			continue
		}
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
		if i < 0 {
			continue
		}
		if most := fields[i].most; most > 0 && len(value) > most {
			return conn.InvalidParams(name, "is larger than %d bytes", most)
		}
		if err := json.Unmarshal(value, into.FieldByIndex(fields[i].Index).Addr().Interface()); err != nil {
			return memberError(name, err)
		}
		if err := checkWord(name, into.FieldByIndex(fields[i].Index)); err != nil {
			return err
		}
		seen[i] = true
	}
	for i, f := range fields {
		if f.Required && !seen[i] {
			return conn.InvalidParams(f.Name, "is missing")
		}
	}
	return nil
}

// checkWord refuses what is none of the words of a member's type. An empty text is the same as absent.
func checkWord(name string, value reflect.Value) error {
	of, ok := value.Interface().(provider.Worded)
	if !ok || value.Kind() != reflect.String || value.String() == "" || slices.Contains(of.Words(), value.String()) {
		return nil
	}
	return conn.InvalidParams(name, "%q is not one of %s", value.String(), strings.Join(of.Words(), ", "))
}

// memberError says what is wrong with a member in the words of JSON.
func memberError(name string, err error) error {
	if unknown, ok := errors.AsType[*provider.LevelError](err); ok { // it has a code of its own
		return unknown
	}
	if option, ok := errors.AsType[*provider.OptionError](err); ok {
		if option.Member != "" {
			name += "." + option.Member
		}
		return conn.InvalidParams(name, "%s", option.Text)
	}
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return conn.InvalidParams(name, "%v", err)
	}
	if wrong.Field != "" {
		name += "." + wrong.Field
	}
	return conn.InvalidParams(name, "must be %s, not %s", jsonWord(wrong.Type), wrong.Value)
}

// jsonWord is what a Go type is in JSON.
func jsonWord(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number, not negative"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Pointer:
		return jsonWord(t.Elem())
	}
	return fmt.Sprintf("something else (%s)", t.Kind())
}
