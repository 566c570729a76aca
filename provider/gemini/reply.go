package gemini

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// reply is the state of one answer, over all requests that it takes.
type reply struct {
	*exchange.Answer

	api    *API
	call   *call
	origin provider.Origin
	next   int  // our number of the next block
	run    *run // the parts that a block is being made of; nil: none
	calls  int
	said   bool // text was shown

	grounding gjson.Result        // the last groundingMetadata: of the text that ends next
	texts     []said              // those that have ended
	linked    []provider.Citation // images that are only addresses
	served    served

	stencil exchange.Stencil // of the chunk before, which was nothing but text of this kind:
	kind    provider.BlockKind
	latest  []byte // the last chunk that the stencil knew: its usage is not yet reported

	hops  hops
	end   ending
	usage usage
	stop  provider.Stop
}

// Reply begins to read an answer.
func (c *call) Reply(a *exchange.Answer) exchange.Reply {
	return &reply{Answer: a, api: c.api, call: c, origin: a.Origin(c.req.Model.ID), stop: provider.Stop{Model: c.req.Model.ID}}
}

// run is a sequence of text parts of one kind while it arrives. It becomes one block. Parts with nothing but text are joined. A part
// that is signed, or has any other member, stays separate (docs: thought-signatures).
type run struct {
	kind   provider.BlockKind // text or thinking
	begun  bool               // Begin was sent, and number is set
	number int
	since  time.Time         // of its start; zero: the answer came whole
	text   strings.Builder   // of the whole run
	parts  []json.RawMessage // those that are closed
	plain  strings.Builder   // of the part that is still growing
	own    bool              // a part says more than its text
	signed bool
}

// said is a text that has ended, with its sources.
type said struct {
	number int // of its block
	text   string
	cited  []provider.Citation
	late   bool // some of these came after its end
}

// caughtUp reports the usage of the last chunk that was not decoded: each report is of all so far.
func (r *reply) caughtUp() {
	if len(r.latest) > 0 {
		r.usage.report(gjson.GetBytes(r.latest, "usageMetadata"))
		r.latest = r.latest[:0]
	}
}
