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
			t.Errorf("clients/%s is not what rpc.discover says: run `go generate ./web` (-committed +daemon)\n%s", path, diff)
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
