package chat

import (
	"encoding/json"
	"fmt"
	"strings"
)

// tree is an object on its way into a body.
type tree map[string]any

// merge puts an object's members in, and those of objects in them one by one.
func (t tree) merge(o object) error {
	for name, value := range o {
		var v any
		if err := json.Unmarshal(value, &v); err != nil {
			return fmt.Errorf("member %s: %w", name, err)
		}
		t.put(name, v)
	}
	return nil
}

func (t tree) put(name string, v any) {
	inner, ok := v.(map[string]any)
	if !ok {
		t[name] = v
		return
	}
	into, ok := t[name].(tree)
	if !ok {
		into = tree{}
		t[name] = into
	}
	for name, v := range inner {
		into.put(name, v)
	}
}

// at is the object that holds the last step of a path, and that step.
func (t tree) at(path string, make bool) (tree, string) {
	for {
		first, rest, deeper := strings.Cut(path, ".")
		if !deeper {
			return t, first
		}
		into, ok := t[first].(tree)
		if !ok {
			if !make {
				return nil, ""
			}
			into = tree{}
			t[first] = into
		}
		t, path = into, rest
	}
}

func (t tree) set(path string, v any) {
	into, name := t.at(path, true)
	into[name] = v
}

func (t tree) has(path string) bool {
	into, name := t.at(path, false)
	return into != nil && into[name] != nil
}

func (t tree) remove(path string) {
	if into, name := t.at(path, false); into != nil {
		delete(into, name)
	}
}

// without takes out what the host has refused by name: the path, or all of its first step where the path is not there.
func (t tree) without(members []string) {
	for _, path := range members {
		first, _, _ := strings.Cut(path, ".")
		if t.has(path) {
			t.remove(path)
		} else {
			delete(t, first)
		}
	}
}

// exclude keeps the first of members that refuse each other.
func (t tree) exclude(sets [][]string) {
	for _, set := range sets {
		kept := false
		for _, path := range set {
			switch {
			case !t.has(path):
			case kept:
				t.remove(path)
			default:
				kept = true
			}
		}
	}
}
