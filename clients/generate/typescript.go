package main

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// typescript writes a type for each schema, and two tables of types: methods and notifications by name.
func typescript(doc gjson.Result) string {
	var b strings.Builder
	b.WriteString("// Code generated from rpc.discover by `go generate ./web`. DO NOT EDIT.\n")
	doc.Get("components.schemas").ForEach(func(name, schema gjson.Result) bool {
		fmt.Fprintf(&b, "\nexport type %s = %s;\n", name, typeOf(schema, ""))
		return true
	})
	b.WriteString("\n/** Methods by name. */\nexport interface Methods {\n")
	for _, m := range doc.Get("methods").Array() {
		var params strings.Builder
		params.WriteString("{")
		for _, p := range m.Get("params").Array() {
			params.WriteString("\n\t\t\t" + member(p.Get("name").String(), p.Get("required").Bool(), p.Get("schema"), "\t\t\t"))
		}
		if params.Len() > 1 {
			params.WriteString("\n\t\t")
		}
		params.WriteString("}")
		fmt.Fprintf(&b, "\t/** %s */\n\t%q: {\n\t\tparams: %s;\n\t\tresult: %s;\n\t};\n", m.Get("summary"), m.Get("name").String(),
			params.String(), typeOf(m.Get("result.schema"), "\t\t"))
	}
	b.WriteString("}\n\n/** Params of notifications by name. */\nexport interface Notifications {\n")
	for _, n := range doc.Get("x-notifications").Array() {
		b.WriteString("\t" + member(n.Get("name").String(), true, n.Get("params"), "\t") + "\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// member returns a member of an object type.
func member(name string, required bool, schema gjson.Result, indent string) string {
	if !required {
		name += "?"
	}
	out := name + ": " + typeOf(schema, indent) + ";"
	if d := schema.Get("description").String(); d != "" {
		out = "/** " + d + " */\n" + indent + out
	}
	return out
}

// typeOf returns a schema as a type. It panics on a schema that the daemon does not use.
func typeOf(schema gjson.Result, indent string) string {
	if schema.IsBool() {
		return "unknown"
	}
	if ref := schema.Get(`\$ref`).String(); ref != "" {
		if name, ours := strings.CutPrefix(ref, "#/components/schemas/"); ours {
			return name
		}
		return "unknown" // OpenRPC's own
	}
	for _, word := range []string{"oneOf", "anyOf"} {
		if list := schema.Get(word); list.Exists() {
			return choice(list, func(s gjson.Result) string { return typeOf(s, indent) })
		}
	}
	if list := schema.Get("enum"); list.Exists() {
		return choice(list, func(v gjson.Result) string { return v.Raw })
	}
	if v := schema.Get("const"); v.Exists() {
		return v.Raw
	}
	switch word := schema.Get("type").String(); word {
	case "string", "boolean", "null":
		return word
	case "integer", "number":
		return "number"
	case "array":
		element := typeOf(schema.Get("items"), indent)
		if strings.Contains(element, " | ") && !strings.HasPrefix(element, "{") {
			element = "(" + element + ")"
		}
		return element + "[]"
	case "object":
		return objectType(schema, indent)
	default:
		panic(fmt.Sprintf("a schema of the type %q: %s", word, schema.Raw))
	}
}

func objectType(schema gjson.Result, indent string) string {
	properties := schema.Get("properties")
	if !properties.Exists() || len(properties.Map()) == 0 {
		if values := schema.Get("additionalProperties"); values.IsObject() {
			return "Record<string, " + typeOf(values, indent) + ">"
		}
		return "Record<string, unknown>"
	}
	required := map[string]bool{}
	for _, name := range schema.Get("required").Array() {
		required[name.String()] = true
	}
	var b strings.Builder
	b.WriteString("{\n")
	properties.ForEach(func(name, s gjson.Result) bool {
		b.WriteString(indent + "\t" + member(name.String(), required[name.String()], s, indent+"\t") + "\n")
		return true
	})
	b.WriteString(indent + "}")
	return b.String()
}

func choice(list gjson.Result, each func(gjson.Result) string) string {
	var types []string
	for _, v := range list.Array() {
		types = append(types, each(v))
	}
	return strings.Join(types, " | ")
}
