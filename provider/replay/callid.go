package replay

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// CallIDs names tool calls on the wire of one request. Calls of one conversation come from several vendors, some of
// which use the same ids again in each answer, or even twice in one, or letters that others refuse. It is for adapters,
// which name the calls and results of a history in their order.
type CallIDs struct {
	Fits func(id string) bool          // whether the API takes an id as it is
	Make func(id string, n int) string // the n-th name for an id that does not fit or is taken; nil: call_ and 24 digits

	wire  map[string]*named // by our id
	open  []*named          // that calls were added to since the results before
	taken map[string]bool   // on the wire
}

// named is what the calls of one id are called on the wire.
type named struct {
	open []string // of calls whose results have not come
	last string   // of the latest result
}

// Own notes a call that goes back under the name that this API gave it.
func (c *CallIDs) Own(id, wire string) {
	if c.wire == nil {
		c.wire, c.taken = map[string]*named{}, map[string]bool{}
	}
	n := c.wire[id]
	if n == nil {
		n = &named{}
		c.wire[id] = n
	}
	n.open, c.open = append(n.open, wire), append(c.open, n)
	c.taken[wire] = true
}

// Taken reports whether a call so far has this name on the wire.
func (c *CallIDs) Taken(wire string) bool { return c.taken[wire] }

// New is the name of a call that this API did not make: its id, if that fits and no call before it has that name, else
// one made of it, the same in each later request.
func (c *CallIDs) New(id string) string {
	wire := id
	for n := 0; wire == "" || !c.Fits(wire) || c.taken[wire]; n++ {
		if c.Make != nil {
			wire = c.Make(id, n)
			continue
		}
		hash := sha256.Sum256([]byte(strconv.Itoa(n) + " " + id))
		wire = "call_" + hex.EncodeToString(hash[:12])
	}
	c.Own(id, wire)
	return wire
}

// Of is the name of the call that a result answers: results of calls with one id come in the order of the calls.
func (c *CallIDs) Of(id string) string {
	n := c.wire[id]
	if n == nil {
		c.New(id)
		n = c.wire[id]
	}
	if len(n.open) > 0 {
		n.last, n.open = n.open[0], n.open[1:]
	}
	return n.last
}

// Answered says that the results of all calls so far have come: a result that follows answers a later call.
func (c *CallIDs) Answered() {
	for _, n := range c.open {
		if len(n.open) > 0 {
			n.last, n.open = n.open[len(n.open)-1], nil
		}
	}
	c.open = nil
}
