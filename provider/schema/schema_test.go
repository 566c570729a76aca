package schema

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// TestReduce has the shapes by which one tool of a server blocked every request (google-gemini/gemini-cli 13326,
// github/copilot-cli 4623 and 4835, moonshot's and Anthropic's refusals).
func TestReduce(t *testing.T) {
	const head = `{"type":"object","properties":`
	tests := []struct {
		name, schema, openai, gemini string // empty: as it was
		lost                         string // for Gemini
	}{
		{"plain", head + `{"path":{"type":"string","description":"a path"}},"required":["path"]}`, "", "", ""},
		{"reference", head + `{"f":{"$ref":"#/$defs/F"}},"$defs":{"F":{"type":"object","properties":{"a":{"type":"string"}}}}}`,
			head + `{"f":{"type":"object","properties":{"a":{"type":"string"}}}}}`,
			head + `{"f":{"type":"object","properties":{"a":{"type":"string"}}}}}`, ""},
		{"reference to itself", head + `{"f":{"$ref":"#/$defs/F"}},"$defs":{"F":{"type":"object","properties":{"next":{"$ref":"#/$defs/F"},"n":{"type":"integer"}}}}}`,
			head + `{"f":{"type":"object","properties":{"next":{},"n":{"type":"integer"}}}}}`,
			head + `{"f":{"type":"object","properties":{"next":{"type":"string"},"n":{"type":"integer"}}}}}`, "$ref"},
		{"reference elsewhere", head + `{"f":{"$ref":"#/properties/g"},"g":{"type":"string"}}}`,
			head + `{"f":{"type":"string"},"g":{"type":"string"}}}`, head + `{"f":{"type":"string"},"g":{"type":"string"}}}`, ""},
		{"reference to nowhere", head + `{"f":{"$ref":"https://example.com/s.json","description":"d"}}}`,
			head + `{"f":{"description":"d"}}}`, head + `{"f":{"description":"d","type":"string"}}}`, "$ref"},
		{"oneOf", head + `{"f":{"oneOf":[{"type":"string"},{"type":"integer"}],"description":"d"}}}`,
			head + `{"f":{"description":"d","anyOf":[{"type":"string"},{"type":"integer"}]}}}`,
			head + `{"f":{"anyOf":[{"type":"string","description":"d"},{"type":"integer","description":"d"}]}}}`, ""},
		{"allOf", head + `{"f":{"allOf":[{"$ref":"#/$defs/A"},{"properties":{"b":{"type":"string"}},"required":["b"]}]}},"$defs":{"A":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`,
			head + `{"f":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"]}}}`,
			head + `{"f":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"]}}}`, ""},
		{"a list of types", head + `{"f":{"type":["string","null"]}},"required":["f"]}`, "", head + `{"f":{"type":"string"}}}`, ""},
		{"two types", head + `{"f":{"type":["string","integer"]}},"required":["f"]}`, "", head + `{"f":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"required":["f"]}`, ""},
		{"or null", head + `{"f":{"anyOf":[{"type":"string"},{"type":"null"}],"description":"d"}},"required":["f"]}`, "", head + `{"f":{"type":"string","description":"d"}}}`, ""},
		{"format", head + `{"f":{"type":"string","format":"uri"},"g":{"type":"string","format":"date-time"}}}`,
			head + `{"f":{"type":"string"},"g":{"type":"string","format":"date-time"}}}`, head + `{"f":{"type":"string"},"g":{"type":"string","format":"date-time"}}}`, "format uri"},
		{"choice of numbers", head + `{"f":{"type":"integer","enum":[1,2]}}}`, "", head + `{"f":{"type":"integer","description":"One of: 1,2"}}}`, "enum"},
		{"choice on a list", head + `{"f":{"type":["array","null"],"items":{"type":"integer"},"enum":[1,2]}}}`, "",
			head + `{"f":{"type":"array","items":{"type":"integer"},"description":"One of: 1,2"}}}`, "enum"},
		{"choice without a type", head + `{"f":{"enum":["a","b"]}}}`, head + `{"f":{"enum":["a","b"],"type":"string"}}}`, head + `{"f":{"enum":["a","b"],"type":"string"}}}`, ""},
		{"constant", head + `{"f":{"const":"a"}}}`, head + `{"f":{"const":"a"}}}`, head + `{"f":{"enum":["a"],"type":"string"}}}`, ""},
		{"a list of anything", head + `{"f":{"type":"array"}}}`, head + `{"f":{"type":"array","items":{}}}}`, head + `{"f":{"type":"array","items":{"type":"string"}}}}`, ""},
		{"tuple", head + `{"f":{"type":"array","items":[{"type":"number"},{"type":"string"}]}}}`, head + `{"f":{"type":"array","items":{"type":"number"}}}}`, head + `{"f":{"type":"array","items":{"type":"number"}}}}`, "items"},
		{"other keywords", `{"$schema":"s","type":"object","properties":{"f":{"type":"string","minLength":1,"title":"F","exclusiveMinimum":1}},"additionalProperties":false}`,
			`{"type":"object","properties":{"f":{"type":"string","minLength":1,"title":"F","exclusiveMinimum":1}},"additionalProperties":false}`,
			head + `{"f":{"type":"string"}}}`, "minLength, exclusiveMinimum"},
		{"union at the top", `{"type":"object","anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]}`,
			head + `{"a":{"type":"string"},"b":{"type":"string"}}}`, head + `{"a":{"type":"string"},"b":{"type":"string"}}}`, "anyOf at the top level"},
		{"no properties", `{"type":"object"}`, `{"type":"object","properties":{}}`, "", ""},
		{"properties in a list", `{"type":"object","properties":[],"required":[]}`, `{"type":"object","properties":{}}`, `{"type":"object","properties":{}}`, ""},
		{"required and not there", head + `{"a":{"type":"string"}},"required":["a","b"]}`, "", head + `{"a":{"type":"string"}},"required":["a"]}`, ""},
		{"a type that is none", head + `{"a":{"type":"int"}}}`, head + `{"a":{}}}`, head + `{"a":{"type":"string"}}}`, "type int"},
		{"anything", head + `{"a":true,"b":{}}}`, head + `{"a":{},"b":{}}}`,
			head + `{"a":{"type":"string"},"b":{"type":"string"}}}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for api, want := range map[string]string{"openai": tt.openai, "gemini": tt.gemini} {
				rules := map[string]Rules{"openai": OpenAI(), "gemini": Gemini()}[api]
				if want == "" {
					want = tt.schema
				}
				got, lost := Reduce(json.RawMessage(tt.schema), rules)
				if string(got) != want {
					t.Errorf("%s:\n got %s\nwant %s", api, got, want)
				}
				if api == "gemini" && strings.Join(lost, ", ") != tt.lost {
					t.Errorf("lost %q, want %q", lost, tt.lost)
				}
				if again, lost := Reduce(got, rules); string(again) != string(got) || lost != nil {
					t.Errorf("%s: reduced twice it is %s, and %q is lost", api, again, lost)
				}
			}
		})
	}
}

// Kimi refuses a property that says no type.
func TestReduceForKimi(t *testing.T) {
	got, lost := Reduce(json.RawMessage(`{"type":"object","properties":{"a":{},"b":{"enum":["x"]},"c":{"anyOf":[{"type":"string"},{"const":1}]}}}`), Kimi())
	want := `{"type":"object","properties":{"a":{"type":["string","number","boolean","object","array"],"items":{}},` +
		`"b":{"enum":["x"],"type":"string"},"c":{"anyOf":[{"type":"string"},{"const":1,"type":["string","number","boolean","object","array"],"items":{}}]}}}`
	if string(got) != want || lost != nil {
		t.Errorf("got %s, lost %q\nwant %s", got, lost, want)
	}
}

// Anthropic binds signed thinking to the bytes of what it took, so all that it takes stays as it is.
func TestReduceForAnthropic(t *testing.T) {
	tests := []struct{ name, schema, want, lost string }{
		{"what it takes", `{"$schema":"s",  "type":"object","properties":{"f":{"$ref":"#/$defs/F"}},"$defs":{"F":{"oneOf":[{"type":"string"},{"const":1}]}}}`, "", ""},
		{"nothing", `{"type":"object"}`, "", ""},
		{"oneOf at the top", `{"type":"object","oneOf":[{"$ref":"#/$defs/A"},{"properties":{"b":{"type":"string"}}}],"$defs":{"A":{"properties":{"a":{"type":"string"}},"required":["a"]}}}`,
			`{"type":"object","$defs":{"A":{"properties":{"a":{"type":"string"}},"required":["a"]}},"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, "oneOf at the top level"},
		{"allOf at the top", `{"type":"object","allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]}]}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, ""},
		{"names of properties", `{"type":"object","properties":{"filter[id]":{"type":"string"},"b":{"type":"string"}},"required":["filter[id]","b"]}`,
			`{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}`, "property filter[id]"},
	}
	for _, tt := range tests {
		if tt.want == "" {
			tt.want = tt.schema
		}
		got, lost := Reduce(json.RawMessage(tt.schema), Anthropic())
		if string(got) != tt.want || strings.Join(lost, ", ") != tt.lost {
			t.Errorf("%s:\n got %s, lost %q\nwant %s, lost %q", tt.name, got, lost, tt.want, tt.lost)
		}
	}
}

// A schema that unfolds without end costs little, and is one all the same.
func TestReduceIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range 40 {
		n := string(rune('0' + i%10))
		if i > 0 {
			b.WriteByte(',')
		}
		next := `"#/$defs/d` + string(rune('0'+(i+1)%10)) + `"`
		b.WriteString(`"d` + n + `":{"type":"object","properties":{"l":{"$ref":` + next + `},"r":{"$ref":` + next + `},"m":{"$ref":` + next + `}}}`)
	}
	b.WriteString(`}}`)
	for _, rules := range []Rules{OpenAI(), Gemini()} {
		got, lost := Reduce(json.RawMessage(b.String()), rules)
		if !gjson.ValidBytes(got) || len(got) > 1<<20 || !slices.Contains(lost, "$ref") && len(lost) == 0 {
			t.Errorf("%d bytes, lost %q", len(got), lost)
		}
	}
}

func FuzzReduce(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"$ref":"#"}],"enum":[1]}},"allOf":[{"$ref":"#/properties/a"}]}`))
	f.Add([]byte(`{"type":["object","null"],"properties":{"a":{"type":["array","string"],"items":[true]}},"required":["a",1]}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		for _, rules := range []Rules{Anthropic(), OpenAI(), Gemini()} {
			got, _ := Reduce(schema, rules)
			if gjson.ValidBytes(schema) && !gjson.ValidBytes(got) {
				t.Fatalf("%q became %q", schema, got)
			}
			if again, _ := Reduce(schema, rules); string(again) != string(got) {
				t.Fatalf("%q became %q, and another time %q", schema, got, again)
			}
		}
	})
}
