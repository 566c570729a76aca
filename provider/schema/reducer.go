package schema

import (
	"slices"
	"strings"
)

type reducer struct {
	rules   Rules
	root    *object
	dropped []string
	nodes   int
	open    []string // references that are being unfolded
}

func (r *reducer) lose(what string) {
	if !slices.Contains(r.dropped, what) {
		r.dropped = append(r.dropped, what)
	}
}

// require keeps the required properties that keep says.
func (r *reducer) require(o *object, keep func(string) bool) {
	if !o.has("required") {
		return
	}
	kept := slices.DeleteFunc(o.list("required"), func(name string) bool { return !keep(name) })
	if len(kept) == 0 {
		o.drop("required")
		return
	}
	o.set("required", words(kept...))
}

// refer puts what a reference points to in its place. One that points into itself, or nowhere, becomes a schema of
// anything.
func (r *reducer) refer(o *object) *object {
	for range maxDepth {
		ref := o.text("$ref")
		if !o.has("$ref") {
			return o
		}
		o.drop("$ref")
		target := r.lookup(ref)
		if target == nil || slices.Contains(r.open, ref) {
			r.lose("$ref")
			return o
		}
		r.open = append(r.open, ref)
		whole := target.copy()
		for _, name := range o.names {
			whole.set(name, o.values[name])
		}
		o = whole
	}
	return o
}

// lookup finds what a reference points to: a place in the same schema.
func (r *reducer) lookup(ref string) *object {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	var at any = r.root
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if step == "" {
			continue
		}
		o, ok := at.(*object)
		if !ok {
			return nil
		}
		at = o.values[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	o, _ := at.(*object)
	return o
}

// union puts the members of allOf together.
func (r *reducer) union(o *object) *object {
	all, _ := o.values["allOf"].([]any)
	o.drop("allOf")
	for _, e := range all {
		if part, ok := e.(*object); ok {
			r.merge(o, r.union(r.refer(part.copy())), true)
		}
	}
	return o
}

// merge puts b's members into a, where a has none: properties one by one, and with required also what b requires.
func (r *reducer) merge(a, b *object, required bool) {
	for _, name := range b.names {
		switch {
		case name == "properties":
			mine, _ := a.values[name].(*object)
			theirs, _ := b.values[name].(*object)
			if theirs == nil {
				continue
			}
			if mine == nil {
				mine = newObject()
			}
			mine = mine.copy()
			for _, p := range theirs.names {
				if !mine.has(p) {
					mine.set(p, theirs.values[p])
				}
			}
			a.set(name, mine)
		case name == "required":
			if required {
				all := a.list(name)
				for _, p := range b.list(name) {
					if !slices.Contains(all, p) {
						all = append(all, p)
					}
				}
				a.set(name, words(all...))
			}
		case !a.has(name) && (required || !slices.Contains([]string{"title", "description", "additionalProperties"}, name)):
			a.set(name, b.values[name])
		}
	}
}
