package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/files"
	"github.com/thinkd/thinkd/provider"
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

// The files of thinkd prompt come first, with the type that their bytes have, otherwise their name. A text may be missing.
func TestPromptFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name, data string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plan, notes, image, data := file("plan.pdf", "%PDF-1.4"), file("notes.md", "# Notes"), file("small.txt", "\x89PNG\r\n\x1a\n"), file("data", "\x00\xff")
	for _, test := range []struct {
		files       []string
		text        string
		want, fault string
	}{
		{[]string{plan, notes}, "Why?", "plan.pdf application/pdf, notes.md text/markdown, Why?", ""},
		{[]string{image, data}, " ", "small.txt image/png, data application/octet-stream", ""},
		{[]string{dir}, "x", "", "is not a file"},
		{[]string{file("empty", "")}, "x", "", "is empty"},
		{[]string{plan + "x"}, "x", "", "no such file"},
	} {
		content, err := files.Attached(test.files, test.text)
		if test.fault != "" {
			if err == nil || !strings.Contains(err.Error(), test.fault) {
				t.Errorf("%q: %v, want %q", test.files, err, test.fault)
			}
			continue
		}
		var got []string
		for _, b := range content {
			switch b := b.(type) {
			case provider.Media:
				got = append(got, b.Name+" "+b.Type)
			case provider.Text:
				got = append(got, b.Text)
			}
		}
		if err != nil || strings.Join(got, ", ") != test.want {
			t.Errorf("%q: %q, %v, want %q", test.files, got, err, test.want)
		}
	}
}
