package responses

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// reply is the state of one answer.
type reply struct {
	*exchange.Answer

	api     *API
	model   string // that was asked for
	origin  provider.Origin
	next    int              // our number of the next block
	items   []*item          // all of them, in order of their start
	at      map[int64]*item  // the latest at each output_index
	settled int              // so many items were ended
	stencil exchange.Stencil // of the delta before, which grew this part of this item:
	growing *item
	grown   *shown
	called  bool // a tool call was sealed
	refused bool // the model refused, in its own words
	opaque  bool // see [provider.Request]
	stop    provider.Stop
}

// Reply begins to read an answer.
func (c *call) Reply(a *exchange.Answer) exchange.Reply {
	return &reply{Answer: a, api: c.api, model: c.model, at: map[int64]*item{}, origin: a.Origin(c.model), stop: a.Stop(c.model), opaque: c.opaque}
}

// item is an item of the answer while it comes.
type item struct {
	index  int64
	kind   string // the vendor's `type`
	id     string // as it began; some hosts change it with each event
	since  time.Time
	sealed bool         // nothing more is taken in
	end    gjson.Result // the item at its end; no value: that did not come
	parts  []*shown     // in order of their start; all but the last have ended

	callID, name string       // of a call
	final        gjson.Result // a call's arguments, as their end says them
}

// shown is a part of an item: what people see as one block.
type shown struct {
	kind   string // summary_text, reasoning_text, output_text, refusal; arguments, input
	index  int64  // its own, among its kind
	begun  bool   // Begin was sent, and number is set
	number int
	since  time.Time
	text   exchange.Growth
	cited  []gjson.Result // annotations of a text
	ended  bool
	late   bool // annotations came after its end
	secret bool // a call's arguments that are not shown before their end
}

func (it *item) isCall() bool { return it.kind == "function_call" || it.kind == "custom_tool_call" }

// served names the tools of the vendor by the kind of their items. Items of its other tools are opaque.
var served = map[string]string{"web_search_call": "web_search", "code_interpreter_call": "code_execution"}

// isServed reports whether the vendor runs what the item says. Such an item has the call and its result.
func (it *item) isServed() bool { return served[it.kind] != "" }

func (it *item) last() *shown {
	if len(it.parts) == 0 {
		return nil
	}
	return it.parts[len(it.parts)-1]
}

func (it *item) part(kind string, index int64) *shown {
	for _, p := range it.parts {
		if p.kind == kind && p.index == index {
			return p
		}
	}
	return nil
}

// learn notes what identifies an item. A call that was begun keeps what it began with.
func (it *item) learn(object gjson.Result) {
	it.id = cmp.Or(it.id, object.Get("id").Str)
	it.callID = cmp.Or(it.callID, object.Get("call_id").Str)
	it.name = cmp.Or(it.name, object.Get("name").Str)
}

// index is where an event's item stands. Where nothing is said it is the item that was begun last.
func (r *reply) index(data gjson.Result) int64 {
	if at := data.Get("output_index"); at.Type == gjson.Number {
		return at.Int()
	}
	if n := len(r.items); n > 0 {
		return r.items[n-1].index
	}
	return 0
}

// skipped notes an event that the API does not foresee. Events of tools that the vendor runs are foreseen, and say nothing that their
// item does not.
func (r *reply) skipped(what string) error {
	hosted := []string{"_call.", "_call_code.", "_call_command.", "_call_output", "annotation.", "mcp_", "image_generation", "compaction"}
	if slices.ContainsFunc(hosted, func(word string) bool { return strings.Contains(what, word) }) {
		return r.Alive()
	}
	return r.Deviation(what)
}

// named notes which model answers. Where that is the name of a machine, the origin keeps the one that was asked for.
// The error is that of Served.
func (r *reply) named(response gjson.Result) error {
	model := response.Get("model").Str
	if model == "" {
		return nil
	}
	r.stop.Model = model
	if !r.api.host.ModelBound {
		r.origin.Model = model
	}
	return r.Served(model, "")
}
