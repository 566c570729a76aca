package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The flags of thinkd prompt become the options of the request. A value is JSON, or else a text, and the daemon checks it.
func TestPromptOptions(t *testing.T) {
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	schema, broken := file("answer.json", `{"type":"object"}`), file("broken.json", `{"type":`)
	for _, test := range []struct {
		options     []string
		schema      string
		want, fault string
	}{
		{nil, "", `null`, ""},
		{[]string{"temperature=0.2", "verbosity=low", "parallel_tools=false", `stop=["END","="]`}, "", `{"parallel_tools":false,"stop":["END","="],"temperature":0.2,"verbosity":"low"}`, ""},
		{[]string{"tool_choice=read=file"}, "", `{"tool_choice":"read=file"}`, ""},
		{[]string{"verbosity="}, "", `{"verbosity":""}`, ""},
		{nil, schema, `{"output_schema":{"schema":{"type":"object"}}}`, ""},
		{[]string{"seed=7"}, schema, `{"output_schema":{"schema":{"type":"object"}},"seed":7}`, ""},
		{[]string{"temperature"}, "", "", "--option temperature: write NAME=VALUE, such as temperature=0.2"},
		{[]string{"=1"}, "", "", "--option =1: write NAME=VALUE, such as temperature=0.2"},
		{nil, broken, "", broken + ": not JSON"},
		{nil, broken + "x", "", broken + "x: no such file"},
	} {
		options, err := promptFlags{options: test.options, schema: test.schema}.asked()
		if test.fault != "" {
			if err == nil || !strings.Contains(err.Error(), test.fault) {
				t.Errorf("%q, %q: %v, want %q", test.options, test.schema, err, test.fault)
			}
			continue
		}
		got, marshalled := json.Marshal(options)
		if err != nil || marshalled != nil || string(got) != test.want {
			t.Errorf("%q, %q: %s, %v, want %s", test.options, test.schema, got, err, test.want)
		}
	}
}
