package arguments

import (
	"encoding/json"
	"testing"
)

// FuzzCheck reads schemas of anybody and arguments of models. Whatever they are, it says something or nothing.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{`{"type":"object"}`, `{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"$ref":"#"}`,
		`{"type":"object","patternProperties":{"(":{}}}`, `{"type":"object","$id":"http://[::1","$ref":"#/a%"}`,
		`{"type":"object","$schema":"http://json-schema.org/draft-04/schema#","required":[]}`,
		`{"type":"object","properties":{"a":{"enum":[1,"x",null],"multipleOf":0.1,"format":"date"}},"dependentSchemas":{"a":{"minProperties":2}}}`} {
		f.Add([]byte(s), []byte(`{"a":{"a":1}}`))
	}
	f.Fuzz(func(t *testing.T, schema, input []byte) {
		taken := CheckSchema(schema) == nil
		err := Check(schema, input)
		if taken && err == nil && !json.Valid(input) {
			t.Errorf("%q passes %s", input, schema)
		}
	})
}
