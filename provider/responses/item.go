package responses

import (
	"cmp"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

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
	begun  bool   // Begin was told, and number is set
	number int
	since  time.Time
	text   exchange.Growth
	cited  []gjson.Result // annotations of a text
	ended  bool
	late   bool // annotations came after its end
	secret bool // a call's arguments that are not shown before their end
}

func (it *item) isCall() bool { return it.kind == "function_call" || it.kind == "custom_tool_call" }

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

func (r *reply) open(index int64, kind string) *item {
	it := &item{index: index, kind: kind}
	if !r.Whole {
		it.since = time.Now()
	}
	r.items = append(r.items, it)
	r.at[index] = it
	return it
}

// learn notes what identifies an item. A call that was begun keeps what it began with.
func (it *item) learn(object gjson.Result) {
	it.id = cmp.Or(it.id, object.Get("id").Str)
	it.callID = cmp.Or(it.callID, object.Get("call_id").Str)
	it.name = cmp.Or(it.name, object.Get("name").Str)
}

// added opens an item, or adopts the one that deltas opened before. Another kind at an index that is open is another
// item, whose predecessor never ended.
func (r *reply) added(index int64, object gjson.Result) error {
	kind := object.Get("type").Str
	if kind == "" {
		return r.skipped("an item without a type")
	}
	it := r.at[index]
	switch {
	case it == nil:
		it = r.open(index, kind)
	case it.kind == kind && (!it.sealed || it.id == object.Get("id").Str):
		r.Deviations++ // once more
	default:
		if err := r.abandon(it); err != nil {
			return err
		}
		it = r.open(index, kind)
	}
	if it.sealed {
		return r.Alive()
	}
	it.learn(object)
	if it.isCall() && it.callID != "" && it.name != "" {
		return r.tell(it, r.argument(it))
	}
	return r.Alive()
}

// abandon seals an item whose end did not come.
func (r *reply) abandon(it *item) error {
	if it.sealed {
		return nil
	}
	r.Deviations++
	it.sealed = true
	return r.settle()
}

// done takes in an item as it is at its end, which is how it has to be kept.
func (r *reply) done(index int64, object gjson.Result) error {
	kind := object.Get("type").Str
	if kind == "" {
		return r.skipped("the end of an item without a type")
	}
	it := r.at[index]
	if it != nil && it.sealed && it.kind == kind && it.id == object.Get("id").Str {
		return r.skipped("a second end of an item")
	}
	if it != nil && (it.sealed || it.kind != kind) {
		if err := r.abandon(it); err != nil {
			return err
		}
		it = nil
	}
	if it == nil {
		it = r.open(index, kind)
	}
	it.learn(object)
	it.sealed, it.end = true, object
	return r.settle()
}

// delta grows a part of an item. Where its item never began it is opened now; a part that has ended takes no more.
func (r *reply) delta(data []byte, kind, partKind, indexName string) error {
	at := gjson.GetBytes(data, "output_index")
	index := at.Int()
	if at.Type != gjson.Number {
		index = r.index(gjson.Result{})
	}
	piece := gjson.GetBytes(data, "delta")
	if piece.Type != gjson.String {
		return r.Alive() // the end says all of it
	}
	it := r.at[index]
	switch {
	case it == nil:
		r.Deviations++
		it = r.open(index, kind)
	case it.kind != kind:
		return r.skipped(partKind + " in an item of kind " + it.kind)
	case it.sealed:
		return r.skipped(partKind + " after its item")
	}
	if it.isCall() {
		return r.argue(it, data, piece)
	}
	var of int64
	if indexName != "" {
		of = gjson.GetBytes(data, indexName).Int()
	}
	p := it.last()
	if p == nil || p.kind != partKind || p.index != of {
		if it.part(partKind, of) != nil {
			return r.skipped(partKind + " after its part")
		}
		var err error
		if p, err = r.openPart(it, partKind, of); err != nil {
			return err
		}
	}
	r.likewise(data, piece, it, p)
	return r.show(it, p, p.text.Add(piece))
}

// likewise notes that an event grew this part and did nothing else: so one like it does the same, whatever its number,
// its padding, and what it calls the item.
func (r *reply) likewise(data []byte, piece gjson.Result, it *item, p *shown) {
	if gjson.GetBytes(data, "type").Str == "" {
		return // the name of the event says what it is, and that is not in its data
	}
	r.stencil.Cut(data, []gjson.Result{piece}, gjson.GetBytes(data, "sequence_number"), gjson.GetBytes(data, "obfuscation"), gjson.GetBytes(data, "item_id"))
	r.growing, r.grown = it, p
}

// openPart begins another part. That is the end of the one before it, whose text says all there is of it.
func (r *reply) openPart(it *item, kind string, index int64) (*shown, error) {
	p := &shown{kind: kind, index: index, since: it.since}
	if last := it.last(); last != nil {
		p.since = time.Now()
		if err := r.show(it, last, last.text.Rest("")); err != nil {
			return nil, err
		}
		member := "text"
		if last.kind == "refusal" {
			member = "refusal"
		}
		data, err := exchange.Encode(map[string]string{"type": last.kind, member: last.text.String()})
		if err != nil {
			return nil, err
		}
		if err := r.end(it, last, provider.State{Origin: r.origin, Data: data}, false); err != nil {
			return nil, err
		}
	}
	it.parts = append(it.parts, p)
	r.refused = r.refused || kind == "refusal"
	return p, nil
}

// show tells what is to be shown of a part. A block is begun with its first character.
func (r *reply) show(it *item, p *shown, text string) error {
	if text == "" {
		return r.Alive()
	}
	if err := r.tell(it, p); err != nil {
		return err
	}
	return r.Emit(provider.Delta{Index: p.number, Text: text})
}

// tell begins a block, once.
func (r *reply) tell(it *item, p *shown) error {
	if p.begun {
		return nil
	}
	p.begun, p.number = true, r.next
	r.next++
	var shell provider.Block
	switch it.kind {
	case "message":
		shell = provider.Text{}
	case "reasoning":
		shell = provider.Thinking{Kind: thinkingKind(p.kind)}
	case "function_call", "custom_tool_call":
		shell = provider.ToolCall{ID: it.callID, Name: it.name}
	default:
		shell = provider.Opaque{}
	}
	return r.Emit(provider.Begin{Index: p.number, Block: shell})
}

// thinkingKind says what the text is: models whose weights are open show the thinking itself.
func thinkingKind(part string) provider.ThinkingKind {
	switch part {
	case "summary_text":
		return provider.ThinkingSummary
	case "reasoning_text":
		return provider.ThinkingFull
	}
	return provider.ThinkingOmitted
}

// argument is the one part of a call.
func (r *reply) argument(it *item) *shown {
	if it.last() == nil {
		it.parts = append(it.parts, &shown{kind: "arguments", secret: r.api.host.SealedCalls})
	}
	return it.last()
}

// argue takes in a piece of a call's arguments. It is shown if the call is known by name, and if it can be JSON: some
// hosts send ciphertext here.
func (r *reply) argue(it *item, data []byte, piece gjson.Result) error {
	p := r.argument(it)
	text := p.text.Add(piece)
	start := strings.TrimSpace(p.text.String())
	if it.kind == "function_call" && start != "" && start[0] != '{' {
		p.secret = true
	}
	if p.secret || !p.begun {
		p.secret = true
		return r.Alive()
	}
	if start != "" { // what it begins with is settled
		r.likewise(data, piece, it, p)
	}
	return r.show(it, p, text)
}

// argued notes what the arguments are at their end.
func (r *reply) argued(index int64, final gjson.Result) error {
	if it := r.at[index]; it != nil && it.isCall() && !it.sealed && final.Type == gjson.String {
		it.final = final
	}
	return r.Alive()
}
