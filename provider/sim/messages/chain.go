package messages

import (
	"github.com/thinkd/thinkd/provider/sim"
)

// chain holds the seals of a conversation's thinking blocks, in order. A reader sees only the blocks that its model can
// read. add updates the view of each reader, so that a long conversation takes linear time.
type chain struct {
	blocks []link
	views  map[reader]*view
}

type link struct {
	id     string
	writer *model
	sim.Seal
}

// reader identifies a view: what a model sees of a chain depends on the account and the end user too.
type reader struct{ model, account, user string }

// view is the number of blocks that a reader sees, and the id of the last one.
type view struct {
	n    int
	last string
}

// visible reports whether a reader sees a block. [docs: preserved-thinking]
func (r reader) visible(l link) bool {
	m, _ := modelBy(r.model)
	return m != nil && m.reads(l.writer) && r.owns(l)
}

// owns reports whether the account and the end user are those of the block, for models that bind their blocks to them.
func (r reader) owns(l link) bool {
	return !l.writer.personal || l.Account == r.account && l.User == r.user
}

func (c *chain) add(l link) {
	c.blocks = append(c.blocks, l)
	for r, v := range c.views {
		if r.visible(l) {
			v.n++
			v.last = l.id
		}
	}
}

// seen returns a reader's view of the blocks that were added so far.
func (c *chain) seen(r reader) view {
	if v := c.views[r]; v != nil {
		return *v
	}
	v := &view{}
	for _, l := range c.blocks {
		if r.visible(l) {
			v.n++
			v.last = l.id
		}
	}
	if c.views == nil {
		c.views = map[reader]*view{}
	}
	c.views[r] = v
	return *v
}

// transformation is one entry of input_transformations.
type transformation struct {
	Type   string `json:"type"`
	Path   string `json:"path"`
	Reason string `json:"reason"`
}
