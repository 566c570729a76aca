package options

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/options.md")

// docs/options.md is what Page makes of the rules and the catalog.
func TestPage(t *testing.T) {
	const path = "../../docs/options.md"
	want := Page()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("docs/options.md is not that of the rules (%v): run go test ./registry/options -update", err)
	}
}

// TestUnverified checks that a rule names only options of its own as unverified, and that a source without a page says so.
func TestUnverified(t *testing.T) {
	for _, r := range rules() {
		for _, name := range r.Unverified {
			if r.Take[name] == nil {
				t.Errorf("%s %v: %s is named as unverified and has no rule", r.API, r.Dialects, name)
			}
		}
		if strings.HasPrefix(r.Source, "not verified") && len(r.Unverified) != len(r.Take) {
			t.Errorf("%s %v: the source is %q, and %d of %d options are named as unverified", r.API, r.Dialects, r.Source, len(r.Unverified), len(r.Take))
		}
	}
}
