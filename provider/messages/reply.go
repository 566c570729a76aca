package messages

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// reply is the state of one answer.
type reply struct {
	*exchange.Answer

	api     *API
	origin  provider.Origin
	next    int              // our number of the next block
	parts   []*part          // all blocks, in order of their start
	blocks  map[int64]*part  // the latest at each of the vendor's indexes
	stencil exchange.Stencil // of the delta before, which grew this part:
	grown   *part
	begun   bool // message_start came
	opaque  bool // see [provider.Request]
	usage   usage
	stop    provider.Stop
}

// Reply begins to read an answer. The account is the organization that the answer names.
func (c *call) Reply(a *exchange.Answer) exchange.Reply {
	r := &reply{Answer: a, api: c.api, blocks: map[int64]*part{}, origin: a.Origin(c.req.Model.ID), stop: a.Stop(c.req.Model.ID), opaque: c.req.Opaque}
	r.origin.Account = cmp.Or(a.Header().Get("anthropic-organization-id"), r.origin.Account)
	return r
}

// part is a block of the answer while it comes.
type part struct {
	kind     string                     // the vendor's `type`
	members  map[string]json.RawMessage // of content_block as it started
	implied  bool                       // deltas came, its start did not
	begun    bool                       // Begin was sent, and number is set
	number   int
	ended    bool
	since    time.Time       // of its start; zero: the answer came whole
	text     exchange.Growth // of text, thinking, and the JSON of a tool's input
	grown    map[string]*exchange.Growth
	cited    []json.RawMessage
	sig      string
	estimate int  // tokens
	shown    bool // of a call: a piece of its input was shown
}
