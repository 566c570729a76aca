package messages

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// reply is a complete answer before it is sent. The stream and the whole answer are two forms of it.
type reply struct {
	call     *call
	framed   bool   // the stream consists of frames
	served   string // the model that the answer names
	id       string
	blocks   []part
	stop     string
	sequence string // the stop sequence that ended it
	category string // of a refusal
	output   int    // tokens, thinking included
	thought  int    // tokens
}

// part is a block of an answer.
type part struct {
	sim.Part
	pieces    []string // its deltas; an endless part repeats them
	shown     bool     // of thinking: the client gets the text
	cut       bool     // the answer ends inside it
	signature string   // of thinking; the data of redacted thinking
}

// text returns the joined pieces.
func (p *part) text() string { return strings.Join(p.pieces, "") }

// reply makes the answer to a call.
func (c *call) reply(s sim.Sealer, a sim.Answer) *reply {
	seed := c.ask.Seed.With([]byte("reply"))
	r := &reply{call: c, served: cmp.Or(a.Served, c.name), id: "msg_" + seed.String(), category: a.Category}
	parts := a.Parts
	if parts == nil {
		parts = c.opened(a.Compose(c.ask))
	}
	parts = withResults(seed.String(), parts)
	if a.Stop == "pause_turn" {
		// A pause always follows a call of the vendor's own tool: from that, the next request knows what it continues.
		parts = append(parts[:len(parts):len(parts)], sim.Part{Kind: sim.ServerCall, Name: "web_search", Input: json.RawMessage(`{"query":"the simulator"}`)})
	}
	if found := c.found(); found != nil {
		parts = append(found, parts...)
	}
	r.stop = "end_turn"
	if c.edits.due {
		block := []sim.Part{c.compaction(s)}
		if parts = append(block, parts...); c.edits.pauses {
			parts, r.stop = block, "compaction"
		}
	}
	rng := sim.NewRand(seed)
	parts = sim.Cite(parts)
	for i, p := range parts {
		m := part{Part: p}
		switch p.Kind {
		case sim.Call, sim.ServerCall:
			if m.ID == "" {
				m.ID = fmt.Sprintf("%s_%s%d", map[sim.PartKind]string{sim.Call: "toolu", sim.ServerCall: "srvtoolu"}[p.Kind], seed.String(), i)
			}
			if len(p.Input) > 0 && string(p.Input) != "{}" {
				m.pieces = sim.SplitEvery(string(p.Input), 12)
			}
			if p.Kind == sim.Call {
				r.stop = "tool_use"
			}
		case sim.Raw, sim.Redacted:
		default:
			m.pieces = sim.SplitWords(rng, p.Text)
		}
		m.shown = c.thinking.display == "summarized" || c.thinking.display == "updates" && p.Note
		r.blocks = append(r.blocks, m)
	}
	r.stopAtSequence()
	r.limit(a)
	r.sign(s)
	return r
}

// opened makes the answer begin with thinking in manual mode, even if a script requests none. Otherwise the server would
// later refuse its own answer. [docs: extended-thinking]
func (c *call) opened(parts []sim.Part) []sim.Part {
	if c.thinking.kind != "enabled" || c.turns[len(c.turns)-1].has("tool_result") || len(parts) > 0 && parts[0].Kind == sim.Thinking {
		return parts
	}
	return append([]sim.Part{{Kind: sim.Thinking, Text: "Plain enough."}}, parts...)
}

// stopAtSequence ends the answer before the first stop sequence in its text.
func (r *reply) stopAtSequence() {
	for i := range r.blocks {
		b := &r.blocks[i]
		if b.Kind != sim.Text || b.Endless {
			continue
		}
		at := -1
		text := b.text()
		for _, s := range r.call.stops {
			if found := strings.Index(text, s); found >= 0 && (at < 0 || found < at) {
				at, r.sequence = found, s
			}
		}
		if at >= 0 {
			b.pieces = shorten(b.pieces, at)
			r.blocks, r.stop = r.blocks[:i+1], "stop_sequence"
			if at == 0 {
				r.blocks = r.blocks[:i]
			}
			return
		}
	}
}

// shorten keeps the first n bytes of pieces.
func shorten(pieces []string, n int) []string {
	var kept []string
	for _, p := range pieces {
		if n == 0 {
			break
		}
		p = p[:min(n, len(p))]
		n -= len(p)
		kept = append(kept, p)
	}
	return kept
}

// limit ends the answer where max_tokens, the window or a scripted stop does, and counts its tokens.
func (r *reply) limit(a sim.Answer) {
	most, reason := r.call.maxTokens, "max_tokens"
	if room := r.call.model.window - r.call.tokens; room < most {
		most, reason = room, "model_context_window_exceeded"
	}
	pieces := -1 // deltas left until the scripted stop; negative: none
	switch a.Stop {
	case "max_tokens", "model_context_window_exceeded":
		reason = a.Stop
		pieces = sim.Default(a.After, max(1, r.count()/2))
	case "refusal":
		reason = a.Stop
		pieces = sim.Default(a.After, 0)
	case "":
	default:
		r.stop = a.Stop
	}
	if pieces >= 0 {
		r.stop = reason // even if the answer is shorter than that
	}
	if a.Fault.Breaks() {
		pieces = -1 // After is the fault's
	}
	for i := range r.blocks {
		b := &r.blocks[i]
		if pieces == 0 || most <= 0 && !b.Endless {
			r.blocks, r.stop, r.sequence = r.blocks[:i], reason, ""
			return
		}
		factor := 1
		if b.Kind == sim.Thinking {
			factor = sim.ThinkingFactor
		}
		kept, spent := 0, 0
		for _, p := range b.pieces {
			cost := factor * sim.Tokens(p)
			if !b.Endless && spent+cost > most || pieces >= 0 && kept == pieces {
				b.cut = true
				break
			}
			kept, spent = kept+1, spent+cost
		}
		if len(b.pieces) == 0 {
			spent = sim.Tokens(b.Text + string(b.Raw))
		}
		b.pieces = b.pieces[:kept]
		if pieces >= 0 {
			pieces -= kept
		}
		most -= spent
		r.output += spent
		if b.Kind == sim.Thinking || b.Kind == sim.Redacted {
			r.thought += spent
		}
		if b.cut {
			end := i + 1
			if kept == 0 {
				end = i // none of it was sent
			}
			r.blocks, r.stop, r.sequence = r.blocks[:end], reason, ""
			return
		}
	}
}

// count returns the number of deltas of the whole answer.
func (r *reply) count() int {
	n := 0
	for _, b := range r.blocks {
		n += len(b.pieces)
	}
	return n
}

// sign signs the thinking in order, because each block is bound to what precedes it. A block that was cut off gets no
// signature.
func (r *reply) sign(s sim.Sealer) {
	c := r.call
	context := c.context
	ordinal, run := 0, 0
	seen := c.chain.seen(c.reader())
	for i := range r.blocks {
		b := &r.blocks[i]
		if b.Kind != sim.Thinking && b.Kind != sim.Redacted {
			run = 0
			m, ok := r.content(b).(map[string]any)
			if ok && !saysNothing(m) && m["type"] != "thinking" && m["type"] != "redacted_thinking" { // a script may send them as vendor's JSON
				context = context.With([]byte("assistant"), canonicalBlock(m))
			}
			continue
		}
		if b.cut || b.Unsigned || b.Endless {
			continue
		}
		v := sim.Seal{
			Kind: "thinking", Model: c.model.id, Account: c.account, User: c.user, Message: r.id,
			Ordinal: ordinal, Run: run, Shown: b.shown && b.Kind == sim.Thinking,
			Text: strict.DigestOf(b.text()), Tokens: sim.ThinkingFactor * sim.Tokens(b.text()),
		}
		if b.Kind == sim.Redacted {
			v.Kind, v.Text, v.Tokens = "redacted_thinking", strict.DigestOf(b.Text), sim.Tokens(b.Text)
		}
		if c.model.bound {
			v.Context, v.Before, v.Depth = context.String(), seen.last, seen.n
		}
		var id string
		b.signature, id = s.Sign(v)
		seen = view{seen.n + 1, id}
		ordinal++
		run++
	}
}

// content is a block as a whole answer has it.
func (r *reply) content(b *part) any {
	switch b.Kind {
	case sim.Thinking:
		text := ""
		if b.shown {
			text = b.text()
		}
		return map[string]any{"type": "thinking", "thinking": text, "signature": b.signature}
	case sim.Redacted:
		return map[string]any{"type": "redacted_thinking", "data": b.signature}
	case sim.Call, sim.ServerCall:
		var input any = map[string]any{}
		if !b.cut && len(b.Input) > 0 {
			if v, err := strict.Decode(b.Input); err == nil {
				input = v
			} else {
				input = b.text() // a script that wants a call no client can read
			}
		}
		m := map[string]any{"type": "tool_use", "id": b.ID, "name": b.Name, "input": input, "caller": map[string]any{"type": "direct"}}
		if b.Kind == sim.ServerCall {
			m["type"] = "server_tool_use"
			delete(m, "caller")
		}
		return m
	case sim.Raw:
		v, err := strict.Decode(b.Raw)
		if err != nil {
			return string(b.Raw)
		}
		return v
	default:
		m := map[string]any{"type": "text", "text": b.text()}
		if b.Pages != nil {
			m["citations"] = citations(b.Pages)
		}
		return m
	}
}

// usage returns the usage object at the end of the answer.
func (r *reply) usage() map[string]any {
	u := r.inputUsage()
	u["output_tokens"] = r.output
	u["server_tool_use"] = map[string]any{"web_search_requests": r.searches(), "web_fetch_requests": 0}
	u["output_tokens_details"] = map[string]any{"thinking_tokens": r.thought}
	if r.call.edits.due { // no other count includes its tokens [SDK: BetaUsage.iterations]
		u["iterations"] = []any{
			map[string]any{"type": "compaction", "input_tokens": r.call.tokens, "output_tokens": r.call.edits.summed,
				"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "cache_creation": nil},
			map[string]any{"type": "message", "input_tokens": u["input_tokens"], "output_tokens": r.output,
				"cache_creation_input_tokens": u["cache_creation_input_tokens"], "cache_read_input_tokens": u["cache_read_input_tokens"], "cache_creation": nil},
		}
	}
	return u
}

func (r *reply) inputUsage() map[string]any {
	n := r.call.cached
	return map[string]any{"input_tokens": r.call.tokens - n.Read - n.Written,
		"cache_creation_input_tokens": n.Written, "cache_read_input_tokens": n.Read}
}

// message returns the message object of an answer. A stream begins with it, without content.
func (r *reply) message(content []any, usage map[string]any) map[string]any {
	usage["cache_creation"] = map[string]any{"ephemeral_5m_input_tokens": r.call.cached.Written, "ephemeral_1h_input_tokens": 0}
	usage["service_tier"] = "standard"
	usage["inference_geo"] = "not_available"
	m := map[string]any{
		"id": r.id, "type": "message", "role": "assistant", "model": r.served, "content": content,
		"stop_reason": nil, "stop_sequence": nil, "stop_details": nil, "usage": usage,
	}
	if r.call.betas[betaBinding] && len(r.call.dropped) > 0 {
		m["input_transformations"] = r.call.dropped
	}
	return m
}

// ending returns the members that say why the answer ended.
func (r *reply) ending() map[string]any {
	m := map[string]any{"stop_reason": r.stop, "stop_sequence": nil, "stop_details": nil}
	if r.sequence != "" {
		m["stop_sequence"] = r.sequence
	}
	if r.stop == "refusal" {
		details := map[string]any{"type": "refusal", "category": nil, "explanation": nil}
		if r.category != "" {
			details["category"] = r.category
		}
		m["stop_details"] = details
	}
	return m
}

// citations returns pages in the form of Messages. [docs: web-search-tool]
func citations(pages []sim.Page) (list []any) {
	for _, page := range pages {
		list = append(list, map[string]any{"type": "web_search_result_location", "url": page.URL, "title": page.Title, "cited_text": page.Quote, "encrypted_index": "sim"})
	}
	return list
}

// searches is the number of searches in an answer. [SDK: ServerToolUsage]
func (r *reply) searches() (n int) {
	for _, b := range r.blocks {
		if b.Kind == sim.ServerCall && b.Name == "web_search" {
			n++
		}
	}
	return n
}
