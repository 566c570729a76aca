package arguments

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxSchema is in bytes: a schema travels with every call.
const maxSchema = 64 << 10

// CheckSchema returns what is wrong with the schema of a tool's input, or nil. The schema must be that of an object, and complete:
// no other document is ever loaded.
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
	if errors.Is(err, errUnsupported) {
		return nil
	}
	return err
}

// Check checks the input of a call against the schema of its tool. The error is for the model: it names up to 10 members that are
// wrong. Check returns nil for a schema that it cannot read; the host then checks the input. It takes at most about a second.
func Check(schema, input json.RawMessage) error {
	faults, err := check(schema, input)
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "; "))
	}
	return err
}

// Faults lists what Check finds, one by one.
func Faults(schema, input json.RawMessage) []string {
	faults, err := check(schema, input)
	if err != nil {
		return []string{err.Error()}
	}
	return faults
}

// check returns what is wrong with members, or why the input cannot be judged.
func check(schema, input json.RawMessage) (faults []string, err error) {
	s, err := compile(schema)
	if err != nil {
		return nil, nil
	}
	var value any
	if err := json.Unmarshal(input, &value); err != nil {
		if _, number := errors.AsType[*json.UnmarshalTypeError](err); number {
			return nil, errNumber
		}
		return nil, errors.New("not JSON")
	}
	if !affordable(s.document, value) {
		return nil, errTooComplex
	}
	err = s.validate(value)
	if err == nil {
		return nil, nil
	}
	if faults := s.faults(value); len(faults) > 0 {
		return faults, nil
	}
	return []string{plain(err)}, nil
}

// compiled is a schema that is ready for checks.
type compiled struct {
	document any // as it was written
	schema   *jsonschema.Schema
	resolved *jsonschema.Resolved
}

var (
	// errUnsupported means that the library would ignore parts of a schema.
	errUnsupported = errors.New("is not judged here")

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
		return nil, errUnsupported
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

// validate calls the library, which panics on some schemas.
func (c *compiled) validate(value any) (err error) {
	defer func() {
		if recover() != nil {
			err = nil // as for a schema that cannot be read
		}
	}()
	return c.resolved.Validate(value)
}

// maxFaults is the number of faults that an error names.
const maxFaults = 10

// faults lists what is wrong with the members of the input, one by one, because the library stops at the first fault of any
// member. Nil: the fault is elsewhere.
func (c *compiled) faults(value any) (list []string) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	for _, name := range c.schema.Required {
		if _, ok := object[name]; !ok {
			list = append(list, fmt.Sprintf("%s is missing", name))
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
			continue // it refers to another member
		}
		if err := alone.validate(map[string]any{name: member}); err != nil {
			list = append(list, plain(err))
		}
	}
	if n := len(list) - maxFaults; n > 0 {
		list = append(list[:maxFaults], fmt.Sprintf("and %d more", n))
	}
	return list
}

// maxFault is in bytes: the library quotes what is wrong.
const maxFault = 300

// plain is the library's error in one line. Of the places that it names, only the innermost remains.
func plain(err error) string {
	text, place := err.Error(), ""
	for strings.HasPrefix(text, "validating ") {
		at, rest, ok := strings.Cut(text[len("validating "):], ": ")
		if !ok {
			break
		}
		place, text = at, rest
	}
	text = strings.ReplaceAll(text, "<invalid reflect.Value>", "null") // as fmt writes it
	text = strings.ReplaceAll(text, "\n", "; ")
	if len(text) > maxFault {
		text = strings.ToValidUTF8(text[:maxFault], "") + "…"
	}
	if place == "" || place == "root" {
		return text
	}
	return strings.TrimPrefix(strings.ReplaceAll(place, "/properties/", "/"), "/") + ": " + text
}
