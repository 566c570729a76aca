package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// Rules is what an API takes.
type Rules struct {
	shallow  bool           // only the top level is looked at
	keywords []string       // that are taken; nil: all but those that no rule here knows to be refused
	formats  []string       // of strings
	typed    bool           // a schema has one type, or is a union and nothing else
	named    bool           // a schema says a type, or several
	keys     *regexp.Regexp // of the names of the top level's properties; nil: any
}

// Anthropic refuses a union at the top level, and names of properties with other letters. All else it takes, and it binds
// signed thinking to the bytes of what it took.
func Anthropic() Rules { return Rules{shallow: true, keys: propertyKey()} }

// OpenAI refuses references, unions other than anyOf, unknown formats, lists without items. Hosts that speak its API take
// what it takes, and Ollama refuses lists where JSON Schema has objects.
func OpenAI() Rules {
	return Rules{formats: []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}}
}

// Kimi takes what OpenAI takes, with a type everywhere.
func Kimi() Rules {
	r := OpenAI()
	r.named = true
	return r
}

// Gemini takes a part of OpenAPI's schema: one type, no references, words of choice for strings alone (docs:
// function-calling).
func Gemini() Rules {
	return Rules{typed: true, formats: []string{"enum", "date-time"}, keywords: []string{"type", "description", "properties",
		"required", "items", "enum", "anyOf", "format", "minItems", "maxItems", "minimum", "maximum"}}
}

// For is the rules of a chat host by the model that it serves: OpenRouter and Copilot pass schemas on.
func For(model string) Rules {
	switch model = strings.ToLower(model); {
	case strings.Contains(model, "gemini"):
		return Gemini()
	case strings.Contains(model, "kimi"):
		return Kimi()
	}
	return OpenAI()
}

var propertyKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`) })

// Bounds of a reduction: references may unfold without end.
const (
	maxDepth = 24
	maxNodes = 5_000
)

// Empty is the schema of a tool without any.
var Empty = json.RawMessage(`{"type":"object","properties":{}}`)

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

// Reduce is a schema that an API takes, and the keywords of which something was lost. A schema that fits, and an absent
// one, stay as they are.
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
