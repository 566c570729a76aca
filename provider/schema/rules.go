package schema

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

// Rules is what an API takes.
type Rules struct {
	shallow  bool           // only the top level is looked at
	keywords []string       // that are taken; nil: all but those that no rule here knows to be refused
	formats  []string       // of strings
	typed    bool           // a schema has one type, or is a union and nothing else
	named    bool           // a schema says a type, or several
	keys     *regexp.Regexp // of the names of the top level's properties; nil: any
	closed   string         // when objects of the schema of an answer take no other members: ifStrict or always; empty: never
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
