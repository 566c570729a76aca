package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// names is what all vendors take: Anthropic has 128 characters, OpenAI 64, and Gemini wants no digit or dash in front
// (docs: tool use; function calling).
var names = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`) })

// CheckName says what is wrong with a tool's name, nil if nothing is.
func CheckName(name string) error {
	if !names().MatchString(name) {
		return errors.New("a tool's name is 1 to 64 letters, digits, _ and -, and begins with a letter or _")
	}
	return nil
}

// maxSchema is in bytes: a schema travels with every call.
const maxSchema = 64 << 10

// CheckSchema says what is wrong with the schema of a tool's input, nil if nothing is. It is of an object, whole in
// itself: no other document is ever loaded for it.
func CheckSchema(schema json.RawMessage) error {
	if len(schema) > maxSchema {
		return fmt.Errorf("is larger than %d bytes", maxSchema)
	}
	var top struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(schema, &top); err != nil || top.Type != "object" {
		return errors.New(`must be the schema of an object, with "type": "object"`)
	}
	_, err := compile(schema)
	if errors.Is(err, errUntold) {
		return nil
	}
	return err
}

// Check holds a call's input against its tool's schema. The error is for the model: it names each member that is wrong.
// A schema that this build cannot read judges nothing: its host does. It takes at most about a second.
func Check(schema, input json.RawMessage) error {
	s, err := compile(schema)
	if err != nil {
		return nil
	}
	var value any
	if err := json.Unmarshal(input, &value); err != nil {
		if _, number := errors.AsType[*json.UnmarshalTypeError](err); number {
			return errNumber
		}
		return errors.New("not JSON")
	}
	if !s.affordable(value) {
		return errTooComplex
	}
	err = s.validate(value)
	if err == nil {
		return nil
	}
	if faults := s.faults(value); len(faults) > 0 {
		return errors.New(strings.Join(faults, "; "))
	}
	return errors.New(plain(err))
}

// compiled is a schema that inputs can be held against.
type compiled struct {
	document any // as it was written
	schema   *jsonschema.Schema
	resolved *jsonschema.Resolved
}

var (
	// errUntold is a schema of which the library reads less than there is.
	errUntold = errors.New("is not judged here")

	errDeep = fmt.Errorf("is nested deeper than %d", maxDepth)
)

// The drafts that the library knows.
const (
	draft7    = "http://json-schema.org/draft-07/schema#"
	draft2020 = "https://json-schema.org/draft/2020-12/schema"
)

func compile(schema json.RawMessage) (*compiled, error) {
	c := &compiled{schema: &jsonschema.Schema{}}
	if err := json.Unmarshal(schema, &c.document); err != nil {
		if _, number := errors.AsType[*json.UnmarshalTypeError](err); number {
			return nil, errNumber
		}
		return nil, err
	}
	if deeper(c.document, maxDepth) { // the library reads a level once for each that is around it
		return nil, errDeep
	}
	err := json.Unmarshal(schema, c.schema)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil, fmt.Errorf("%s: a %s does not belong there", wrong.Field, wrong.Value)
	}
	switch {
	case err != nil:
		return nil, err
	case c.schema.Defs != nil && c.schema.Definitions != nil, c.schema.Vocabulary != nil:
		return nil, errUntold
	case strings.Contains(c.schema.Schema, "/draft-0"):
		c.schema.Schema = draft7 // which has what those before it had
	default:
		c.schema.Schema = draft2020
	}
	c.resolved, err = c.schema.Resolve(&jsonschema.ResolveOptions{Loader: func(uri *url.URL) (*jsonschema.Schema, error) {
		return nil, fmt.Errorf("refers to another document, %s", uri)
	}})
	return c, err
}

func deeper(value any, than int) bool {
	if than == 0 {
		return true
	}
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			if deeper(inner, than-1) {
				return true
			}
		}
	case []any:
		for _, inner := range v {
			if deeper(inner, than-1) {
				return true
			}
		}
	}
	return false
}

// validate calls the library, which panics where a schema is not as it thought.
func (c *compiled) validate(value any) (err error) {
	defer func() {
		if recover() != nil {
			err = nil // as a schema that cannot be read
		}
	}()
	return c.resolved.Validate(value)
}

// maxTold is how many faults are told at once.
const maxTold = 10

// faults are those that can be told by the members of the input: the library stops at the first, in no order. Nil: they lie
// elsewhere.
func (c *compiled) faults(value any) (told []string) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	for _, name := range c.schema.Required {
		if _, ok := object[name]; !ok {
			told = append(told, fmt.Sprintf("%s is missing", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.schema.Properties)) {
		member, ok := object[name]
		if !ok {
			continue
		}
		alone := &compiled{schema: &jsonschema.Schema{Schema: c.schema.Schema, Defs: c.schema.Defs, Definitions: c.schema.Definitions,
			Properties: map[string]*jsonschema.Schema{name: c.schema.Properties[name]}}}
		var err error
		if alone.resolved, err = alone.schema.Resolve(nil); err != nil {
			continue // it refers to what is not with it
		}
		if err := alone.validate(map[string]any{name: member}); err != nil {
			told = append(told, plain(err))
		}
	}
	if n := len(told) - maxTold; n > 0 {
		told = append(told[:maxTold], fmt.Sprintf("and %d more", n))
	}
	return told
}

// maxFault is in bytes: the library quotes what is wrong.
const maxFault = 300

// plain is the library's error in a line, with the innermost place in the schema for the places on the way there.
func plain(err error) string {
	text, place := err.Error(), ""
	for strings.HasPrefix(text, "validating ") {
		at, rest, ok := strings.Cut(text[len("validating "):], ": ")
		if !ok {
			break
		}
		place, text = at, rest
	}
	text = strings.ReplaceAll(text, "<invalid reflect.Value>", "null") // how fmt has it
	text = strings.ReplaceAll(text, "\n", "; ")
	if len(text) > maxFault {
		text = strings.ToValidUTF8(text[:maxFault], "") + "…"
	}
	if place == "" || place == "root" {
		return text
	}
	return strings.TrimPrefix(strings.ReplaceAll(place, "/properties/", "/"), "/") + ": " + text
}
