package replay

import (
	"testing"

	"github.com/thinkd/thinkd/provider"
)

// TestNames gives each tool one name on the wire, and calls the name of their tool.
func TestNames(t *testing.T) {
	n := NewNames([]provider.Tool{{Name: "read_it"}, {Name: "read-it"}, {Name: "_1st"}, {Name: "--"}}, true)
	for own, wire := range map[string]string{"read_it": "read_it", "read-it": "read_it_", "_1st": "st", "--": "tool"} {
		if got := n.Wire(own); got != wire || n.Back(wire) != own {
			t.Errorf("%s is %s on the wire, want %s; back it is %s", own, got, wire, n.Back(wire))
		}
	}
	if got := n.Back("invented"); got != "invented" {
		t.Errorf("a tool that nobody offered is %s", got)
	}
	if as := NewNames([]provider.Tool{{Name: "read-it"}}, false); as.Wire("read-it") != "read-it" || as.Back("read-it") != "read-it" {
		t.Error("a dash that is taken is replaced")
	}
}
