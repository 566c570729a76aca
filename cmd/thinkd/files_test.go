package main

import (
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof/structure"
)

// Inside each package, what a file uses is in files that do not use it. There are no exceptions.
func TestFilesDependOneWay(t *testing.T) {
	packages, err := structure.Load("../..", "./...")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		if cycle := p.Uses.Cycle(); cycle != nil {
			t.Errorf("%s: files depend on each other in a circle: %s. Move what the lower one needs down", p.Path, strings.Join(cycle, "; "))
		}
	}
}
