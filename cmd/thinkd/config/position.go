package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/thinkd/thinkd/registry"
)

// source is a document and where it came from, for errors that say where to look.
type source struct {
	path string
	doc  []byte
}

func (src *source) decode() (file, error) {
	var f file
	dec := toml.NewDecoder(bytes.NewReader(src.doc))
	dec.DisallowUnknownFields()
	err := dec.Decode(&f)
	if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		var all []error
		for i := range strict.Errors {
			e := &strict.Errors[i]
			key := src.keyOf(e)
			all = append(all, src.at(e, key, unknownKey(key)))
		}
		return file{}, errors.Join(all...)
	}
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		key, problem := toml.Key(e.Key()), strings.TrimPrefix(e.Error(), "toml: ")
		if strings.HasPrefix(problem, "cannot decode TOML ") {
			key = src.keyOf(e)
			problem = "must be " + wanted(key) // not the library's text, which names our types
		}
		return file{}, src.at(e, key, problem)
	}
	if err != nil {
		return file{}, fmt.Errorf("%s: %w", src.path, err)
	}
	return f, nil
}

func (src *source) at(e *toml.DecodeError, key toml.Key, problem string) error {
	line, _ := e.Position()
	if len(key) == 0 {
		return fmt.Errorf("%s:%d: %s", src.path, line, problem)
	}
	return fmt.Errorf("%s:%d: %s: %s", src.path, line, strings.Join(key, "."), problem)
}

// keyOf is the key that an error is about. The decoder's own word for it lacks the keys around an inline table.
func (src *source) keyOf(e *toml.DecodeError) toml.Key {
	line, column := e.Position()
	for _, k := range src.keys() {
		for _, at := range k.places {
			if at.Line == line && at.Column == column {
				return k.key
			}
		}
	}
	return e.Key()
}

// errorf is about a key; where the key itself is not written, its line is that of the table it is missing in.
func (src *source) errorf(key, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s: %w", src.path, src.line(key), key, fmt.Errorf(format, args...))
}

// overrideError is about a member below a key.
func (src *source) overrideError(key string, err error) error {
	if wrong, ok := errors.AsType[*registry.OverrideError](err); ok {
		return src.errorf(key+wrong.Field, "%w", wrong.Err)
	}
	return err
}

// rowError is about a member of a row of a provider, which has these rows.
func (src *source) rowError(e *registry.RowError, rows []registry.Row) error {
	row := len(rows) - 1
	for row > 0 && rows[row].ID != e.Model { // the last one: of two for the same model that is the wrong one
		row--
	}
	line := src.line(fmt.Sprintf("providers.%s.models.%d.%s", e.Provider, row, e.Field))
	return fmt.Errorf("%s:%d: providers.%s.models.%s: model %q: %s", src.path, line, e.Provider, e.Field, e.Model, e.Problem)
}

// line finds a key, or the nearest table around it. Tables of an array have their number as a part of the key. Case
// does not count: the decoder takes keys in any.
func (src *source) line(key string) int {
	lines := map[string]int{}
	for _, k := range src.keys() {
		for i, part := range k.numbered {
			path := strings.ToLower(strings.Join(k.numbered[:i+1], "."))
			if _, ok := lines[path]; !ok && part != "" {
				lines[path] = k.places[0].Line
			}
		}
	}
	for key = strings.ToLower(key); key != ""; key = key[:max(strings.LastIndexByte(key, '.'), 0)] {
		if line, ok := lines[key]; ok {
			return line
		}
	}
	return 1
}

// written is a key as it stands in a document.
type written struct {
	key      toml.Key
	numbered []string            // the key with the numbers of tables in arrays
	places   []unstable.Position // where the key starts, where its last part does, and its value
}

// keys lists all keys and tables in the order written. Where the document is broken, the list ends.
func (src *source) keys() []written {
	w := keyWalk{arrays: map[string]int{}}
	w.parser.Reset(src.doc)
	var table written
	for w.parser.NextExpression() {
		switch e := w.parser.Expression(); e.Kind {
		case unstable.Table:
			table = w.add(written{}, e)
		case unstable.ArrayTable:
			table = w.add(written{}, e)
			path := strings.Join(table.numbered, ".")
			table.numbered = append(table.numbered, strconv.Itoa(w.arrays[path]))
			w.arrays[path]++
			w.list = append(w.list, table)
		case unstable.KeyValue:
			w.value(w.add(table, e), e.Value())
		}
	}
	return w.list
}

type keyWalk struct {
	parser unstable.Parser
	arrays map[string]int // how many tables of an array were seen
	list   []written
}

// add lists the key of a node inside a table.
func (w *keyWalk) add(table written, node *unstable.Node) written {
	k := written{key: slices.Clone(table.key), numbered: slices.Clone(table.numbered)}
	for it := node.Key(); it.Next(); {
		if n := w.arrays[strings.Join(k.numbered, ".")]; n > 0 {
			k.numbered = append(k.numbered, strconv.Itoa(n-1))
		}
		part := string(it.Node().Data)
		k.key, k.numbered = append(k.key, part), append(k.numbered, part)
		if at := w.parser.Shape(it.Node().Raw).Start; len(k.places) < 2 {
			k.places = append(k.places, at)
		} else {
			k.places[1] = at
		}
	}
	w.list = append(w.list, k)
	return k
}

// value lists the keys inside a value.
func (w *keyWalk) value(k written, node *unstable.Node) {
	at := len(w.list) - 1
	w.list[at].places = append(w.list[at].places, w.parser.Shape(node.Raw).Start)
	n := 0
	for it := node.Children(); it.Next(); n++ {
		child := it.Node()
		switch {
		case node.Kind == unstable.InlineTable:
			w.value(w.add(k, child), child.Value())
		case child.Kind == unstable.InlineTable:
			inner := written{key: k.key, numbered: append(slices.Clone(k.numbered), strconv.Itoa(n)), places: k.places[:1:1]}
			w.list = append(w.list, inner)
			w.value(inner, child)
		default:
			w.list[at].places = append(w.list[at].places, w.parser.Shape(child.Raw).Start)
		}
	}
}

func unknownKey(key toml.Key) string {
	if last := key[len(key)-1]; len(key) == 3 && key[0] == "providers" && (last == "api_key" || last == "key") {
		return "keys have no place in this file; put the key in the environment and name the variable in api_key_env"
	}
	known := typeAt(key[:len(key)-1])
	if known == nil || known.Kind() != reflect.Struct {
		return "unknown"
	}
	return "unknown; here are known: " + strings.Join(tags(known), ", ")
}

// wanted describes what a key takes.
func wanted(key toml.Key) string {
	t := typeAt(key)
	if t == nil {
		return "another kind of value"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.String {
			return "a list of strings"
		}
		return "a list of tables"
	case reflect.Map:
		if t == reflect.TypeFor[object]() {
			return "a table"
		}
		return "a table, each of its members " + map[reflect.Kind]string{
			reflect.String: "a string", reflect.Int: "a whole number", reflect.Struct: "a table", reflect.Interface: "a table"}[t.Elem().Kind()]
	}
	return "a table with " + strings.Join(tags(t), ", ")
}

// typeAt is the type that a key is decoded into, nil if there is none.
func typeAt(key toml.Key) reflect.Type {
	t := reflect.TypeFor[file]()
	for _, part := range key {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Map:
			t = t.Elem()
		case reflect.Struct:
			f, ok := fieldTagged(t, strings.ToLower(part))
			if !ok {
				return nil
			}
			t = f.Type
		default:
			return nil
		}
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

func fieldTagged(t reflect.Type, tag string) (f reflect.StructField, ok bool) {
	for i := range t.NumField() {
		if f := t.Field(i); f.Tag.Get("toml") == tag {
			return f, true
		}
	}
	return f, false
}

func tags(t reflect.Type) []string {
	var list []string
	for i := range t.NumField() {
		if tag := t.Field(i).Tag.Get("toml"); tag != "-" {
			list = append(list, tag)
		}
	}
	return list
}
