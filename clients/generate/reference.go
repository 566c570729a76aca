package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// reference writes the page of all params, results, notifications and types. protocol.md says what they mean.
func reference(doc gjson.Result) string {
	w := &referenceWriter{schemas: doc.Get("components.schemas")}
	w.b.WriteString(referenceHead)
	w.b.WriteString("\n## Methods\n")
	for _, m := range doc.Get("methods").Array() {
		w.method(m)
	}
	w.b.WriteString("\n## Notifications\n")
	for _, n := range doc.Get("x-notifications").Array() {
		name := n.Get("name").String()
		fmt.Fprintf(&w.b, "\n### %s\n\n[Description](../protocol.md#%s)\n", name, anchor(name))
		w.table("member", "present", fieldsOf(n.Get("params")))
	}
	w.b.WriteString("\n## Types\n")
	w.schemas.ForEach(func(name, schema gjson.Result) bool {
		w.declare(name.String(), schema)
		return true
	})
	return w.b.String()
}

const referenceHead = `<!-- Generated from rpc.discover by ` + "`go generate ./web`" + `. Do not edit. -->
# Reference of the protocol

This page lists the params and the result of each method, the members of each notification, and the types. It is generated from the
daemon's table of methods. [protocol.md](../protocol.md) says what they mean, with examples. ` + "`thinkd schema`" + ` prints the same as an OpenRPC
document.

Params that are marked with "always" are required. Other members with that mark are always present. The result of each method can also have
` + "`ignored` and `did_you_mean`" + `: see [Messages](../protocol.md#messages). Each method can fail with the errors of JSON-RPC and with 1006, 1007
and 1009: see [Errors](../protocol.md#errors).

- [Methods](#methods)
- [Notifications](#notifications)
- [Types](#types)
`

// maxWords is how many of a type's words stand in a cell. Types with more have a heading of their own.
const maxWords = 6

type referenceWriter struct {
	schemas gjson.Result
	b       strings.Builder
}

// method writes a method. Errors that every method can have are in the page's head.
func (w *referenceWriter) method(m gjson.Result) {
	name := m.Get("name").String()
	fmt.Fprintf(&w.b, "\n### %s\n\n%s [Description](../protocol.md#%s)\n", name, m.Get("summary"), anchor(name))
	if right := m.Get("x-right").String(); right != "" {
		fmt.Fprintf(&w.b, "\nRight: `%s`.", right)
	}
	var errs []string
	for _, e := range m.Get("errors").Array() {
		if code := e.Get("code").Int(); code > 0 && !slices.Contains([]int64{1006, 1007, 1009}, code) {
			errs = append(errs, fmt.Sprintf("%d (`%s`)", code, e.Get("message")))
		}
	}
	if len(errs) > 0 {
		fmt.Fprintf(&w.b, " Errors: %s.", strings.Join(errs, ", "))
	}
	w.b.WriteString("\n")
	if params := paramsOf(m); len(params) > 0 {
		w.table("param", "required", params)
	} else {
		w.b.WriteString("\nThere are no params.\n")
	}
	result := m.Get("result.schema")
	fields := slices.DeleteFunc(fieldsOf(result), func(f field) bool { return f.name == "ignored" || f.name == "did_you_mean" })
	switch s := shapeOf(result); {
	case len(fields) > 0:
		w.table("result", "present", fields)
	case result.Get("description").Exists():
		fmt.Fprintf(&w.b, "\nThe result is %s.\n", result.Get("description"))
	case s.kind == object:
		w.b.WriteString("\nThe result is empty.\n")
	default:
		fmt.Fprintf(&w.b, "\nThe result is %s.\n", w.typeOf(result))
	}
}

// table writes members, those that are always present first. A member that is an object without a name is followed by its own members.
func (w *referenceWriter) table(heading, always string, fields []field) {
	fmt.Fprintf(&w.b, "\n| %s | type | %s |\n|---|---|---|\n", heading, always)
	w.rows("", fields)
}

func (w *referenceWriter) rows(before string, fields []field) {
	slices.SortStableFunc(fields, func(a, b field) int { return rank(a) - rank(b) })
	for _, f := range fields {
		always := ""
		if f.required {
			always = "always"
		}
		fmt.Fprintf(&w.b, "| `%s%s` | %s | %s |\n", before, f.name, w.typeOf(f.schema), always)
		switch s := shapeOf(f.schema); {
		case s.kind == object:
			w.rows(before+f.name+".", s.members)
		case s.kind == list && shapeOf(s.of[0]).kind == object:
			w.rows(before+f.name+"[].", fieldsOf(s.of[0]))
		}
	}
}

// typeOf is a schema in words. Short lists of words stand in place of their name.
func (w *referenceWriter) typeOf(schema gjson.Result) string {
	for _, word := range []string{"oneOf", "anyOf"} {
		if all := schema.Get(word).Array(); len(all) > 0 {
			forms := make([]string, len(all))
			for i, form := range all {
				forms[i] = w.typeOf(form)
			}
			return strings.Join(forms, " or ")
		}
	}
	switch s := shapeOf(schema); s.kind {
	case named:
		component := w.schemas.Get(gjson.Escape(s.name))
		switch inner := shapeOf(component); {
		case inner.kind == words && len(inner.of) <= maxWords, inner.kind == scalar:
			return w.typeOf(component)
		case inner.kind == words:
			return fmt.Sprintf("[%s](#%s-words)", s.name, strings.ToLower(s.name))
		}
		return fmt.Sprintf("[%s](#%s-type)", s.name, strings.ToLower(s.name))
	case words:
		if len(s.of) > maxWords { // such as the names of notifications
			return "string"
		}
		return quoted(s.of)
	case scalar:
		if text := schema.Get("description").String(); text != "" {
			return s.name + ": " + text
		}
		return s.name
	case list:
		return "list of " + w.typeOf(s.of[0])
	case table:
		if s.of[0].IsObject() {
			return "object with values: " + w.typeOf(s.of[0])
		}
		return "object"
	case object:
		return "object"
	default:
		return "any"
	}
}

// declare writes a type that has a name, unless its words stand in its place everywhere.
func (w *referenceWriter) declare(name string, schema gjson.Result) {
	switch s := shapeOf(schema); {
	case s.kind == object:
		fmt.Fprintf(&w.b, "\n### %s (type)\n", name)
		w.table("member", "present", s.members)
	case s.kind == words && len(s.of) > maxWords:
		fmt.Fprintf(&w.b, "\n### %s (words)\n\n%s.\n", name, quoted(s.of))
	case s.kind != words && s.kind != scalar:
		fmt.Fprintf(&w.b, "\n### %s (type)\n\nThis is %s.\n", name, w.typeOf(schema))
	}
}

func quoted(words []gjson.Result) string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = "`" + word.String() + "`"
	}
	return strings.Join(list, ", ")
}

// anchor is the one that a page has for the heading of a method or a notification.
func anchor(name string) string {
	return strings.ToLower(strings.NewReplacer("/", "", ".", "", "$", "").Replace(name))
}
