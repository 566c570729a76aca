package arguments

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestCheckSchema(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object"}`: "",
		`{"type":"object","properties":{"next":{"$ref":"#"}}}`:                  "",
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`: "",
		``:                  `must be the schema of an object`,
		`[]`:                `must be the schema of an object`,
		`{"type":"string"}`: `must be the schema of an object`,
		`{"type":"object","$defs":{},"definitions":{}}`:                                              "",
		`{"type":"object","not":` + strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 201): `is nested deeper`,
		`{"type":"object","required":1}`:                                                             `required: a number does not belong there`,
		`{"type":"object","properties":{"a":{"pattern":"("}}}`:                                       `error parsing regexp`,
		`{"type":"object","$ref":"file:///etc/hostname"}`:                                            `refers to another document`,
		`{"type":"object","description":"` + strings.Repeat("x", maxSchema) + `"}`:                   `is larger than`,
	} {
		switch err := CheckSchema(json.RawMessage(schema)); {
		case err == nil && want != "":
			t.Errorf("%.60s: taken, want %q", schema, want)
		case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
			t.Errorf("%.60s: %v, want %q", schema, err, want)
		}
	}
}

func TestCheck(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"type":"string","maxLength":3},"b":{"enum":[1,2]},"n":{"type":"integer"}},
		"required":["a"],"additionalProperties":false}`
	for input, want := range map[string]string{
		`{"a":"x"}`:                          "",
		`{"a":"x","n":12345678901234567890}`: "",
		`{"a":"x","n":1.0}`:                  "",
		`{}`:                                 "a is missing",
		`{"a":1,"b":3}`:                      `a: type: 1 has type "integer", want "string"; b: enum: 3 does not equal any of: [1 2]`,
		`{"a":"x","c":1}`:                    `unexpected additional properties ["c"]`,
		`{"a":"x","n":1.5}`:                  `n: type: 1.5 has type "number", want "integer"`,
		`{"a":"long"}`:                       `a: maxLength: "long" contains 4 Unicode code points, more than 3`,
		`[]`:                                 `type: [] has type "array", want "object"`,
		`null`:                               `type: null has type "null", want "object"`,
		``:                                   "not JSON",
		`{"a":"x"} x`:                        "not JSON",
	} {
		got := ""
		if err := Check(json.RawMessage(schema), json.RawMessage(input)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
	for _, tt := range []struct{ schema, input, want string }{
		{`{"required":["a","b"],"properties":{"c":{"type":"null"}}}`, `{"c":1}`, `a is missing; b is missing; c: type: 1 has type "integer", want "null"`},
		{`{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"properties":{"y":{"type":"string"}}}}}`, `{"a":{"y":1}}`, `$defs/x/y: type: 1 has type "integer", want "string"`},
		{`{"properties":{"a":{"$ref":"#/properties/b"},"b":{"minimum":2}}}`, `{"a":1}`, `b: minimum: 1/1 is less than 2.000000`},
		{`{"properties":{"a":{"$ref":"#x"}},"$defs":{"x":{"$anchor":"x","type":"null"}}}`, `{"a":1}`, `$defs/x: type: 1 has type "integer", want "null"`},
		{`{"properties":{"a":{"items":{"properties":{"b":{"type":"string"}}}}}}`, `{"a":[{"b":1}]}`, `a/items/b: type: 1 has type "integer", want "string"`},
		{`{"properties":{"a":{"type":["string","null"]}}}`, `{"a":null}`, ""},
		{`{"not":{}}`, `{}`, `not: validated against <anonymous schema>`},
		{`{"properties":{"a":{"maxLength":1}}}`, `{"a":"` + strings.Repeat("ä", 5000) + `"}`, `a: maxLength: "` + strings.Repeat("ä", 144) + `…`},
		{`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[` + strings.Repeat("[0],", 5000) + `1]}`, `a: uniqueItems: array items 1 and 0 are equal`},
		// What those before it had the draft 7 has, and what the library does not read is for the tool's host to judge.
		{`{"$schema":"http://json-schema.org/draft-06/schema#","dependencies":{"a":["b"]}}`, `{"a":1}`, `dependentRequired["a"]: missing properties ["b"]`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}`, `{"a":1}`, ""},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","required":["a"]}`, `{}`, "a is missing"},
		{`{"$defs":{},"definitions":{},"required":["a"]}`, `{}`, ""},
	} {
		got := ""
		if err := Check(json.RawMessage(tt.schema), json.RawMessage(tt.input)); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%.100s: %q, want %q", tt.schema, got, tt.want)
		}
	}
	// What would take hours or all of the memory is refused at once.
	deep := strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 40)
	for _, tt := range [][2]string{
		{`{"properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`, deep},
		{`{"properties":{"a":{"anyOf":[{"$ref":"#/$defs/x"},{"$ref":"#/$defs/y"}]}},"$defs":{"x":{"$ref":"#"},"y":{"$ref":"#"}}}`, deep},
		{`{"properties":{"n":{"type":"integer"}}}`, `{"n":1e999999999}`},
		{`{"properties":{"n":{"multipleOf":3}}}`, `{"n":[1,{"x":1E99999999999999999999}]}`},
		{`{"properties":{"a":{"anyOf":[` + strings.Repeat(`{"type":"string"},`, 400) + `{"type":"null"}]}}}`, `{"a":{"b":"` + strings.Repeat("x", 1<<20) + `"}}`},
		{`{"$ref":"#"}`, `{}`},
	} {
		if err := Check(json.RawMessage(tt[0]), json.RawMessage(tt[1])); err != errTooComplex && err != errNumber {
			t.Errorf("%s: %v", tt[0], err)
		}
	}
	if err := CheckSchema(json.RawMessage(`{"type":"object","properties":{"n":{"minimum":1e999999999}}}`)); err != errNumber {
		t.Errorf("a schema with a huge number: %v", err)
	}
	large := json.RawMessage(`{"a":[` + strings.Repeat(`{"b":"x"},`, 20_000) + `{}]}`)
	if err := Check(json.RawMessage(`{"properties":{"a":{"type":"array","items":{"properties":{"b":{"type":"string"}}}}}}`), large); err != nil {
		t.Errorf("a large input: %v", err)
	}
	if err := Check(json.RawMessage(`{"$ref":"#"}`), json.RawMessage(`{}`)); err == nil {
		t.Error("a schema that is its own reference judged an input")
	}
}
