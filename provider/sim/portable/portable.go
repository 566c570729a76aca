package portable

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider/sim/strict"
)

// What follows are the rules by which vendors refuse what other vendors' models and servers of tools made: names of
// tools, schemas, the order of roles. Each refusal has the vendor's words, as users of agents reported them.

// ToolName matches what every API takes as the name of a tool.
var ToolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`) })

// HistoryName judges the name of a call in a history by OpenAI's rule.
func HistoryName(path, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string instead.", path)
	case len(name) > 64:
		return fmt.Errorf("Invalid '%s': string too long. Expected a string with maximum length 64, but got a string with length %d instead.", path, len(name))
	case !ToolName().MatchString(name):
		return fmt.Errorf("Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", path)
	}
	return nil
}

// openAIFormats are the formats of strings that OpenAI knows. [docs: structured-outputs]
var openAIFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

// OpenAISchema judges a tool's schema by what OpenAI takes where it is not strict.
func OpenAISchema(tool string, schema map[string]any) error {
	for _, name := range []string{"oneOf", "anyOf", "allOf", "enum", "not"} {
		if schema[name] != nil {
			return fmt.Errorf("Invalid schema for function '%s': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.", tool)
		}
	}
	return openAINode(tool, "", schema)
}

func openAINode(tool, at string, schema map[string]any) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("Invalid schema for function '%s': In context=(%s), %s", tool, at, fmt.Sprintf(format, args...))
	}
	for _, name := range []string{"oneOf", "allOf", "not", "if", "then", "else", "patternProperties", "dependentRequired"} {
		if schema[name] != nil {
			return wrong("'%s' is not permitted.", name)
		}
	}
	if schema["$ref"] != nil {
		return wrong("reference can only point to definitions defined at the top level of the schema.")
	}
	if schema["$defs"] != nil {
		return wrong("'$defs' is not permitted.")
	}
	if format, ok := schema["format"].(string); ok && !slices.Contains(openAIFormats, format) {
		return wrong("'%s' is not a valid format.", format)
	}
	if p := schema["properties"]; p != nil {
		if _, ok := p.(map[string]any); !ok {
			return wrong("%v is not of type 'object'.", p)
		}
	}
	if schema["type"] == "array" && schema["items"] == nil {
		return wrong("array schema missing items.")
	}
	return schemaNodes(schema, func(step string, inner map[string]any) error {
		return openAINode(tool, strings.TrimPrefix(at+", "+step, ", "), inner)
	})
}

// schemaNodes visits the schemas in a schema.
func schemaNodes(schema map[string]any, visit func(step string, inner map[string]any) error) error {
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		inner, _ := properties[name].(map[string]any)
		if err := visit("'properties', '"+name+"'", inner); err != nil {
			return err
		}
	}
	if inner, ok := schema["items"].(map[string]any); ok {
		if err := visit("'items'", inner); err != nil {
			return err
		}
	}
	union, _ := schema["anyOf"].([]any)
	for i, v := range union {
		inner, _ := v.(map[string]any)
		if err := visit(fmt.Sprintf("'anyOf', '%d'", i), inner); err != nil {
			return err
		}
	}
	return nil
}

// geminiKeywords are those of the part of OpenAPI's schema that Gemini takes. [docs: function-calling]
var geminiKeywords = []string{"type", "description", "properties", "required", "items", "enum", "anyOf", "format", "minItems", "maxItems",
	"minimum", "maximum", "nullable", "title", "default", "example", "minLength", "maxLength", "pattern", "propertyOrdering", "additionalProperties"}

// GeminiSchema judges a tool's schema by what Gemini takes.
func GeminiSchema(path string, schema map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(schema)) {
		if !slices.Contains(geminiKeywords, name) {
			return strict.Errorf("Invalid JSON payload received. Unknown name \"%s\" at '%s': Cannot find field.", strings.TrimPrefix(name, "$"), path)
		}
	}
	kind := schema["type"]
	if _, list := kind.([]any); list {
		return strict.Errorf("Invalid JSON payload received. Unknown name \"type\" at '%s': Proto field is not repeating, cannot start list.", path)
	}
	if schema["anyOf"] != nil && len(schema) > 1 {
		return strict.Errorf("Unable to submit request because `%s` schema specified other fields alongside any_of. When using any_of, it must be the only field set.", path)
	}
	if kind == nil && schema["anyOf"] == nil {
		return strict.Errorf("* GenerateContentRequest.%s.type: must be specified", path)
	}
	if choices, ok := schema["enum"].([]any); ok {
		if kind != "string" {
			return strict.Errorf("GenerateContentRequest.%s.enum: only allowed for STRING type", path)
		}
		for i, c := range choices {
			if word, ok := c.(string); !ok || word == "" {
				return strict.Errorf("* GenerateContentRequest.%s.enum[%d]: cannot be empty", path, i)
			}
		}
	}
	if format, ok := schema["format"].(string); ok && kind == "string" && format != "enum" && format != "date-time" {
		return strict.Errorf("* GenerateContentRequest.%s.format: only 'enum' and 'date-time' are supported for STRING type", path)
	}
	if kind == "array" && schema["items"] == nil {
		return strict.Errorf("* GenerateContentRequest.%s.items: missing field.", path)
	}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for i, name := range required {
		if word, _ := name.(string); properties[word] == nil {
			return strict.Errorf("* GenerateContentRequest.%s.required[%d]: property is not defined", path, i)
		}
	}
	return schemaNodes(schema, func(step string, inner map[string]any) error {
		step = strings.NewReplacer("'properties', '", "properties[", "'anyOf', '", "any_of[", "'items'", "items").Replace(step)
		return GeminiSchema(path+"."+strings.ReplaceAll(step, "'", "]"), inner)
	})
}

// ImageTaken reports whether an image, in base64, has a type that all vendors take, and is not a bitmap in disguise.
func ImageTaken(kind, data string) bool {
	head, err := base64.StdEncoding.DecodeString(data[:min(len(data), 16)/4*4])
	return slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind) && (err != nil || !strings.HasPrefix(string(head), "BM"))
}

// MarksMost is how many cache_control marks a request may carry. [docs: prompt-caching]
const MarksMost = 4

// OpenAIStrict checks that OpenAI can enforce a schema: all members are required, and there are no others. [docs: structured-outputs]
func OpenAIStrict(context string, v any) error {
	schema, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	properties, _ := schema["properties"].(map[string]any)
	if schema["type"] == "object" {
		if schema["additionalProperties"] != false {
			return fmt.Errorf("In context=%s, 'additionalProperties' is required to be supplied and to be false.", context)
		}
		required, _ := schema["required"].([]any)
		for name := range properties {
			if !slices.Contains(required, any(name)) {
				return fmt.Errorf("In context=%s, 'required' is required to be supplied and to be an array including every key in properties. Missing '%s'.", context, name)
			}
		}
	}
	for name, inner := range properties {
		if err := OpenAIStrict("('properties', '"+name+"')", inner); err != nil {
			return err
		}
	}
	alternatives, _ := schema["anyOf"].([]any)
	for _, inner := range append(alternatives, schema["items"]) {
		if err := OpenAIStrict(context, inner); err != nil {
			return err
		}
	}
	return nil
}
