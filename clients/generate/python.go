package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// python writes a dataclass for each object and each notification, a Literal for each set of words, and a class with an async method
// for each method of the protocol. Objects inside objects get the name of the outer one and of their member.
func python(doc gjson.Result) string {
	w := &pythonWriter{}
	doc.Get("components.schemas").ForEach(func(name, schema gjson.Result) bool {
		w.declare(name.String(), schema, "")
		return true
	})
	var calls strings.Builder
	for _, m := range doc.Get("methods").Array() {
		w.method(&calls, m)
	}
	var events []string
	for _, n := range doc.Get("x-notifications").Array() {
		name := n.Get("name").String()
		w.declare(camel(name)+"Event", n.Get("params"), name)
		events = append(events, name)
	}
	var b strings.Builder
	b.WriteString(pythonHead)
	b.WriteString(strings.Join(w.done, "") + "\n\n" + strings.Join(w.aliases, ""))
	b.WriteString("\nEVENTS: dict[str, type[Any]] = {\n")
	for _, name := range events {
		fmt.Fprintf(&b, "    %q: %sEvent,\n", name, camel(name))
	}
	b.WriteString("}\n\nEvent = Union[\n")
	for _, name := range events {
		fmt.Fprintf(&b, "    %sEvent,\n", camel(name))
	}
	b.WriteString("]\n\n\nclass Calls:\n    \"\"\"The methods of the protocol.\"\"\"\n\n    async def _typed(self, method: str, params: dict[str, Any], result: Any) -> Any:\n        raise NotImplementedError\n")
	b.WriteString(calls.String())
	return b.String()
}

const pythonHead = `# Code generated from rpc.discover by ` + "`go generate ./web`" + `. DO NOT EDIT.
"""The types of the protocol: protocol.md describes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Union
`

// A pythonWriter collects declarations. Aliases come after the classes: their right side is evaluated.
type pythonWriter struct{ done, aliases []string }

// pythonWords are members and params whose names Python has for itself. They get an underscore at their end.
var pythonWords = strings.Fields("and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield")

func pythonName(name string) string {
	if slices.Contains(pythonWords, name) {
		return name + "_"
	}
	return name
}

// declare writes a schema under a name. event is the notification that the type belongs to; empty: none.
func (w *pythonWriter) declare(name string, schema gjson.Result, event string) {
	s := shapeOf(schema)
	if s.kind != object {
		w.aliases = append(w.aliases, fmt.Sprintf("%s = %s\n", name, w.typeOf(schema, name)))
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n\n@dataclass(kw_only=True)\nclass %s:\n", name)
	if event != "" {
		fmt.Fprintf(&b, "    method: ClassVar[str] = %q\n", event)
	}
	slices.SortStableFunc(s.members, func(a, b field) int { return rank(a) - rank(b) })
	for _, f := range s.members {
		of := w.typeOf(f.schema, name+camel(f.name))
		if !f.required {
			if !strings.HasSuffix(of, "None") {
				of += " | None"
			}
			of += " = None"
		}
		fmt.Fprintf(&b, "    %s: %s\n", pythonName(f.name), of)
	}
	w.done = append(w.done, b.String())
}

func rank(f field) int {
	if f.required {
		return 0
	}
	return 1
}

// typeOf is a schema as an annotation. It declares objects without a name under the given one.
func (w *pythonWriter) typeOf(schema gjson.Result, name string) string {
	s := shapeOf(schema)
	var text string
	switch s.kind {
	case anything:
		return "Any"
	case named:
		text = s.name
	case words:
		var all []string
		for _, v := range s.of {
			all = append(all, v.Raw)
		}
		text = "Literal[" + strings.Join(all, ", ") + "]"
	case scalar:
		text = map[string]string{"string": "str", "boolean": "bool", "integer": "int", "number": "float", "null": "None"}[s.name]
	case list:
		text = "list[" + w.typeOf(s.of[0], name) + "]"
	case table:
		text = "dict[str, Any]"
		if s.of[0].IsObject() {
			text = "dict[str, " + w.typeOf(s.of[0], name) + "]"
		}
	case union:
		var all []string
		for _, v := range s.of {
			all = append(all, w.typeOf(v, name))
		}
		text = "Union[" + strings.Join(all, ", ") + "]"
	case object:
		w.declare(name, schema, "")
		text = name
	}
	if text == "" {
		panic("a schema that the generator does not know: " + schema.Raw)
	}
	if s.nullable {
		text += " | None"
	}
	return text
}

// method writes the async method for a method of the protocol, and declares its result.
func (w *pythonWriter) method(b *strings.Builder, m gjson.Result) {
	method := m.Get("name").String()
	name := camel(method)
	result := "None"
	if s := shapeOf(m.Get("result.schema")); s.kind == object {
		w.declare(name+"Result", m.Get("result.schema"), "")
		result = name + "Result"
	} else if s.kind != table {
		result = w.typeOf(m.Get("result.schema"), name+"Result")
	}
	fmt.Fprintf(b, "\n    async def %s(\n        self,\n", strings.ToLower(strings.NewReplacer("/", "_", ".", "_").Replace(method)))
	params := paramsOf(m)
	if len(params) > 0 {
		b.WriteString("        *,\n")
	}
	slices.SortStableFunc(params, func(a, b field) int { return rank(a) - rank(b) })
	var pairs []string
	for _, p := range params {
		of := w.typeOf(p.schema, name+camel(p.name))
		if !p.required {
			if !strings.HasSuffix(of, "None") && of != "Any" {
				of += " | None"
			}
			of += " = None"
		}
		fmt.Fprintf(b, "        %s: %s,\n", pythonName(p.name), of)
		pairs = append(pairs, fmt.Sprintf("%q: %s", p.name, pythonName(p.name)))
	}
	fmt.Fprintf(b, "    ) -> %s:\n        \"\"\"%s\"\"\"\n        return await self._typed(%q, {%s}, %s)\n", result, m.Get("summary"), method, strings.Join(pairs, ", "), result)
}
