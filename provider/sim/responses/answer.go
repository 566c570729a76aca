package responses

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// reply is a complete answer, before it is sent as a stream or whole.
type reply struct {
	call    *call
	served  string // the model that the answer names
	seed    strict.Digest
	items   []output
	reason  string // why it is incomplete; empty: it is completed
	output  int    // tokens, reasoning included
	thought int    // tokens
}

// output is an item of an answer.
type output struct {
	kind    string // reasoning, message, function_call, web_search_call, code_interpreter_call, raw
	id      string
	parts   [][]string // the pieces of each part of a summary, of open reasoning, of a text or of arguments
	name    string
	callID  string
	input   json.RawMessage // of a tool that the vendor runs
	phase   string
	refusal bool
	endless bool
	open    bool // leave out what binds it to its answer
	pages   []sim.Page
	hidden  int  // tokens of hidden reasoning
	cut     bool // the answer ends inside it
	raw     json.RawMessage
	sealed  [2]string // encrypted content, at the item's end and in the last event
}

func (o *output) text(part int) string { return strings.Join(o.parts[part], "") }

// reply returns the answer to a call.
func (c *call) reply(s sim.Sealer, a sim.Answer) *reply {
	r := &reply{call: c, served: cmp.Or(a.Served, c.name), seed: c.ask.Seed.With([]byte("reply"))}
	parts := a.Parts
	if parts == nil {
		parts = a.Compose(c.ask)
	}
	if c.due {
		parts = append([]sim.Part{c.compaction(s, r.seed)}, parts...)
	}
	rng := sim.NewRand(r.seed)
	parts = sim.Cite(parts)
	for i, p := range parts {
		switch p.Kind {
		case sim.Thinking, sim.Redacted:
			r.think(p, i > 0 && parts[i-1].Kind == sim.Thinking, sim.SplitWords(rng, p.Text))
		case sim.Call:
			o := output{kind: "function_call", name: p.Name, callID: p.ID}
			if o.callID == "" {
				o.callID = fmt.Sprintf("call_%s%d", r.seed, i)
			}
			o.parts = [][]string{sim.SplitEvery(string(p.Input), 12)}
			if len(p.Input) == 0 {
				o.parts = [][]string{{"{}"}}
			}
			r.items = append(r.items, o)
		case sim.ServerCall:
			r.items = append(r.items, output{kind: servedKind(p.Name), input: p.Input})
		case sim.Raw:
			r.items = append(r.items, output{kind: "raw", raw: p.Raw})
		default:
			r.items = append(r.items, output{kind: "message", parts: [][]string{sim.SplitWords(rng, p.Text)}, endless: p.Endless, pages: p.Pages})
		}
	}
	r.limit(a)
	if a.Stop == "refusal" {
		r.items = append(r.items, output{kind: "message", refusal: true, parts: [][]string{sim.SplitWords(rng, "I'm sorry, but I cannot help with that.")}})
	}
	r.name()
	r.seal(s)
	return r
}

// think adds reasoning. Thinking without other content in between is one item, and its paragraphs are the parts of its summary.
func (r *reply) think(p sim.Part, goesOn bool, pieces []string) {
	shown := (r.call.summary || r.call.model.open) && p.Kind == sim.Thinking
	if !goesOn || p.Kind == sim.Redacted || p.Unsigned || p.Endless {
		r.items = append(r.items, output{kind: "reasoning", open: p.Unsigned, endless: p.Endless})
	}
	o := &r.items[len(r.items)-1]
	if shown {
		o.parts = append(o.parts, pieces)
		return
	}
	o.hidden += sim.ThinkingFactor * sim.Tokens(p.Text)
}

// limit cuts the answer at max_output_tokens, at the window or at a scripted stop, and counts its tokens.
func (r *reply) limit(a sim.Answer) {
	most := r.call.model.output
	if r.call.maxOutput > 0 {
		most = r.call.maxOutput
	}
	most = min(most, r.call.model.window-r.call.tokens)
	reason, left := "max_output_tokens", -1 // deltas until the scripted stop; negative: none
	switch a.Stop {
	case "max_tokens", "model_context_window_exceeded":
		left = sim.Default(a.After, max(1, r.count()/2))
	case "content_filter":
		reason, left = a.Stop, sim.Default(a.After, 0)
	case "refusal":
		reason, left = "", sim.Default(a.After, 0)
	}
	if a.Fault.Breaks() {
		left = -1 // After belongs to the fault
	}
	if left >= 0 {
		r.reason = reason
	}
	for i := range r.items {
		o := &r.items[i]
		most -= o.hidden
		r.output += o.hidden
		r.thought += o.hidden
		if left == 0 || most < 0 {
			r.items, r.reason = r.items[:i], reason
			return
		}
		for part, pieces := range o.parts {
			for n, piece := range pieces {
				cost := sim.Tokens(piece)
				if o.kind == "reasoning" {
					cost *= sim.ThinkingFactor
				}
				if left == 0 || cost > most && !o.endless {
					o.parts = append(o.parts[:part:part], pieces[:n:n])
					o.cut = reason != "" // before a refusal an item is complete
					r.items, r.reason = r.items[:i+1], reason
					return
				}
				left = max(left-1, -1)
				most -= cost
				r.output += cost
				if o.kind == "reasoning" {
					r.thought += cost
				}
			}
		}
	}
}

// count is the number of deltas of the whole answer.
func (r *reply) count() int {
	n := 0
	for _, o := range r.items {
		for _, pieces := range o.parts {
			n += len(pieces)
		}
	}
	return n
}

// name gives the items their ids, which name the reasoning that led to them, and messages their phase.
func (r *reply) name() {
	led := -1
	for i := range r.items {
		o := &r.items[i]
		mark := "p"
		if led >= 0 {
			mark = fmt.Sprintf("r%02d", led)
		}
		switch {
		case o.kind == "raw":
			continue
		case o.kind == "reasoning":
			led, mark = i, "p"
		}
		if i > 0 && isServed(r.items[i-1].kind) {
			mark += "s"
		}
		o.id = fmt.Sprintf("%s_%s%02d%s", idPrefixes[o.kind], r.seed, i, mark)
		if isServed(o.kind) {
			o.id += "x" + r.call.servedSeal(o.id, r.servedItem(o))
		}
		if r.call.door.copilot {
			o.id = r.rotated(i, "done")
		}
		if o.kind == "message" && r.call.model.phases {
			o.phase = "final_answer"
			if i+1 < len(r.items) {
				o.phase = "commentary"
			}
		}
	}
}

// rotated returns an id in Copilot's form, which is different each time.
func (r *reply) rotated(item int, occasion string) string {
	d := r.seed.With([]byte(occasion), []byte{byte(item)})
	return base64.StdEncoding.EncodeToString(append(d[:], d[:16]...))
}

// seal encrypts the reasoning. It is bound to what the vendor's refusals mention: the id of the item, the account, and the item that
// follows.
func (r *reply) seal(s sim.Sealer) {
	c := r.call
	if c.model.open || !c.sealed {
		return
	}
	for i := range r.items {
		o := &r.items[i]
		if o.kind != "reasoning" || o.cut || o.open || o.endless {
			continue
		}
		v := sim.Seal{Kind: "reasoning", Model: c.model.id, Account: c.door.name + " " + c.account, Message: o.id, Shown: true, Tokens: o.hidden}
		summary := ""
		for part := range o.parts {
			summary += o.text(part) + "\x00"
			v.Tokens += sim.ThinkingFactor * sim.Tokens(o.text(part))
		}
		v.Text = strict.DigestOf(summary)
		if i+1 < len(r.items) {
			v.Before = r.items[i+1].id
		}
		for variant := range o.sealed {
			v.Ordinal = variant
			signature, _ := s.Sign(v)
			o.sealed[variant] = sealedPrefix + signature
		}
	}
}

// item returns an item in its final form.
func (r *reply) item(o *output, variant int) any {
	status := "completed"
	if o.cut {
		status = "incomplete"
	}
	switch o.kind {
	case "raw":
		v, err := strict.Decode(o.raw)
		if err != nil {
			return string(o.raw)
		}
		return v
	case "reasoning":
		m := map[string]any{"id": o.id, "type": "reasoning", "summary": []any{}}
		list := []any{}
		for part := range o.parts {
			kind := "summary_text"
			if r.call.model.open {
				kind = "reasoning_text"
			}
			list = append(list, map[string]any{"type": kind, "text": o.text(part)})
		}
		if r.call.model.open {
			m["content"] = list
		} else {
			m["summary"] = list
		}
		if o.sealed[variant] != "" {
			m["encrypted_content"] = o.sealed[variant]
		}
		return m
	case "function_call":
		return map[string]any{"id": o.id, "type": "function_call", "call_id": o.callID, "name": o.name, "arguments": o.text(0), "status": status}
	case "web_search_call", "code_interpreter_call":
		m := r.servedItem(o)
		m["id"] = o.id
		return m
	}
	part := map[string]any{"type": "output_text", "text": o.text(0), "annotations": annotations(o.pages)}
	if o.refusal {
		part = map[string]any{"type": "refusal", "refusal": o.text(0)}
	}
	m := map[string]any{"id": o.id, "type": "message", "role": "assistant", "status": status, "content": []any{part}}
	if o.phase != "" {
		m["phase"] = o.phase
	}
	return m
}

// usage returns the usage object.
func (r *reply) usage() map[string]any {
	return map[string]any{
		"input_tokens": r.call.tokens, "input_tokens_details": map[string]any{"cached_tokens": r.call.cached.Read, "cache_write_tokens": r.call.cached.Written,
			"cache_write_tokens_details": map[string]any{"ttl_30m_tokens": r.call.cached.Written, "ttl_12h_tokens": 0}},
		"output_tokens": r.output, "output_tokens_details": map[string]any{"reasoning_tokens": r.thought},
		"total_tokens": r.call.tokens + r.output,
	}
}

// response returns the object around the items.
func (r *reply) response(status string, output []any, usage any) map[string]any {
	m := map[string]any{
		"tool_usage": map[string]any{"web_search": map[string]any{"num_requests": r.searches()}},
		"id":         "resp_" + r.seed.String(), "object": "response", "status": status, "model": r.served, "output": output,
		"error": nil, "incomplete_details": nil, "usage": usage, "store": false,
	}
	if len(r.call.removed) > 0 && status != "in_progress" {
		m["input_transformations"] = r.call.removed
	}
	if r.call.door.copilot && r.served == r.call.name {
		m["model"] = "capi-sim-" + r.call.name // the name of a machine
	}
	if status == "incomplete" {
		m["incomplete_details"] = map[string]any{"reason": r.reason}
	}
	return m
}

// final returns the response at its end, without reasoning that was cut off. The plan's backend leaves out all items.
func (r *reply) final(streamed bool) map[string]any {
	output := []any{}
	for i := range r.items {
		o := &r.items[i]
		if streamed && r.call.door.plan || o.kind == "reasoning" && o.cut {
			continue
		}
		variant := 0
		if streamed {
			variant = 1
		}
		output = append(output, r.item(o, variant))
	}
	status := "completed"
	if r.reason != "" {
		status = "incomplete"
	}
	return r.response(status, output, r.usage())
}

// annotations returns the cited pages. [docs: tools-web-search]
func annotations(pages []sim.Page) []any {
	list := []any{}
	for _, page := range pages {
		list = append(list, map[string]any{"type": "url_citation", "url": page.URL, "title": page.Title, "start_index": page.Start, "end_index": page.End})
	}
	return list
}

// servedItem is the item of a tool that the vendor ran, without its id.
func (r *reply) servedItem(o *output) map[string]any {
	var asked map[string]any
	if json.Unmarshal(o.input, &asked) != nil {
		asked = map[string]any{}
	}
	if o.kind == "code_interpreter_call" {
		code, _ := asked["code"].(string)
		m := map[string]any{"type": o.kind, "status": "completed", "code": code, "container_id": "cntr_" + r.seed.String(), "outputs": any(nil)}
		if r.call.outputs {
			m["outputs"] = []any{map[string]any{"type": "logs", "logs": "42\n"}}
		}
		return m
	}
	query, _ := asked["query"].(string)
	if query == "" {
		query = "the simulator"
	}
	action := map[string]any{"type": "search", "query": query, "queries": []any{query}}
	if r.call.sources {
		action["sources"] = []any{map[string]any{"type": "url", "url": "https://example.com/simulator"}}
	}
	return map[string]any{"type": o.kind, "status": "completed", "action": action}
}

// searches is the number of searches that are charged. [SDK: Response.ToolUsage]
func (r *reply) searches() (n int) {
	for _, o := range r.items {
		if o.kind == "web_search_call" {
			n++
		}
	}
	return n
}
