package doctor

import (
	"strings"
	"testing"
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
