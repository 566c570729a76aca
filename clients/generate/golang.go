package main

import (
	"fmt"
	"go/format"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// golang writes a struct for each object, a string type with constants for each set of words, and for each method its params, its result
// and a method of Client. Members that may be absent or null are pointers, except strings, lists and maps, which are empty then.
func golang(doc gjson.Result) string {
	w := &goWriter{schemas: doc.Get("components.schemas")}
	w.schemas.ForEach(func(name, schema gjson.Result) bool {
		w.declare(goType(name.String()), schema)
		return true
	})
	for _, m := range doc.Get("methods").Array() {
		w.method(m)
	}
	var table, implement strings.Builder
	for _, n := range doc.Get("x-notifications").Array() {
		method := n.Get("name").String()
		name := camel(method) + "Event"
		w.declare(name, n.Get("params"))
		fmt.Fprintf(&table, "\t%q: func() Event { return new(%s) },\n", method, name)
		seq, turn := "0", ""
		for _, f := range fieldsOf(n.Get("params")) {
			switch f.name {
			case "seq":
				seq = "e.Seq"
			case "turn_id":
				turn = fmt.Sprintf("\nfunc (e *%s) turn() string { return e.TurnID }\n", name)
			}
		}
		fmt.Fprintf(&implement, "\n// Method is %q.\nfunc (*%s) Method() string { return %q }\n\nfunc (e *%s) seq() int64 { return %s }\n%s", method, name, method, name, seq, turn)
	}
	text := "// Code generated from rpc.discover by `go generate ./web`. DO NOT EDIT.\n\npackage thinkd\n\nimport (\n\t\"context\"\n\t\"encoding/json\"\n)\n" +
		strings.Join(w.done, "") + "\nvar events = map[string]func() Event{\n" + table.String() + "}\n" + implement.String()
	out, err := format.Source([]byte(text))
	if err != nil {
		panic(err) // a fault of this generator
	}
	return string(out)
}

type goWriter struct {
	schemas gjson.Result
	done    []string
}

func (w *goWriter) add(format string, args ...any) {
	w.done = append(w.done, fmt.Sprintf(format, args...))
}

// declare writes a schema under a name.
func (w *goWriter) declare(name string, schema gjson.Result) {
	switch s := shapeOf(schema); s.kind {
	case words:
		var b strings.Builder
		fmt.Fprintf(&b, "\n// %s is one of the constants below. A newer daemon may send others.\ntype %s string\n\nconst (\n", name, name)
		for _, v := range s.of {
			fmt.Fprintf(&b, "\t%s%s %s = %s\n", name, goName(v.String()), name, v.Raw)
		}
		w.add("%s)\n", b.String())
	case object:
		w.object(name, s.members)
	case union:
		w.object(name, w.merged(s.of))
	default:
		w.add("\n// %s is a type of the protocol.\ntype %s = %s\n", name, name, w.typeOf(schema, name, true))
	}
}

func (w *goWriter) object(name string, members []field) {
	var b strings.Builder
	fmt.Fprintf(&b, "\n// %s is an object of the protocol.\ntype %s struct {\n", name, name)
	for _, f := range members {
		tag := f.name
		if !f.required {
			tag += ",omitempty"
		}
		fmt.Fprintf(&b, "\t%s %s `json:%q`\n", goName(f.name), w.typeOf(f.schema, name+goName(f.name), f.required), tag)
	}
	w.add("%s}\n", b.String())
}

// merged are the members of all objects of a union. Only "type" is in each.
func (w *goWriter) merged(all []gjson.Result) (list []field) {
	for _, ref := range all {
		for _, f := range fieldsOf(w.schemas.Get(shapeOf(ref).name)) {
			if f.required = f.name == "type"; f.required {
				f.schema = gjson.Parse(`{"type":"string"}`)
			}
			at := slices.IndexFunc(list, func(have field) bool { return have.name == f.name })
			switch {
			case at < 0:
				list = append(list, f)
			case w.typeOf(list[at].schema, "", false) != w.typeOf(f.schema, "", false):
				list[at].schema = gjson.Parse("true") // each object has a type of its own
			}
		}
	}
	return list
}

// typeOf is a schema as a type. It declares objects without a name under the given one.
func (w *goWriter) typeOf(schema gjson.Result, name string, required bool) string {
	s := shapeOf(schema)
	pointer := ""
	if !required || s.nullable {
		pointer = "*"
	}
	switch s.kind {
	case anything:
		return "json.RawMessage"
	case named:
		if target := shapeOf(w.schemas.Get(s.name)); target.kind != object && target.kind != union {
			return goType(s.name)
		}
		return pointer + goType(s.name)
	case words:
		return "string"
	case list:
		return "[]" + w.typeOf(s.of[0], name, true)
	case table:
		if s.of[0].IsObject() {
			return "map[string]" + w.typeOf(s.of[0], name, true)
		}
		return "map[string]any"
	case union:
		w.object(name, w.merged(s.of))
		return pointer + name
	case object:
		w.object(name, s.members)
		return pointer + name
	}
	switch s.name {
	case "string":
		return "string"
	case "boolean":
		return pointer + "bool"
	case "integer":
		return pointer + "int64"
	case "number":
		return pointer + "float64"
	case "null":
		return "any"
	}
	panic("a schema that the generator does not know: " + schema.Raw)
}

// method writes what belongs to a method of the protocol.
func (w *goWriter) method(m gjson.Result) {
	method := m.Get("name").String()
	name, params := goName(method), paramsOf(m)
	argument, passed := "", "struct{}{}"
	if len(params) > 0 {
		w.object(name+"Params", params)
		argument, passed = ", params "+name+"Params", "params"
	}
	result := "json.RawMessage"
	switch s := shapeOf(m.Get("result.schema")); s.kind {
	case object:
		w.object(name+"Result", s.members)
		result = name + "Result"
	case table:
		result = ""
	}
	if result == "" {
		w.add("\n// %s calls %s. %s\nfunc (c *Client) %s(ctx context.Context%s) error {\n\treturn c.Call(ctx, %q, %s, nil)\n}\n", name, method, m.Get("summary"), name, argument, method, passed)
		return
	}
	w.add("\n// %s calls %s. %s\nfunc (c *Client) %s(ctx context.Context%s) (result %s, err error) {\n\terr = c.Call(ctx, %q, %s, &result)\n\treturn result, err\n}\n",
		name, method, m.Get("summary"), name, argument, result, method, passed)
}

// goType is the name of a schema in Go, where Session is a type of the library.
func goType(name string) string {
	if name == "Session" {
		return "SessionInfo"
	}
	return name
}

// goName is a name of the protocol as Go writes it: session_id is SessionID.
func goName(name string) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9') }) {
		switch word {
		case "id", "url", "cwd", "usd", "json", "rpc", "mcp", "ms", "api", "ttl":
			b.WriteString(strings.ToUpper(word))
		default:
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}
