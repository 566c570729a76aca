package replay

import (
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// Names are those of tools on the wire of one request. Some APIs and models refuse a dash: there another letter takes its place, and calls
// get their own name back. It is for adapters, and for one goroutine.
type Names struct {
	plain bool
	own   map[string]string // by the name on the wire
	wires map[string]string // by our name
}

// NewNames begins with the tools that are offered. plain says that a name has letters, digits and _ only, and begins with a letter.
func NewNames(offered []provider.Tool, plain bool) *Names {
	n := &Names{plain: plain, own: map[string]string{}, wires: map[string]string{}}
	for _, t := range offered {
		n.Wire(t.Name)
	}
	return n
}

// Wire is a tool's name on the wire, the same each time.
func (n *Names) Wire(name string) string {
	if wire, ok := n.wires[name]; ok {
		return wire
	}
	wire := ToolName(name)
	if n.plain {
		wire = strings.TrimLeft(strings.ReplaceAll(wire, "-", "_"), "_0123456789")
		if wire == "" {
			wire = "tool"
		}
		for n.own[wire] != "" {
			wire += "_"
		}
	}
	n.wires[name] = wire
	if n.own[wire] == "" {
		n.own[wire] = name
	}
	return wire
}

// Back is our name of a tool that the model calls.
func (n *Names) Back(wire string) string {
	if own := n.own[wire]; own != "" && n.plain {
		return own
	}
	return wire
}
