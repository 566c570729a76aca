package chat

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/replay"
)

// echo puts a message's thinking back on it, as the dialect wants it.
func (h *history) echo(i int, m provider.Message, out tree, calls bool) {
	rule := h.dialect.Echo
	scope := h.inScope(i, calls)
	var own gathered
	var words []string
	foreign, mine := false, 0
	for _, b := range m.Blocks {
		thought, ok := b.(provider.Thinking)
		switch {
		case !ok:
		case h.ownOf(i, thought.State) && scope:
			own.add(h.dialect, thought.State)
			mine++
		case h.ownOf(i, thought.State):
			h.count.Drop(1, "its host does not take it back")
		case h.own(thought.State): // it is no longer of use to the model that is asked
			foreign = true
			h.drop(thought.State)
		case !scope:
			foreign = true
			replay.ForeignDrop.Count(thought, &h.count)
		case rule.Foreign.Count(thought, &h.count):
			words = append(words, thought.Text)
		default: // of another origin, or cut off before its end
			foreign = true
		}
	}
	if scope && h.ownOf(i, m.State) {
		own.late(h.dialect, m.State)
	}
	for name, value := range h.kept(i, m.State) {
		out[name], h.opaque = value, true
	}
	sent := h.putOpaque(own, out)
	if own.inline != nil && rule.Inline {
		out["content"], sent = h.inlined(m.Blocks), true
	}
	if len(own.parts) > 0 {
		sent = true
		if text, ok := out["content"].(string); ok && text != "" {
			own.parts = append(own.parts, tree{"type": "text", "text": text})
		}
		out["content"] = own.parts
	}
	if h.putText(own, words, out) || sent {
		h.count.Kept += mine
	} else {
		h.count.Drop(mine, "its host does not take it back")
	}
	field := cmp.Or(rule.Field, own.name, "reasoning_content")
	if _, has := out[field]; has || field == "content" {
		return
	}
	if scope && (calls && rule.Empty == echoEmptyString || foreign && rule.Foreign == replay.ForeignEmpty) || h.placeholder {
		h.put(field, "", out)
	}
}

// drop counts thinking of this dialect that is not, or no longer, of use to the model that is asked.
func (h *history) drop(s provider.State) {
	if !h.bound(s.Origin) {
		h.count.Drop(1, "a model of one maker does not take that of another")
	} else {
		h.count.Drop(1, provider.WhyRepair)
	}
}

// ownOf reports whether a state of message i goes back as it came: of this dialect, of use to the model, and not given
// up by a repair.
func (h *history) ownOf(i int, s provider.State) bool {
	if !h.own(s) || !h.bound(s.Origin) {
		return false
	}
	form := h.dialect.Response
	kept := gjson.ParseBytes(s.Data)
	sealed := form.DetailsField != "" && kept.Get(form.DetailsField).Exists() ||
		form.OpaqueField != "" && kept.Get(form.OpaqueField).Exists()
	return !(sealed && h.strip && i < h.lastUser)
}

func (h *history) put(field, text string, out tree) {
	out[field] = text
	for _, name := range h.dialect.Echo.Also {
		out[name] = text
	}
}

// inScope reports whether thinking of message i goes back at all.
func (h *history) inScope(i int, calls bool) bool {
	switch h.dialect.Echo.Scope {
	case echoToolLoop:
		return i > h.lastUser
	case echoCallTurns:
		return calls
	}
	return h.dialect.Echo.Scope == echoAllTurns
}

// gathered is what a message's own thinking left, block by block.
type gathered struct {
	name    string   // that the text came under, the last one if they differ
	texts   []string // of thinking
	parts   []any    // of a content array
	inline  []string // what stood between tags, raw
	details []json.RawMessage
	listed  bool            // details came, even as an empty array
	opaque  json.RawMessage // the last
}

// add takes in the members that a block kept.
func (g *gathered) add(d *Dialect, s provider.State) {
	gjson.ParseBytes(s.Data).ForEach(func(key, value gjson.Result) bool {
		switch name := key.Str; {
		case name == d.Response.DetailsField && d.Response.DetailsField != "":
			g.listed = true
			for _, e := range value.Array() {
				g.details = append(g.details, json.RawMessage(e.Raw))
			}
		case name == d.Response.OpaqueField && d.Response.OpaqueField != "":
			g.opaque = json.RawMessage(value.Raw)
		case slices.Contains(d.Response.MessageFields, name): // see kept
		case name == "content" && value.IsArray():
			for _, p := range value.Array() {
				g.parts = append(g.parts, json.RawMessage(p.Raw))
			}
		case name == "content":
			g.inline = append(g.inline, value.Str)
		case value.Type == gjson.String:
			g.name = name
			g.texts = append(g.texts, value.Str)
		}
		return true
	})
}

// kept is the members of a message that belong to no block and go back. They count as opaque: StripOpaque leaves them
// out.
func (h *history) kept(i int, s provider.State) map[string]json.RawMessage {
	if !h.own(s) || !h.bound(s.Origin) || h.strip && i < h.lastUser {
		return nil
	}
	members := map[string]json.RawMessage{}
	for _, name := range h.dialect.Response.MessageFields {
		if v := gjson.GetBytes(s.Data, name); v.Exists() {
			members[name] = json.RawMessage(v.Raw)
		}
	}
	return members
}

// late takes in what came after the blocks had ended: it is whole, and counts in their place.
func (g *gathered) late(d *Dialect, s provider.State) {
	var whole gathered
	whole.add(d, s)
	if whole.listed {
		g.details, g.listed = whole.details, true
	}
	if whole.opaque != nil {
		g.opaque = whole.opaque
	}
}

// inlined is the text of a message with the thinking in it where it was.
func (h *history) inlined(blocks provider.Blocks) string {
	var b strings.Builder
	for _, block := range blocks {
		switch block := block.(type) {
		case provider.Text:
			b.WriteString(block.Text)
		case provider.Thinking:
			if h.own(block.State) {
				b.WriteString(gjson.GetBytes(block.State.Data, "content").Str)
			}
		}
	}
	return b.String()
}

// putOpaque puts details and opaque data on the message.
func (h *history) putOpaque(g gathered, out tree) (sent bool) {
	if g.opaque != nil {
		out[h.dialect.Response.OpaqueField] = g.opaque
		h.opaque, sent = true, true
	}
	var details []json.RawMessage
	for _, e := range g.details {
		if h.sendable(gjson.ParseBytes(e)) {
			details = append(details, e)
			h.opaque = true
		}
	}
	switch {
	case len(details) > 0:
		out[h.dialect.Response.DetailsField] = details
		sent = true
	case g.listed && len(g.details) == 0 && h.dialect.Echo.Empty == echoEmptyArray:
		out[h.dialect.Response.DetailsField] = []json.RawMessage{}
	}
	return sent
}

// sendable leaves out details that are refused: text without the signature that its vendor wants, and an item that was
// sent before (docs: openrouter.ai, reasoning-tokens).
func (h *history) sendable(e gjson.Result) bool {
	format := e.Get("format").Str
	signed := strings.HasPrefix(format, "anthropic") || strings.HasPrefix(format, "google-gemini")
	if signed && e.Get("type").Str == "reasoning.text" && e.Get("signature").Str == "" {
		return false
	}
	id := e.Get("id").Str
	if id == "" || e.Get("type").Str == "reasoning.text" { // such ids count from one in each answer
		return true
	}
	key := id + " " + e.Get("type").Str + " " + e.Get("index").Raw // one item has a summary and a ciphertext
	if h.details[key] {
		return false
	}
	h.details[key] = true
	return true
}

// putText puts thinking back as text: under the dialect's name, or the one that it came under. Where details carry it,
// it would only be said twice, and where they had no signature it is worth nothing. Copilot takes text together with
// its opaque data only (thinkingUtils.ts).
func (h *history) putText(g gathered, words []string, out tree) (sent bool) {
	field := h.dialect.Echo.Field
	texts := slices.Concat(g.texts, words)
	switch {
	case field == "content", len(texts) == 0:
		return false
	case field == "" && g.name != "":
		field = g.name
	case field == "", len(g.details) > 0, h.dialect.Response.OpaqueField != "" && g.opaque == nil:
		return false
	}
	h.put(field, strings.Join(texts, ""), out)
	return true
}

// bound reports whether opaque data of that origin is of use to the model that is asked.
func (h *history) bound(o provider.Origin) bool {
	return !h.dialect.Echo.Family || family(o.Model) == family(h.model)
}

// family is the first word of a model's id: its maker on a host of many makers, else its line.
func family(model string) string {
	model = strings.ToLower(model)
	if n := strings.IndexFunc(model, func(r rune) bool { return r < 'a' || r > 'z' }); n >= 0 {
		return model[:n]
	}
	return model
}

// history turns our messages into the host's, and counts the earlier thinking that is kept, converted and dropped.
type history struct {
	dialect     *Dialect
	model       string
	placeholder bool // PlaceholderReasoning is in effect
	strip       bool // StripOpaque is in effect
	closed      bool // the tool loop that the request ends in was closed behind another model's calls
	lastUser    int  // the last message in which a user speaks, -1 if there is none

	count     provider.Conversion
	opaque    bool            // opaque data is in it
	details   map[string]bool // ids of details sent so far: a second one is refused
	images    bool
	row       provider.Model
	unseen    replay.Unseen // media that were left out
	elsewhere int           // results of vendors' tools, as text
	calls     replay.CallIDs
	who       string // made the request, in the words of Copilot
}

// speaks reports whether a block of a user's message is the user's own, not a tool's.
func speaks(b provider.Block) bool { return provider.KindOf(b) != provider.KindToolResult }

// own reports whether a state came by this dialect. Host, account and model may differ: what is bound to a model says
// so by its own rule.
func (h *history) own(s provider.State) bool {
	return replay.Own(s, provider.Origin{API: wireAPI, Vendor: h.dialect.ID})
}
