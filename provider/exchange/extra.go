package exchange

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Merge puts the members of extra into a body by the rules of RFC 7386 (JSON Merge Patch): objects are merged, everything else is
// replaced, and null removes a member. replaced names the members of the body that are different now, such as output_config.effort, in
// order. Both are JSON objects.
func Merge(body, extra json.RawMessage) (merged json.RawMessage, replaced []string, err error) {
	var more map[string]json.RawMessage
	if err := json.Unmarshal(extra, &more); err != nil || more == nil {
		return nil, nil, fmt.Errorf("extra_body must be a JSON object: %w", err)
	}
	merged, err = mergeInto(body, more, "", &replaced)
	return merged, replaced, err
}

func mergeInto(object json.RawMessage, more map[string]json.RawMessage, at string, replaced *[]string) (json.RawMessage, error) {
	members := make(map[string]json.RawMessage)
	if object != nil {
		if err := json.Unmarshal(object, &members); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		value, before := more[name], members[name]
		inner, isObject := asObject(value)
		if _, wasObject := asObject(before); before != nil && !(isObject && wasObject) && string(before) != string(value) {
			*replaced, before = append(*replaced, at+name), nil
		}
		switch {
		case isObject:
			next, err := mergeInto(before, inner, at+name+".", replaced)
			if err != nil {
				return nil, err
			}
			members[name] = next
		case string(value) == "null":
			delete(members, name)
		default:
			members[name] = value
		}
	}
	return Encode(members)
}

func asObject(value json.RawMessage) (members map[string]json.RawMessage, ok bool) {
	if len(value) == 0 || value[0] != '{' {
		return nil, false
	}
	return members, json.Unmarshal(value, &members) == nil
}

// Members are the names that the fields of a body have in JSON, with those of objects in it, such as generationConfig.seed.
func Members(body reflect.Type) []string {
	var names []string
	add(body, "", &names)
	slices.Sort(names)
	return names
}

func add(t reflect.Type, at string, names *[]string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			add(field.Type, at, names)
		case name != "" && name != "-":
			*names = append(*names, at+name)
			add(field.Type, at+name+".", names)
		}
	}
}

// Replaces names the members of extra, of those that a body can have, which it would replace.
func Replaces(members []string, extra json.RawMessage) []string {
	var found []string
	var walk func(value json.RawMessage, at string)
	walk = func(value json.RawMessage, at string) {
		inner, ok := asObject(value)
		if !ok {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(inner)) {
			below := slices.ContainsFunc(members, func(m string) bool { return strings.HasPrefix(m, at+name+".") })
			if _, object := asObject(inner[name]); object && below {
				walk(inner[name], at+name+".")
			} else if slices.Contains(members, at+name) {
				found = append(found, at+name)
			}
		}
	}
	walk(extra, "")
	return found
}
