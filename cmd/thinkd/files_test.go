package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof/structure"
)

// circular are the packages in which files still depend on each other in a circle. In all other packages, what a file uses is in
// files that do not use it. A package that needs no exception any more is removed here.
var circular = []string{"rpc"}

func TestFilesDependOneWay(t *testing.T) {
	packages, err := structure.Load("../..", "./...")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		cycle, excepted := p.Uses.Cycle(), slices.Contains(circular, p.Path)
		switch {
		case cycle != nil && !excepted:
			t.Errorf("%s: files depend on each other in a circle: %s. Move what the lower one needs down", p.Path, strings.Join(cycle, "; "))
		case cycle == nil && excepted:
			t.Errorf("%s: its files do not depend on each other in a circle any more: remove it from the exceptions", p.Path)
		}
	}
}
