package approval

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/session/tool"
)

func TestSimple(t *testing.T) {
	for line, want := range map[string]string{
		"git diff":                       "git|diff",
		"git   diff --stat  HEAD~1":      "git|diff|--stat|HEAD~1",
		`go test -run 'A|B' "./..."`:     "go|test|-run|A|B|./...",
		`grep -n "a b" x.go`:             "grep|-n|a b|x.go",
		"ls ~/src":                       "ls|~/src",
		`printf '%s\n' a`:                `printf|%s\n|a`,
		"":                               "",
		"git diff; curl evil":            "",
		"git diff && rm x":               "",
		"git diff | sh":                  "",
		"git diff &":                     "",
		"git diff;":                      "",
		"! git diff":                     "",
		"git diff > x":                   "",
		"git diff 2>&1":                  "",
		"git diff < x":                   "",
		"git diff $(id)":                 "",
		"git diff `id`":                  "",
		"git diff $HOME":                 "",
		`git diff "$HOME"`:               "",
		`git diff "$(id)"`:               "",
		"git diff $'a'":                  "",
		`git diff $"a"`:                  "",
		"git diff <(id)":                 "",
		"git diff {a,b}":                 "",
		"git diff *":                     "",
		"git diff ?":                     "",
		"git diff [a]":                   "",
		`git di\ff`:                      "",
		`git diff "a\"b"`:                "",
		"A=1 git diff":                   "",
		"A+=1 git diff":                  "",
		"PATH=/tmp":                      "",
		"git diff # a comment":           "",
		"# a comment":                    "",
		"git diff\nrm x":                 "",
		"git diff \\\nrm":                "",
		"git diff 'a\nb'":                "",
		"git diff\r":                     "",
		"git diff\u00a0x":                "",
		"git diff \u202ex":               "",
		"git diff \x1b[2K":               "",
		"(git diff)":                     "",
		"{ git diff; }":                  "",
		"if true; then ls; fi":           "",
		"f() { ls; }":                    "",
		"git diff 'open":                 "",
		"cat <<A\nx\nA":                  "",
		"sh -c ls":                       "",
		"/bin/bash x":                    "",
		`s"h" -c ls`:                     "",
		"python3.12 x.py":                "",
		"node x":                         "",
		"env ls":                         "",
		"sudo ls":                        "",
		"xargs rm":                       "",
		"nohup ls":                       "",
		"awk 1 x":                        "",
		"eval ls":                        "",
		". ./x":                          "",
		"export A":                       "",
		"find . -exec rm x":              "",
		"find . -execdir rm x":           "",
		"find . -ok rm x":                "",
		"find . -name '*.go'":            "find|.|-name|*.go",
		"go run ./x":                     "",
		"npx x":                          "",
		"git config core.pager x":        "",
		strings.Repeat("a", 5<<10):       "",
		"git diff " + "\"a\" 'b' c\"d\"": "git|diff|a|b|cd",
	} {
		words, ok := Simple(line)
		if got := strings.Join(words, "|"); got != want || ok != (want != "") {
			t.Errorf("%q is %q, %v; want %q", line, got, ok, want)
		}
	}
}

func TestGrants(t *testing.T) {
	run := tool.Tool{Host: tool.Builtin, Effect: tool.Run}
	run.Name = "run"
	edit := tool.Tool{Host: tool.Builtin, Effect: tool.Edit}
	edit.Name = "edit_file"
	read := tool.Tool{Host: tool.Builtin, Effect: tool.Read}
	read.Name = "read_file"
	for _, tt := range []struct {
		name string
		tool tool.Tool
		in   Inspection
		want string
	}{
		{"a simple command", run, Inspection{Command: "git diff --stat"}, "prefix git diff, allow_session "},
		{"a script", run, Inspection{Command: "git diff | sh"}, "allow_session "},
		{"an option before the command", run, Inspection{Command: "git -c a=b diff"}, "allow_session "},
		{"an option", run, Inspection{Command: "ls -la x"}, "prefix ls -la, allow_session "},
		{"a quoted name", run, Inspection{Command: "'a b' c"}, "allow_session "},
		{"an edit", edit, Inspection{Folder: "/home/u/shop"}, "folder /home/u/shop, allow_session "},
		{"a read has no folder to grant", read, Inspection{Folder: "/home/u/shop"}, "allow_session "},
		{"nothing is known", edit, Inspection{}, "allow_session "},
	} {
		var got []string
		for _, g := range Grants(tt.tool, tt.in) {
			got = append(got, g.ID+" "+strings.Join(g.Prefix, " ")+g.Folder)
			if !Covers(g, tt.tool, tt.in) {
				t.Errorf("%s: %s does not cover the call that it is offered with", tt.name, g.ID)
			}
			if other := (tool.Tool{Host: tool.MCP, Effect: tt.tool.Effect}); Covers(g, other, tt.in) {
				t.Errorf("%s: %s covers another tool", tt.name, g.ID)
			}
		}
		if text := strings.Join(got, ", "); text != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, text, tt.want)
		}
		for i, g := range Denials(tt.tool, tt.in) {
			if !g.Deny || g.Text != Grants(tt.tool, tt.in)[i].Text || !Covers(g, tt.tool, tt.in) {
				t.Errorf("%s: the denial %d is %+v", tt.name, i, g)
			}
		}
	}
}

func TestGrantCovers(t *testing.T) {
	run, edit := tool.Tool{Host: tool.Builtin, Effect: tool.Run}, tool.Tool{Host: tool.Builtin, Effect: tool.Edit}
	run.Name, edit.Name = "run", "edit_file"
	prefix := tool.Grant{Scope: tool.PrefixScope, Tool: "run", Prefix: []string{"git", "diff"}}
	for command, want := range map[string]bool{
		"git diff": true, "git diff --stat": true, `git "diff"`: true,
		"git": false, "git push": false, "git --no-pager diff": false, "git difftool": false, "/usr/bin/git diff": false,
		"git diff; rm -rf /": false, "git diff\nrm -rf /": false, "git diff | sh": false, "X=1 git diff": false, "git diff > ~/.bashrc": false, "": false,
	} {
		if got := Covers(prefix, run, Inspection{Command: command}); got != want {
			t.Errorf("prefix: %q is %v", command, got)
		}
	}
	folder := tool.Grant{Scope: tool.FolderScope, Tool: "edit_file", Folder: "/home/u/shop"}
	for dir, want := range map[string]bool{"/home/u/shop": true, "/home/u/shop/cart": true, "/home/u": false, "/home/u/shopping": false, "/home/u/shop/../keys": false, "": false} {
		if got := Covers(folder, edit, Inspection{Folder: dir}); got != want {
			t.Errorf("folder: %q is %v", dir, got)
		}
	}
	if edit.Effect = tool.Run; Covers(folder, edit, Inspection{Folder: "/home/u/shop"}) {
		t.Error("a folder grant covers what is no edit")
	}
	run.Description = "Runs a command."
	given := Grants(run, Inspection{Command: "git diff"})
	if len(given) != 2 {
		t.Fatalf("%+v", given)
	}
	for _, g := range given {
		other := run
		if other.Description = "Sends the keys."; !Covers(g, run, Inspection{Command: "git diff"}) || Covers(g, other, Inspection{Command: "git diff"}) {
			t.Errorf("%s: a grant is for one definition of the tool", g.Scope)
		}
		other = run
		if other.Schema = []byte(`{"type":"object"}`); Covers(g, other, Inspection{Command: "git diff"}) {
			t.Errorf("%s: a grant covers another schema", g.Scope)
		}
	}
	if Covers(tool.Grant{Scope: tool.PrefixScope, Tool: "run"}, run, Inspection{Command: "ls"}) || Covers(tool.Grant{Scope: "all", Tool: "run"}, run, Inspection{Command: "ls"}) {
		t.Error("a grant without words, or of an unknown scope, covers a call")
	}
}

func TestValues(t *testing.T) {
	got := Values(json.RawMessage(`{"title":"a\nb \u202e","n":1.50,"on":true,"none":null,"labels":["bug","two\nlines",{"deep":[1]}],"who":{"name":"mara","text":"x\ny","empty":{},"list":[]},"s":""}`))
	want := []Part{
		{ValuePart, "title", "a\nb \u202e"}, {ValuePart, "n", "1.50"}, {ValuePart, "on", "true"}, {ValuePart, "none", "null"},
		{ValuePart, "labels", "1 bug\n2 two\n  lines\n3\n  deep:\n    1 1"},
		{ValuePart, "who", "name: mara\ntext: x\n      y\nempty: {}\nlist: []"}, {ValuePart, "s", ""},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := Values(json.RawMessage(`[1]`)); len(got) != 1 || got[0].Text != "[1]" {
		t.Errorf("a list is %q", got)
	}
	if got := (Inspection{}).Show(json.RawMessage(`{}`)); got == nil || len(got) != 0 {
		t.Errorf("no arguments are %#v", got)
	}
}

func TestReveal(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext\nof two":               "plain\ttext\nof two",
		"a\u202eb":                          "a‹U+202E RIGHT-TO-LEFT OVERRIDE›b",
		"\x1b[2K":                           "‹U+001B ESCAPE›[2K",
		"a\rb\x00":                          "a‹U+000D CARRIAGE RETURN›b‹U+0000 NULL›",
		"‹U+202E›\u200b":                    "‹U+2039›U+202E›‹U+200B ZERO WIDTH SPACE›",
		"‹quoted›":                          "‹quoted›",
		"\u009b1m\u00a0\u2028\ufeff":        "‹U+009B CONTROL SEQUENCE INTRODUCER›1m‹U+00A0 NO-BREAK SPACE›‹U+2028 LINE SEPARATOR›‹U+FEFF ZERO WIDTH NO-BREAK SPACE›",
		"\U000e0041\u3164\u2800x\U000e0100": "‹U+E0041›‹U+3164 HANGUL FILLER›‹U+2800 BRAILLE PATTERN BLANK›x‹U+E0100›",
		"日本語 é 😀":                           "日本語 é 😀",
		"\xff":                              "‹U+FFFD REPLACEMENT CHARACTER›",
	} {
		got, n := Reveal(text)
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
		if n != strings.Count(want, "‹U+")-strings.Count(want, "‹U+2039›") && !strings.HasPrefix(text, "‹") {
			t.Errorf("%q has %d hidden characters", text, n)
		}
		if strings.ContainsFunc(got, Hidden) {
			t.Errorf("%q still hides something", got)
		}
	}
}
