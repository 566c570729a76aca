package sim

import (
	"fmt"
	"strings"
)

// chatReply is an answer in full, before it is sent.
type chatReply struct {
	call    *chatCall
	id      string
	parts   []chatPart
	finish  string
	output  int // tokens, thinking included
	thought int // tokens
	sealer  sealer
	opaque  string // of the message, where the host has that
}

// chatPart is a piece of an answer.
type chatPart struct {
	Part
	pieces  []string
	index   int    // of a call
	thought int    // how many blocks of thinking came before it
	sealed  string // the signature of thinking, or of a call; the data of what is withheld
}

func (p *chatPart) text() string { return strings.Join(p.pieces, "") }

// reply makes the answer to a call.
func (c *chatCall) reply(s sealer, a Answer) *chatReply {
	seed := c.ask.seed.with([]byte("reply"))
	r := &chatReply{call: c, id: "chatcmpl-" + seed.String(), finish: "stop", sealer: s}
	parts := a.Parts
	if parts == nil {
		parts = a.compose(c.ask)
	}
	rng := newRand(seed)
	calls, thoughts := 0, 0
	for i, p := range parts {
		m := chatPart{Part: p, thought: thoughts}
		if p.Kind == Thinking || p.Kind == Redacted {
			thoughts++
		}
		switch p.Kind {
		case Call, ServerCall: // no tool is run by these hosts
			if m.ID == "" {
				m.ID = c.callID(fmt.Sprintf("%s%d", seed, i))
			}
			if len(m.Input) == 0 {
				m.Input = []byte("{}")
			}
			m.index, m.pieces = calls, chunks(string(m.Input), 12)
			if c.host.whole {
				m.pieces = []string{string(m.Input)}
			}
			calls++
			r.finish = "tool_calls"
		case Redacted, Raw, Image, Sources:
		default:
			m.pieces = deltas(rng, p.Text)
		}
		r.parts = append(r.parts, m)
	}
	r.limit(a)
	r.seal()
	return r
}

func (c *chatCall) callID(seed string) string {
	id := digestOf(seed)
	if c.host.ids9 {
		return id[:9]
	}
	return "call_" + id
}

// limit ends the answer where max_tokens or a scripted stop does, and counts its tokens.
func (r *chatReply) limit(a Answer) {
	most, pieces := r.call.most, -1
	reason := "length"
	switch a.Stop {
	case "max_tokens", "model_context_window_exceeded":
		pieces = pick(a.After, max(1, r.count()/2))
	case "refusal":
		pieces, reason = pick(a.After, 0), "content_filter"
	case "", "pause_turn":
	default:
		r.finish = a.Stop
	}
	if pieces >= 0 {
		r.finish = reason
	}
	if a.Fault.breaks() {
		pieces = -1
	}
	for i := range r.parts {
		p := &r.parts[i]
		kept, spent := 0, 0
		for _, piece := range p.pieces {
			if pieces >= 0 && kept == pieces || !p.Endless && spent+tokens(piece) > most {
				break
			}
			kept, spent = kept+1, spent+tokens(piece)
		}
		if p.Kind == Redacted {
			spent = tokens(p.Text)
		}
		cut := kept < len(p.pieces) || pieces == 0 && len(p.pieces) == 0
		p.pieces = p.pieces[:kept]
		r.output += spent
		most -= spent
		if pieces >= 0 {
			pieces -= kept
		}
		if p.Kind == Thinking || p.Kind == Redacted {
			r.thought += spent
		}
		if cut {
			end := i + 1
			if kept == 0 {
				end = i
			}
			r.parts, r.finish = r.parts[:end], reason
			return
		}
	}
}

func (r *chatReply) count() int {
	n := 0
	for _, p := range r.parts {
		n += len(p.pieces)
	}
	return n
}

// seal signs what the host signs: thinking by its text, calls by their place, an answer as a whole.
func (r *chatReply) seal() {
	c := r.call
	sign := func(kind, text string, ordinal int) string {
		signature, _ := r.sealer.close(seal{Kind: kind, Model: c.model.id, Account: c.account, Message: r.id, Ordinal: ordinal, Text: digestOf(text)})
		return signature
	}
	thought := false
	for i := range r.parts {
		p := &r.parts[i]
		switch {
		case p.Unsigned:
		case p.Kind == Thinking && maker(c.model.id) == "anthropic":
			p.sealed = sign("chat text", p.text(), i)
		case p.Kind == Thinking || p.Kind == Redacted:
			p.sealed = sign("chat data", p.Text, i)
		case p.Kind == Call && c.host.signed && p.index == 0:
			p.sealed = sign("chat call", p.Name, i)
		case p.Kind == Call && !thought && p.index == 0 && c.host.details == "openrouter" && maker(c.model.id) == "google":
			p.sealed = sign("chat data", p.Name, i) // this vendor signs the first call of a step, thought of or not
		}
		thought = thought || p.Kind == Thinking || p.Kind == Redacted
	}
	if c.host.opaque && (thought || c.thinks) {
		r.opaque = sign("chat opaque", "", 0)
	}
}

// usage is the usage object in the host's form.
func (r *chatReply) usage() map[string]any {
	h := r.call.host
	output := r.output
	if h.outside {
		output -= r.thought
	}
	u := map[string]any{"prompt_tokens": r.call.tokens, "completion_tokens": output, "total_tokens": r.call.tokens + r.output}
	if h.name == "openrouter" { // what was charged, which is not what its list says [OpenRouter docs: usage-accounting]
		u["cost"], u["is_byok"] = float64(r.call.tokens+r.output)/1e6, false
		u["cost_details"] = map[string]any{"upstream_inference_cost": nil}
	}
	switch h.count {
	case "details":
		u["completion_tokens_details"] = map[string]any{"reasoning_tokens": r.thought}
	case "flat":
		u["reasoning_tokens"] = r.thought
	}
	return u
}
