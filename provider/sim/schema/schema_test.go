package schema

import (
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/sim/strict"
)

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	v, err := strict.Decode([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	m, _ := v.(map[string]any)
	return m
}

func TestExample(t *testing.T) {
	for schema, want := range map[string]string{
		`{}`: `"word"`,
		`{"type":"object","properties":{"path":{"type":"string"},"lines":{"type":"integer"}},"required":["path"]}`:                                       `{"path":"word"}`,
		`{"type":"OBJECT","properties":{"n":{"type":"INTEGER","minimum":3}},"required":["n"]}`:                                                           `{"n":3}`,
		`{"type":"object","properties":{"at":{"type":"string","format":"date"},"on":{"type":["null","boolean"]}},"required":["at","on"]}`:                `{"at":"2026-01-31","on":true}`,
		`{"type":"object","properties":{"k":{"enum":["b","a"]},"c":{"const":7},"e":{"examples":["ls"]},"d":{"default":2}},"required":["k","c","e","d"]}`: `{"c":7,"d":2,"e":"ls","k":"b"}`,
		`{"type":"array","items":{"type":"number","maximum":0.5},"minItems":2}`:                                                                          `[0.5,0.5]`,
		`{"type":"array"}`: `[]`,
		`{"type":"object","properties":{"t":{"$ref":"#/$defs/t"}},"required":["t"],"$defs":{"t":{"anyOf":[{"type":"integer","exclusiveMinimum":1},{"type":"null"}]}}}`: `{"t":2}`,
		`{"type":"string","minLength":6,"maxLength":6}`: `"wordxx"`,
		`{"type":"null"}`: `null`,
	} {
		s := decode(t, schema)
		made := Example(s, func() string { return "word" })
		if got := string(strict.AppendCanonical(nil, made)); got != want {
			t.Errorf("%s:\n%s, want\n%s", schema, got, want)
		}
		if err := Check(s, made); err != nil {
			t.Errorf("%s: its own example: %v", schema, err)
		}
	}
	circle := decode(t, `{"type":"object","properties":{"next":{"$ref":"#"}},"required":["next"]}`)
	if got := string(strict.AppendCanonical(nil, Example(circle, nil))); strings.Count(got, "next") != depthMost {
		t.Errorf("a schema that contains itself: %s", got)
	}
	Example(decode(t, `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`), func() string { return "" })
}

func TestCheck(t *testing.T) {
	const tool = `{"type":"object","properties":{"path":{"type":"string","minLength":1},"lines":{"type":"integer","minimum":1,"maximum":9},
		"status":{"enum":["open","done"]},"edits":{"type":"array","minItems":1,"maxItems":2,"items":{"$ref":"#/$defs/edit"}},
		"at":{"anyOf":[{"type":"integer"},{"type":"null"}]}},"required":["path"],"additionalProperties":false,
		"$defs":{"edit":{"type":"object","properties":{"old":{"type":"string"}},"required":["old"]}}}`
	for value, want := range map[string]string{
		`{"path":"a"}`: "",
		`{"path":"a","lines":2.0,"status":"done","edits":[{"old":"x","more":1}],"at":null}`: "",
		`{}`:                         `the value lacks "path"`,
		`{"path":3}`:                 `"path" must be of type string`,
		`{"path":""}`:                `"path" needs at least 1 characters`,
		`{"path":"a","pth":"b"}`:     `has no member "pth"`,
		`{"path":"a","lines":1.5}`:   `"lines" must be of type integer`,
		`{"path":"a","lines":0}`:     `"lines" must be at least 1`,
		`{"path":"a","lines":10}`:    `"lines" must be at most 9`,
		`{"path":"a","status":"no"}`: `"status" must be one of ["open","done"]`,
		`{"path":"a","edits":[]}`:    `"edits" needs at least 1 items`,
		`{"path":"a","edits":[{}]}`:  `item 1 of "edits" lacks "old"`,
		`{"path":"a","at":"soon"}`:   `"at" must be of type integer`,
	} {
		err := Check(decode(t, tool), decode(t, value))
		if got := ""; err != nil {
			got = err.Error()
			if want == "" || !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %q", value, got, want)
			}
		} else if want != "" {
			t.Errorf("%s: fits, want %q", value, want)
		}
	}
	if err := Check(decode(t, `{"allOf":[{"type":"object"},{"required":["a"]}],"additionalProperties":{"type":"string"}}`), decode(t, `{"a":1}`)); err == nil || !strings.Contains(err.Error(), `"a" must be of type string`) {
		t.Errorf("allOf with additionalProperties: %v", err)
	}
}
