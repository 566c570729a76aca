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

// AnyObject is the schema of an object with any members.
var AnyObject = json.RawMessage(`{"type":"object"}`)

// AnthropicOutput is what Anthropic takes of the schema of an answer: no bounds, and objects without other members than the named ones
// (docs: structured-outputs).
func AnthropicOutput() Rules {
	return Rules{closed: always, formats: []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"},
		keywords: []string{"type", "description", "properties", "required", "items", "enum", "anyOf", "format", "additionalProperties", "title", "default"}}
}

// OpenAIOutput is what OpenAI takes of the schema of an answer, and which schemas it enforces: those in which every member is required
// and there are no others (docs: structured-outputs).
func OpenAIOutput() Rules {
	r := OpenAI()
	r.closed = ifStrict
	return r
}

// When objects have to be without other members.
const (
	ifStrict = "strict" // where the vendor is to enforce the schema
	always   = "always"
)

// Output is the schema of an answer as an API takes it, whether the vendor can enforce it, and a notice of what was dropped. The answer
// is checked against the schema as it was.
func Output(s provider.OutputSchema, rules Rules, model string) (fit json.RawMessage, strict bool, notices []provider.Notice) {
	fit, dropped := Reduce(s.Schema, rules)
	strict = s.IsStrict()
	if root, ok := parse(gjson.ParseBytes(fit)).(*object); ok && (rules.closed == always || rules.closed == ifStrict && strict) {
		c := &closer{optional: rules.closed == always}
		closed := c.close(root)
		if strict = strict && (!c.open || c.optional); strict || c.optional {
			if text := encode(closed); !bytes.Equal(text, encode(root)) {
				fit = text
			}
		}
		if c.open && c.optional {
			dropped = append(dropped, "additionalProperties")
		}
		if c.open && !c.optional {
			dropped = append(dropped, "strict, because "+c.why)
		}
	}
	if len(dropped) > 0 {
		notices = []provider.Notice{{Kind: provider.NoticeSchema, Text: fmt.Sprintf("the schema of the answer was reduced to what %s takes: %s", model, strings.Join(dropped, ", "))}}
	}
	return fit, strict, notices
}

// closer makes objects take no other members than the named ones.
type closer struct {
	optional bool // named members need not be required
	open     bool // an object takes others, or has members that are not required
	why      string
}

func (c *closer) found(format string, args ...any) {
	if !c.open {
		c.open, c.why = true, fmt.Sprintf(format, args...)
	}
}

func (c *closer) close(o *object) *object {
	o = o.copy()
	for _, name := range []string{"items"} {
		if inner, ok := o.values[name].(*object); ok {
			o.set(name, c.close(inner))
		}
	}
	for _, name := range []string{"anyOf", "allOf"} {
		if list, ok := o.values[name].([]any); ok {
			o.set(name, c.each(list))
		}
	}
	properties, named := o.values["properties"].(*object)
	if o.text("type") != "object" && !slices.Contains(o.list("type"), "object") && !named {
		return o
	}
	if named {
		properties = properties.copy()
		required := o.list("required")
		for _, name := range properties.names {
			if !c.optional && !slices.Contains(required, name) {
				c.found("%s is not required", name)
			}
			if inner, ok := properties.values[name].(*object); ok {
				properties.set(name, c.close(inner))
			}
		}
		o.set("properties", properties)
	}
	if raw, scalar := o.values["additionalProperties"].(json.RawMessage); o.has("additionalProperties") && (!scalar || string(raw) != "false") || !named {
		c.found("an object takes members of any name")
	}
	o.set("additionalProperties", json.RawMessage("false"))
	return o
}

func (c *closer) each(list []any) []any {
	out := slices.Clone(list)
	for i, e := range out {
		if inner, ok := e.(*object); ok {
			out[i] = c.close(inner)
		}
	}
	return out
}
