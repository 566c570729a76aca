package doctor

import (
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/agent/tool/guard"
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
