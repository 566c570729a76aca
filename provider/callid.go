package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// CallIDs names tool calls on the wire of one request. Calls of one conversation come from several vendors, some of
// which use the same ids again in each answer, or letters that others refuse. It is for adapters, which name the calls
// and results of a history in their order.
type CallIDs struct {
	Fits func(id string) bool // whether the API takes an id as it is

	wire  map[string]string // by our id, of the latest call that has it
	taken map[string]bool   // on the wire
}

// Own notes a call that goes back under the name that this API gave it.
func (c *CallIDs) Own(id, wire string) {
	if c.wire == nil {
		c.wire, c.taken = map[string]string{}, map[string]bool{}
	}
	c.wire[id], c.taken[wire] = wire, true
}

// New is the name of a call that this API did not make: its id, if that fits and no call before it has that name, else
// one made of it, the same in each later request.
func (c *CallIDs) New(id string) string {
	wire := id
	for n := 0; wire == "" || !c.Fits(wire) || c.taken[wire]; n++ {
		hash := sha256.Sum256([]byte(strconv.Itoa(n) + " " + id))
		wire = "call_" + hex.EncodeToString(hash[:12])
	}
	c.Own(id, wire)
	return wire
}

// Of is the name of the call that a result answers: the latest of that id.
func (c *CallIDs) Of(id string) string {
	if wire, ok := c.wire[id]; ok {
		return wire
	}
	return c.New(id)
}

// NoArguments reports whether the text of a call's arguments stands for none: it is empty, or the word null, which some
// hosts write for a tool without parameters.
func NoArguments(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || text == "null"
}
