package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
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
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		return told(invalid.Err)
	}
	return told(err)
}

// Check holds a call's input against its tool's schema. The error is for the model: it names each member that is wrong.
// A schema that this build cannot read judges nothing: its host does. It takes at most about a second.
func Check(schema, input json.RawMessage) error {
	compiled, err := compile(schema)
	if err != nil {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(input))
	if err != nil {
		return errors.New("not JSON")
	}
	if err := tame(value); err != nil {
		return err
	}
	if !affordable(compiled, value) {
		return errTooComplex
	}
	return told(compiled.Validate(value))
}

func compile(schema json.RawMessage) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	if err := tame(document); err != nil {
		return nil, err
	}
	const here = "schema:input"
	c := jsonschema.NewCompiler()
	c.UseLoader(nil) // neither files nor the network
	if err := c.AddResource(here, document); err != nil {
		return nil, err
	}
	return c.Compile(here)
}

// maxTold is how many faults are told at once.
const maxTold = 10

// told is the library's error in a line: the innermost faults, without the places in the schema.
func told(err error) error {
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err
	}
	var faults []string
	printer := message.NewPrinter(language.English)
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			what := e.ErrorKind.LocalizedString(printer)
			if len(e.InstanceLocation) > 0 {
				what = strings.Join(e.InstanceLocation, "/") + ": " + what
			}
			faults = append(faults, what)
		}
		for _, cause := range e.Causes {
			walk(cause)
		}
	}
	walk(invalid)
	slices.Sort(faults)
	faults = slices.Compact(faults)
	if n := len(faults) - maxTold; n > 0 {
		faults = append(faults[:maxTold], fmt.Sprintf("and %d more", n))
	}
	return errors.New(strings.Join(faults, "; "))
}
