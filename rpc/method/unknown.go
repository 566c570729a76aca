package method

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/thinkd/thinkd/rpc/conn"
)

// Ignored are the members of a request's params that the method does not know. The zero value is for a request without any.
type Ignored struct {
	Members []string          `json:"ignored,omitempty"`      // paths such as options.cach or tools[0].desc; at most MaxIgnored
	Hints   map[string]string `json:"did_you_mean,omitempty"` // by path: the member that was probably meant
}

// Bounds of an Ignored. Params may have a million members, and the answer repeats these.
const (
	MaxIgnored     = 20
	maxIgnoredPath = 128 // bytes of a path
)

// Refusal is the error of a request whose client wants no member to be ignored; nil: there is none.
func (i Ignored) Refusal() *conn.Error {
	if len(i.Members) == 0 {
		return nil
	}
	path := i.Members[0]
	e := conn.InvalidParams(path, "this method has no such member")
	if hint := i.Hints[path]; hint != "" {
		e = conn.InvalidParams(path, "this method has no such member; did you mean %s?", hint)
		e.Data["candidates"] = []string{hint}
	}
	return e
}

// JSON is an object for the answer; nil: nothing was ignored.
func (i Ignored) JSON() []byte {
	if len(i.Members) == 0 {
		return nil
	}
	text, err := json.Marshal(i)
	if err != nil {
		panic(err) // strings
	}
	return text
}

// AddTo adds what was ignored to the data of an error about params: a member that is missing may be there under another name.
func (i Ignored) AddTo(e *conn.Error) *conn.Error {
	if len(i.Members) == 0 || e.Code != conn.CodeInvalidParams {
		return e
	}
	more := *e
	more.Data = maps.Clone(e.Data)
	if more.Data == nil {
		more.Data = make(map[string]any)
	}
	more.Data["ignored"] = i.Members
	if len(i.Hints) > 0 {
		more.Data["did_you_mean"] = i.Hints
	}
	return &more
}

// Known is what the params of a method may have, at every depth. It comes from their schema, so that it knows exactly what
// rpc.discover describes. It is safe for concurrent use.
type Known struct{ params *shape }

// KnownOf is the Known of a params struct. schemas describes its members.
func KnownOf(params reflect.Type, schemas *Schemas) Known {
	c := compiler{schemas.Components, make(map[string]*shape)}
	schema := schemas.Object(params)
	return Known{c.compile(schema)}
}

// shape is the part of a schema that says which members there are; nil: any.
type shape struct {
	members map[string]*shape // of an object; nil: it may have any
	values  *shape            // of the members of an object that may have any
	items   *shape            // of an array
	oneOf   []*shape          // in place of all that
	kind    string            // of an object of a union: its member type, as JSON; empty: any
}

type compiler struct {
	components map[string]*jsonschema.Schema
	done       map[string]*shape // by the component's name
}

func (c compiler) compile(s *jsonschema.Schema) *shape {
	if s == nil {
		return nil
	}
	if name, ok := strings.CutPrefix(s.Ref, refPrefix); ok {
		of, known := c.done[name]
		if !known {
			of = c.compile(c.components[name])
			c.done[name] = of
		}
		return of
	}
	if list := slices.Concat(s.AnyOf, s.OneOf); len(list) > 0 {
		either := &shape{}
		for _, one := range list {
			if of := c.compile(one); of != nil {
				either.oneOf = append(either.oneOf, of)
			}
		}
		if len(either.oneOf) == 0 {
			return nil
		}
		return either
	}
	of := &shape{values: c.compile(s.AdditionalProperties), items: c.compile(s.Items)}
	if s.Properties != nil {
		of.members = make(map[string]*shape)
		for name, member := range s.Properties {
			of.members[name] = c.compile(member)
			if word, ok := constant(member); ok && name == "type" {
				of.kind = strconv.Quote(word)
			}
		}
	}
	if of.members == nil && of.values == nil && of.items == nil {
		return nil
	}
	return of
}

func constant(s *jsonschema.Schema) (word string, ok bool) {
	if s.Const == nil {
		return "", false
	}
	word, ok = (*s.Const).(string)
	return word, ok
}

// Ignored lists what is not known of params, which are valid JSON. A member that is null counts as absent.
func (k Known) Ignored(params []byte) Ignored {
	if len(params) == 0 || params[0] != '{' {
		return Ignored{}
	}
	var f finder
	f.look(k.params, params, "")
	found := Ignored{Members: f.paths}
	for i, path := range f.paths {
		if hint := f.hints[i]; hint != "" {
			if found.Hints == nil {
				found.Hints = make(map[string]string)
			}
			found.Hints[path] = hint
		}
	}
	return found
}

// finder collects the paths of unknown members.
type finder struct{ paths, hints []string }

func (f *finder) look(s *shape, value []byte, path string) {
	switch {
	case s == nil || len(f.paths) == MaxIgnored:
	case s.oneOf != nil:
		f.lookAtBest(s.oneOf, value, path)
	case value[0] == '[' && s.items != nil:
		i := 0
		for element := range conn.Elements(value) {
			f.look(s.items, element, fmt.Sprintf("%s[%d]", path, i))
			i++
		}
	case value[0] == '{':
		for name, member := range conn.Members(value) {
			if string(member) == "null" {
				continue
			}
			of, known := s.members[name]
			switch {
			case s.members == nil:
				f.look(s.values, member, join(path, name))
			case known:
				f.look(of, member, join(path, name))
			default:
				f.paths = append(f.paths, join(path, name))
				f.hints = append(f.hints, hintFor(name, path, s))
			}
			if len(f.paths) == MaxIgnored {
				return
			}
		}
	}
}

// lookAtBest takes the variant that knows most of a value.
func (f *finder) lookAtBest(variants []*shape, value []byte, path string) {
	kind := kindOf(value)
	var best *finder
	for _, s := range variants {
		if s.kind != "" && s.kind != kind || !s.takes(value) {
			continue
		}
		var one finder
		one.look(s, value, path)
		if best == nil || len(one.paths) < len(best.paths) {
			best = &one
		}
	}
	if best != nil {
		room := min(MaxIgnored-len(f.paths), len(best.paths))
		f.paths, f.hints = append(f.paths, best.paths[:room]...), append(f.hints, best.hints[:room]...)
	}
}

// takes reports whether the variant is for such a value: an object or an array.
func (s *shape) takes(value []byte) bool {
	switch value[0] {
	case '{':
		return s.oneOf != nil || s.members != nil || s.values != nil
	case '[':
		return s.oneOf != nil || s.items != nil
	}
	return false
}

// kindOf is the member type of an object, as JSON; empty: there is none.
func kindOf(value []byte) string {
	if value[0] == '{' {
		for name, member := range conn.Members(value) {
			if name == "type" {
				return string(member)
			}
		}
	}
	return ""
}

// hintFor is the path of the member that was probably meant by a name that an object does not have; empty: nobody knows. Members of
// objects inside it count if they have the very name.
func hintFor(name, path string, of *shape) string {
	known := slices.Sorted(maps.Keys(of.members))
	if hint := similar(name, known); hint != "" {
		return join(path, hint)
	}
	for _, outer := range known {
		inner := of.members[outer]
		if inner == nil || inner.members == nil {
			continue
		}
		for _, member := range slices.Sorted(maps.Keys(inner.members)) {
			if fold(member) == fold(name) {
				return join(path, outer+"."+member)
			}
		}
	}
	return ""
}

func join(path, name string) string {
	if path != "" {
		name = path + "." + name
	}
	if len(name) > maxIgnoredPath {
		name = strings.ToValidUTF8(name[:maxIgnoredPath], "") + "…"
	}
	return name
}
