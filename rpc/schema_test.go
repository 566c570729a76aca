package rpc

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// schemas judge JSON by the document that rpc.discover answers with, more strictly than a client should: a member that
// is not described is refused.
type schemas struct {
	params, results map[string]any // by method
	updates         map[string]any // params, by method
	components      map[string]any
}

func newSchemas(t testing.TB) schemas {
	t.Helper()
	text, err := Document("")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Methods []struct {
			Name   string
			Params []struct {
				Name     string
				Required bool
				Schema   any
			}
			Result struct{ Schema any }
		}
		Notifications []struct {
			Name   string
			Params any
		} `json:"x-notifications"`
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	s := schemas{map[string]any{}, map[string]any{}, map[string]any{}, doc.Components.Schemas}
	for _, m := range doc.Methods {
		properties, required := map[string]any{}, []any{}
		for _, p := range m.Params {
			properties[p.Name] = p.Schema
			if p.Required {
				required = append(required, p.Name)
			}
		}
		s.params[m.Name] = map[string]any{"type": "object", "properties": properties, "required": required}
		s.results[m.Name] = m.Result.Schema
	}
	for _, n := range doc.Notifications {
		s.updates[n.Name] = n.Params
	}
	return s
}

// judge says what in a JSON text does not fit a schema, empty if all does.
func (s schemas) judge(schema any, text string) string {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return err.Error()
	}
	return s.check(schema, v, "")
}

func (s schemas) check(schema, v any, at string) string {
	rule, ok := schema.(map[string]any)
	if !ok { // true: anything
		return ""
	}
	wrong := func(format string, args ...any) string {
		return strings.TrimPrefix(at+": ", ": ") + fmt.Sprintf(format, args...)
	}
	words := slices.Sorted(maps.Keys(rule))
	if i := slices.Index(words, "type"); i > 0 { // first, so that the message is the same each time
		words = slices.Insert(slices.Delete(words, i, i+1), 0, "type")
	}
	for _, word := range words {
		arg := rule[word]
		switch word {
		case "$ref":
			name, ok := strings.CutPrefix(arg.(string), "#/components/schemas/")
			if !ok {
				return ""
			}
			if s.components[name] == nil {
				return wrong("no schema %s", name)
			}
			if why := s.check(s.components[name], v, at); why != "" {
				return why
			}
		case "type":
			if got := typeOf(v); got != arg && !(arg == "number" && got == "integer") {
				return wrong("is %s, not %s", got, arg)
			}
		case "const":
			if v != arg {
				return wrong("is %v, not %v", v, arg)
			}
		case "enum":
			if !slices.Contains(arg.([]any), v) {
				return wrong("%v is none of %v", v, arg)
			}
		case "pattern":
			if text, ok := v.(string); ok && !regexp.MustCompile(arg.(string)).MatchString(text) {
				return wrong("%q is not %s", text, arg)
			}
		case "oneOf", "anyOf":
			if why := s.any(arg.([]any), v, at); why != "" {
				return why
			}
		case "items":
			list, _ := v.([]any)
			for i, element := range list {
				if why := s.check(arg, element, fmt.Sprintf("%s[%d]", at, i)); why != "" {
					return why
				}
			}
		case "required":
			object, _ := v.(map[string]any)
			for _, name := range arg.([]any) {
				if _, ok := object[name.(string)]; !ok && object != nil {
					return wrong("%s is missing", name)
				}
			}
		case "properties":
			object, _ := v.(map[string]any)
			for name, member := range object {
				rule, ok := arg.(map[string]any)[name]
				if !ok {
					return wrong("there is no member %s", name)
				}
				if why := s.check(rule, member, strings.TrimPrefix(at+"."+name, ".")); why != "" {
					return why
				}
			}
		case "additionalProperties", "description", "contentEncoding", "minimum", "default":
		default:
			return wrong("this judge does not know the word %s", word)
		}
	}
	return ""
}

// any finds the variant that fits; of several that do not, the one of the same type says why.
func (s schemas) any(variants []any, v any, at string) string {
	reason := at + ": no variant fits"
	for _, variant := range variants {
		for { // a variant may be a reference to one
			to, ok := variant.(map[string]any)["$ref"].(string)
			if !ok {
				break
			}
			variant = s.components[strings.TrimPrefix(to, "#/components/schemas/")]
		}
		why := s.check(variant, v, at)
		if why == "" {
			return ""
		}
		object, _ := v.(map[string]any)
		properties, _ := variant.(map[string]any)["properties"].(map[string]any)
		if word, ok := properties["type"].(map[string]any); ok && object["type"] == word["const"] {
			reason = why
		}
	}
	return reason
}

func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case float64:
		if v == float64(int64(v)) {
			return "integer"
		}
		return "number"
	}
	return "object"
}

// The judge is no rubber stamp.
func TestSchemasRefuse(t *testing.T) {
	s := newSchemas(t)
	const id = `"01KAK2V7M0Q2X4T6V8Y0A2C4E6"`
	for text, want := range map[string]string{
		`{"session_id":` + id + `,"level":"low"}`:                 "",
		`{"session_id":` + id + `}`:                               "level is missing",
		`{"session_id":"x","level":"low"}`:                        `session_id: "x" is not ^[0-7][0-9A-HJKMNP-TV-Z]{25}$`,
		`{"session_id":` + id + `,"level":1}`:                     "level: no variant fits",
		`{"session_id":` + id + `,"level":"low","more":1}`:        "there is no member more",
		`{"session_id":` + id + `,"level":"low","display":[1.5]}`: "display: is array, not string",
	} {
		if got := s.judge(s.params["thinking/set"], text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		`{"type":"text","text":"x","block":0}`:                        "",
		`{"type":"text"}`:                                             "text is missing",
		`{"type":"thinking","text":"x","kind":"other","signed":true}`: "kind: other is none of [full summary redacted omitted]",
		`{"type":"opaque"}`:                                           "no variant fits",
		`{"type":"text","text":"x","state":{}}`:                       "there is no member state",
	} {
		if got := strings.TrimPrefix(s.judge(s.components["Block"], text), ": "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
