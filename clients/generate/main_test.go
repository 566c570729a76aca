package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

// The committed types are those of this daemon.
func TestTypesAreTheDaemons(t *testing.T) {
	doc, err := discover()
	if err != nil {
		t.Fatal(err)
	}
	for path, write := range files {
		committed, err := os.ReadFile(filepath.Join("..", path))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(committed), write(doc)); diff != "" {
			t.Errorf("%s is not what rpc.discover says: run `go generate ./web` (-committed +daemon)\n%s", filepath.Join("clients", path), diff)
		}
	}
}

func TestTypeScript(t *testing.T) {
	for schema, want := range map[string]string{
		`true`:                               "unknown",
		`{"type":"integer"}`:                 "number",
		`{"type":"string","enum":["a","b"]}`: `"a" | "b"`,
		`{"type":"array","items":{"enum":["a","b"]}}`:                                                `("a" | "b")[]`,
		`{"anyOf":[{"$ref":"#/components/schemas/Usage"},{"type":"null"}]}`:                          "Usage | null",
		`{"$ref":"https://meta.open-rpc.org/"}`:                                                      "unknown",
		`{"type":"object","additionalProperties":true}`:                                              "Record<string, unknown>",
		`{"type":"object","additionalProperties":{"type":"string"}}`:                                 "Record<string, string>",
		`{"type":"object","properties":{"a":{"const":"x"},"b":{"type":"boolean"}},"required":["a"]}`: "{\n\ta: \"x\";\n\tb?: boolean;\n}",
	} {
		if got := typeOf(gjson.Parse(schema), ""); got != want {
			t.Errorf("%s is %s, want %s", schema, got, want)
		}
	}
}

// The reference names what a member can be in the fewest words, and links to what has a heading.
func TestReferenceTypes(t *testing.T) {
	w := &referenceWriter{schemas: gjson.Parse(`{"Usage":{"type":"object","properties":{"a":{"type":"integer"}}},"Applies":{"type":"string","enum":["now","next_turn"]},
		"Level":{"type":"string","enum":["1","2","3","4","5","6","7"]},"ID":{"type":"string"}}`)}
	for schema, want := range map[string]string{
		`true`:                                  "any",
		`{"type":"integer"}`:                    "integer",
		`{"$ref":"#/components/schemas/ID"}`:    "string",
		`{"$ref":"#/components/schemas/Usage"}`: "[Usage](#usage-type)",
		`{"type":"array","items":{"$ref":"#/components/schemas/Applies"}}`:           "list of `now`, `next_turn`",
		`{"anyOf":[{"$ref":"#/components/schemas/Level"},{"type":"null"}]}`:          "[Level](#level-words) or null",
		`{"anyOf":[{"const":"builtin"},{"type":"array","items":{"type":"string"}}]}`: "`builtin` or list of string",
		`{"type":"object","additionalProperties":{"type":"string"}}`:                 "object with values: string",
		`{"type":"array","items":{"enum":["1","2","3","4","5","6","7"]}}`:            "list of string",
		`{"type":"string","description":"any text"}`:                                 "string: any text",
	} {
		if got := w.typeOf(gjson.Parse(schema)); got != want {
			t.Errorf("%s is %q, want %q", schema, got, want)
		}
	}
}
