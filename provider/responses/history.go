package responses

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/replay"
)

func (a *API) newHistory(req *provider.Request) *history {
	h := &history{
		origin:     provider.Origin{API: wireAPI, Vendor: a.caller.Vendor, Host: a.caller.Host, Account: a.caller.Account, Model: req.Model.ID},
		modelBound: a.host.ModelBound,
		inPlace:    a.inPlace(req), effort: func(l provider.Level) string { return nearest(string(l), req) },
		calls: replay.CallIDs{Fits: fits}, custom: map[string]bool{},
		input: []any{},
	}
	list, foreign := replay.ServerTools(req.Messages, func(s provider.State) bool { return replay.Own(s, h.origin) })
	h.elsewhere = foreign
	h.list, h.unseen = replay.Visible(replay.OwnMedia(list, wireAPI), exchange.Row(req, wireAPI), mediaForms()...)
	h.count.Media = h.unseen.Count()
	n := 0
	for _, m := range req.Messages {
		for _, b := range m.Blocks {
			item, ok := h.own(provider.StateOf(b))
			if !ok || isPart(item) {
				continue
			}
			if n++; slices.Contains(req.Repairs, repairUpTo(nameOf(item))) {
				h.bare = n
			}
		}
	}
	return h
}

// own is the item that a state holds, if it may go back: encrypted content is bound to the account and the host, and
// ids mean something there alone (docs: reasoning). One host may stand in front of several vendors.
func (h *history) own(s provider.State) (gjson.Result, bool) {
	return gjson.ParseBytes(s.Data), replay.Own(s, h.origin)
}

func isPart(item gjson.Result) bool { return itemOf(item.Get("type").Str) != "" }

// itemOf is the kind of item that a kind of part belongs to.
func itemOf(part string) string {
	switch part {
	case "summary_text", "reasoning_text":
		return "reasoning"
	case "output_text", "refusal":
		return "message"
	}
	return ""
}

// nameOf is what an item is known by: its id, or what else no other item has.
func nameOf(item gjson.Result) string {
	for _, member := range []string{"id", "call_id", "encrypted_content"} {
		if name := item.Get(member).Str; name != "" {
			hash := sha256.Sum256([]byte(name))
			return hex.EncodeToString(hash[:8])
		}
	}
	return ""
}

func (h *history) messages() error {
	for i, m := range h.list {
		var err error
		if m.Role == provider.Assistant {
			err = h.assistant(m.Blocks)
		} else {
			before := len(h.input)
			err = h.user(m.Blocks)
			if h.inPlace && m.Effort != "" && len(h.input) > before {
				h.input = slices.Insert(h.input, before, any(effortChange(h.effort(m.Effort))))
				h.changes++
			}
		}
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	return nil
}

// entry is a block of an answer on its way back, or an item with all of its blocks.
type entry struct {
	block  provider.Block
	item   gjson.Result // the vendor's; the zero value: it does not go back
	kind   string       // of the item
	blocks int
	keep   bool   // reasoning that goes back
	why    string // it does not
	bare   bool   // goes without its id
}

func (h *history) assistant(blocks provider.Blocks) error {
	entries := h.entries(blocks)
	units(entries)
	for _, e := range entries {
		if err := h.write(e); err != nil {
			return err
		}
	}
	return nil
}

// entries joins the blocks of an item. Thinking that does not go back is counted and gone. Parts whose item never came
// stand for themselves: text is text, thinking was not sealed.
func (h *history) entries(blocks provider.Blocks) []entry {
	var all []entry
	var parts []provider.Block
	loose := func() {
		for _, b := range parts {
			if text, ok := b.(provider.Text); ok {
				all = append(all, entry{block: text})
			} else {
				h.count.Drop(1, provider.WhyUnsealed)
			}
		}
		parts = nil
	}
	for _, b := range blocks {
		item, own := h.own(provider.StateOf(b))
		kind := item.Get("type").Str
		if own && isPart(item) {
			if len(parts) > 0 && itemOf(kind) != itemOf(gjson.ParseBytes(provider.StateOf(parts[0]).Data).Get("type").Str) {
				loose()
			}
			parts = append(parts, b)
			continue
		}
		e := entry{block: b, blocks: 1}
		if len(parts) > 0 && own && kind == itemOf(gjson.ParseBytes(provider.StateOf(parts[0]).Data).Get("type").Str) {
			e.blocks, parts = 1+len(parts), nil
		}
		loose()
		if own {
			e.item, e.kind = item, kind
			h.seen++
			e.bare = h.seen <= h.bare
		}
		if thinking, thought := b.(provider.Thinking); thought {
			if !own {
				h.foreign(thinking)
				continue
			}
			switch {
			case e.bare:
				e.why = provider.WhyRepair
			case !h.sealed(b, item):
				e.why = "it is of use to the model that made it alone"
			}
			e.keep = e.why == ""
		}
		all = append(all, e)
	}
	loose()
	return all
}

// foreign counts thinking that is not of this host and account.
func (h *history) foreign(b provider.Thinking) {
	if s := b.State; s.Origin.API == wireAPI && s.Origin.Vendor == h.origin.Vendor {
		h.count.Drop(1, "it is bound to another host or account")
		return
	}
	replay.ForeignDrop.Count(b, &h.count)
}

// sealed reports whether a reasoning item holds what its host can go on from: nothing is stored there, so an id alone
// means nothing. Open models have no encrypted content: they give the text itself, and take back their own.
func (h *history) sealed(b provider.Block, item gjson.Result) bool {
	same := provider.StateOf(b).Origin.Model == h.origin.Model
	if item.Get("encrypted_content").Str != "" {
		return same || !h.modelBound
	}
	return same && len(item.Get("content").Array()) > 0
}

// units keeps reasoning only with what follows it, and takes the ids off what follows reasoning that is not kept: the
// vendor refuses the one without the other (docs: reasoning). An interrupted answer has no follower.
func units(entries []entry) {
	for i := 0; i < len(entries); {
		if entries[i].kind != "reasoning" {
			i++
			continue
		}
		next, keep := i, true
		for ; next < len(entries) && entries[next].kind == "reasoning"; next++ {
			keep = keep && entries[next].keep
		}
		keep = keep && next < len(entries) && entries[next].item.Exists()
		for k := i; k < next; k++ {
			entries[k].keep = keep
			if entries[k].why == "" {
				entries[k].why = "what it led to is not there"
			}
		}
		for k := next; k < len(entries) && entries[k].kind != "reasoning" && !keep; k++ {
			entries[k].bare = true
		}
		i = next
	}
}

func (h *history) write(e entry) error {
	raw := e.item.Exists() && !e.bare
	if raw && e.kind != "reasoning" {
		h.last = nameOf(e.item)
	}
	switch b := e.block.(type) {
	case provider.Thinking:
		if !e.keep {
			h.count.Drop(e.blocks, e.why)
			return nil
		}
		h.count.Kept += e.blocks
		raw := e.item.Raw
		if !e.item.Get("summary").Exists() { // some hosts leave it out of answers, and none takes an item without it
			raw = `{"summary":[],` + strings.TrimPrefix(raw, "{")
		}
		h.input = append(h.input, json.RawMessage(raw))
	case provider.Opaque:
		if raw { // without its reasoning it stays out as well: nobody but the vendor could miss it
			h.input = append(h.input, json.RawMessage(e.item.Raw))
		}
	case provider.ServerTool: // without its reasoning it is refused, so the result is sent as text
		if raw {
			h.input = append(h.input, json.RawMessage(e.item.Raw))
		} else {
			h.input = append(h.input, message{"message", "assistant", []part{{Type: "output_text", Text: b.Plain(b.Input)}}})
		}
	case provider.Text:
		switch {
		case raw:
			h.input = append(h.input, json.RawMessage(e.item.Raw))
		case e.item.Exists():
			return h.stripped(e.item)
		case !provider.Blank(b.Text):
			h.input = append(h.input, message{"message", "assistant", []part{{Type: "output_text", Text: b.Text}}})
		}
	case provider.ToolCall:
		return h.call(b, e, raw)
	case provider.Media:
		h.input = append(h.input, message{"message", "assistant", []part{{Type: "output_text", Text: "(here was " + b.Type + ")"}}})
	default:
		return fmt.Errorf("%s: no form for it in an answer", provider.KindOf(b))
	}
	return nil
}

// stripped writes an item without its id, and without the status that only goes with one.
func (h *history) stripped(item gjson.Result) error {
	members := map[string]json.RawMessage{}
	item.ForEach(func(name, value gjson.Result) bool {
		if name.Str != "id" && name.Str != "status" {
			members[name.Str] = json.RawMessage(value.Raw)
		}
		return true
	})
	data, err := exchange.Encode(members)
	h.input = append(h.input, data)
	return err
}

func (h *history) call(b provider.ToolCall, e entry, raw bool) error {
	if e.item.Exists() {
		return h.ownCall(b, e, raw)
	}
	arguments := "{}"
	switch {
	case b.Invalid != "":
		arguments = b.Invalid
	case len(b.Input) > 0: // spelt the same before and after it was in a log
		var compact bytes.Buffer
		if err := json.Compact(&compact, b.Input); err != nil {
			return fmt.Errorf("arguments of %s: %w", b.ID, err)
		}
		arguments = compact.String()
	}
	h.input = append(h.input, functionCall{"function_call", h.calls.New(b.ID), replay.ToolName(b.Name), arguments})
	return nil
}

// ownCall writes a call as the vendor wrote it, except for a name that the vendor itself refuses in a history, and an id that
// another call has.
func (h *history) ownCall(b provider.ToolCall, e entry, raw bool) error {
	id, name := e.item.Get("call_id").Str, e.item.Get("name").Str
	if id != "" && fits(id) && !h.calls.Taken(id) {
		h.calls.Own(b.ID, id)
	} else {
		id = h.calls.New(b.ID)
	}
	h.custom[id] = e.kind == "custom_tool_call"
	item := e.item
	if fit := replay.ToolName(name); fit != name || id != item.Get("call_id").Str {
		renamed, err := exchange.WithMembers(json.RawMessage(item.Raw), map[string]any{"call_id": id, "name": fit})
		if err != nil {
			return err
		}
		item = gjson.ParseBytes(renamed)
	}
	if raw {
		h.input = append(h.input, json.RawMessage(item.Raw))
		return nil
	}
	return h.stripped(item)
}

// longestID is what the API takes as call_id, in characters.
const longestID = 64

func fits(id string) bool { return len(id) <= longestID }
