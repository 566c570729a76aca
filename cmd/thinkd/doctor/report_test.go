package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/agent/tool/guard"
	"github.com/thinkd/thinkd/cmd/thinkd/daemon"
)

func TestProblemsFirst(t *testing.T) {
	list := []Finding{{OK, "config", "a"}, {Bad, "keys", "first\nsecond"}, {Note, "run", "b"}, {OK, "memory", "d"}, {Bad, "store", "c"}}
	ProblemsFirst(list)
	var out strings.Builder
	for _, f := range list {
		if err := f.Print(&out); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := out.String(), "bad   keys: first\nsecond\nbad   store: c\nnote  run: b\nok    config: a\nok    memory: d\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestPlaces: one finding counts the protected places, or each kind of place has a finding with its paths.
func TestPlaces(t *testing.T) {
	list := []guard.Place{{Path: "~/.ssh", Danger: approval.Secret, About: "keys"}, {Path: "~/.aws", Danger: approval.Secret, About: "credentials"},
		{Path: "~/.gnupg", Danger: approval.Secret, About: "keys"}, {Path: ".git", Danger: approval.Program, About: "git"}}
	for all, want := range map[bool][]string{
		false: {"each call of a file tool needs approval for 3 places; a change needs approval also in tool mode edit: 1 places; `thinkd doctor -v` lists them"},
		true: {"each call of a file tool needs approval for ~/.ssh, ~/.gnupg (keys)", "each call of a file tool needs approval for ~/.aws (credentials)",
			"a change needs approval also in tool mode edit: .git (git)"},
	} {
		var got []string
		d := Doctor{Report: Report{func(f Finding) { got = append(got, f.Text) }}, All: all}
		if d.places(list); !slices.Equal(got, want) {
			t.Errorf("all %v: %q", all, got)
		}
	}
}

// TestKeyThatNamesAVariable: a key that is only the name of its variable is no key, in the environment and in keys.json.
func TestKeyThatNamesAVariable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, daemon.KeysName)
	if err := os.WriteFile(file, []byte(`{"version":1,"providers":{"gemini":{"key":"${GEMINI_API_KEY}"},"groq":{"key":"gsk-0123456789"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string {
		return map[string]string{"OPENAI_API_KEY": "OPENAI_API_KEY", "HOME": dir}[name]
	}
	var found []string
	d := Doctor{Report: Report{func(f Finding) { found = append(found, f.What+": "+f.Text) }}, Options: daemon.Options{Getenv: getenv, DataDir: dir}}
	d.checkConfig()
	all := strings.Join(found, "\n")
	for _, want := range []string{"openai (OPENAI_API_KEY, whose value is its own name)", "gemini (the key in keys.json is the name GEMINI_API_KEY)", "provider groq: key or login in keys.json"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing in %s", want, all)
		}
	}
}
