package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// Tools is a request's tools with schemas that fit, and a notice of what was dropped, if anything was.
func Tools(list []provider.Tool, rules Rules, model string) ([]provider.Tool, []provider.Notice) {
	var out []provider.Tool
	var lost []string
	for _, t := range list {
		fit, dropped := Reduce(t.Schema, rules)
		t.Schema = fit
		out = append(out, t)
		if len(dropped) > 0 {
			lost = append(lost, fmt.Sprintf("%s (%s)", t.Name, strings.Join(dropped, ", ")))
		}
	}
	if lost == nil {
		return out, nil
	}
	return out, []provider.Notice{{Kind: provider.NoticeSchema,
		Text: fmt.Sprintf("schemas of tools were reduced to what %s takes: %s", model, strings.Join(lost, "; "))}}
}

// Reduce returns a schema that an API accepts, and the keywords that were removed or weakened. A schema that fits, and an absent one,
// stay the same.
func Reduce(schema json.RawMessage, rules Rules) (fit json.RawMessage, dropped []string) {
	if len(schema) == 0 {
		return schema, nil
	}
	root, ok := parse(gjson.ParseBytes(schema)).(*object)
	if !gjson.ValidBytes(schema) || !ok {
		return Empty, []string{"all of it: it is no JSON object"}
	}
	before := encode(root)
	r := &reducer{rules: rules, root: root}
	out := r.top(root)
	if after := encode(out); !bytes.Equal(after, before) {
		return after, r.dropped
	}
	return schema, nil
}

// top reduces the top level, which is of an object, and no union.
func (r *reducer) top(o *object) *object {
	if o = o.copy(); !r.rules.shallow {
		o = r.refer(o)
	}
	o = r.union(o)
	for _, name := range []string{"anyOf", "oneOf"} {
		list, _ := o.values[name].([]any)
		if !o.has(name) {
			continue
		}
		r.lose(name + " at the top level")
		o.drop(name)
		for _, e := range list { // any of them may be meant, so none of what only some have is required
			if alternative, ok := e.(*object); ok {
				r.merge(o, r.union(r.refer(alternative.copy())), false)
			}
		}
	}
	for _, name := range []string{"not", "enum", "const", "if", "then", "else"} {
		if o.has(name) {
			r.lose(name + " at the top level")
			o.drop(name)
		}
	}
	if o.text("type") != "object" {
		o.set("type", quote("object"))
	}
	if !r.rules.shallow {
		o, _ = r.node(o, 0)
	}
	if properties, ok := o.values["properties"].(*object); ok && r.rules.keys != nil {
		properties = properties.copy()
		for _, name := range slices.Clone(properties.names) {
			if !r.rules.keys.MatchString(name) {
				r.lose("property " + name)
				properties.drop(name)
				r.require(o, func(required string) bool { return required != name })
			}
		}
		o.set("properties", properties)
	}
	return o
}
