package structure

import (
	"slices"
	"strings"
	"testing"
)

func TestCycle(t *testing.T) {
	uses := Uses{"a": {"b": "x"}, "b": {"c": "y"}, "d": {"a": "w"}}
	if cycle := uses.Cycle(); cycle != nil {
		t.Errorf("%q of files without a circle", cycle)
	}
	uses["c"] = map[string]string{"a": "z"}
	if got, want := strings.Join(uses.Cycle(), "; "), "a uses x of b; b uses y of c; c uses z of a"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestOrder(t *testing.T) {
	uses := Uses{"a": {"b": "x"}, "b": {"c": "y"}, "d": {"a": "w"}}
	if order, upward := uses.Order(); upward != 0 || !slices.Equal(order, []string{"d", "a", "b", "c"}) {
		t.Errorf("%q with %d upward", order, upward)
	}
	uses["c"] = map[string]string{"a": "z"}
	if order, upward := uses.Order(); upward != 1 {
		t.Errorf("%q with %d upward, want one", order, upward)
	}
}

// This package itself is a sample: order.go uses nothing, load.go uses Uses.
func TestLoad(t *testing.T) {
	all, err := Load(".", ".")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || all[0].Path != "cmd/thinkd/proof/structure" || len(all[0].Files) != 3 || len(all[0].Imports) != 0 {
		t.Fatalf("%+v", all)
	}
	p := all[0]
	if order, upward := p.Uses.Order(); upward != 0 || p.Uses.Pairs() != 1 || p.Uses["load.go"]["order.go"] != "Uses" {
		t.Errorf("%q with %d upward; %v", order, upward, p.Uses)
	}
	if f := p.Files[0]; f.Name != "doc.go" || f.Lines != 7 || f.Comments != 6 {
		t.Errorf("%+v", f)
	}
}
