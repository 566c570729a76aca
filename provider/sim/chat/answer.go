package chat

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// reply is a complete answer, before it is sent.
type reply struct {
	call    *call
	served  string // the model that the answer names
	id      string
	parts   []part
	finish  string
	output  int // tokens, thinking included
	thought int // tokens
	sealer  sim.Sealer
	opaque  string // data of the message as a whole, if the host has it
}

// part is a piece of an answer.
type part struct {
	sim.Part
	pieces  []string
	index   int    // of a call
	thought int    // the number of blocks of thinking before it
	sealed  string // the signature of thinking or of a call, or the data of withheld thinking
}

func (p *part) text() string { return strings.Join(p.pieces, "") }

// reply returns the answer to a call.
func (c *call) reply(s sim.Sealer, a sim.Answer) *reply {
	seed := c.ask.Seed.With([]byte("reply"))
	r := &reply{call: c, served: cmp.Or(a.Served, c.model.id), id: "chatcmpl-" + seed.String(), finish: "stop", sealer: s}
	parts := a.Parts
	if parts == nil {
		parts = a.Compose(c.ask)
	}
	rng := sim.NewRand(seed)
	calls, thoughts := 0, 0
	for i, p := range parts {
		m := part{Part: p, thought: thoughts}
		if p.Kind == sim.Thinking || p.Kind == sim.Redacted {
			thoughts++
		}
		switch p.Kind {
		case sim.Call, sim.ServerCall: // these hosts run no tools
			if m.ID == "" {
				m.ID = c.callID(fmt.Sprintf("%s%d", seed, i))
			}
			if len(m.Input) == 0 {
				m.Input = []byte("{}")
			}
			m.index, m.pieces = calls, sim.SplitEvery(string(m.Input), 12)
			if c.host.whole {
				m.pieces = []string{string(m.Input)}
			}
			calls++
			r.finish = "tool_calls"
		case sim.Redacted, sim.Raw, sim.Image, sim.Sources:
		default:
			m.pieces = sim.SplitWords(rng, p.Text)
		}
		r.parts = append(r.parts, m)
	}
	r.limit(a)
	r.seal()
	return r
}

func (c *call) callID(seed string) string {
	id := strict.DigestOf(seed)
	if c.host.ids9 {
		return id[:9]
	}
	return "call_" + id
}

// limit cuts the answer at max_tokens or at a scripted stop, and counts its tokens.
func (r *reply) limit(a sim.Answer) {
	most, pieces := r.call.most, -1
	reason := "length"
	switch a.Stop {
	case "max_tokens", "model_context_window_exceeded":
		pieces = sim.Default(a.After, max(1, r.count()/2))
	case "refusal":
		pieces, reason = sim.Default(a.After, 0), "content_filter"
	case "", "pause_turn":
	default:
		r.finish = a.Stop
	}
	if pieces >= 0 {
		r.finish = reason
	}
	if a.Fault.Breaks() {
		pieces = -1
	}
	for i := range r.parts {
		p := &r.parts[i]
		kept, spent := 0, 0
		for _, piece := range p.pieces {
			if pieces >= 0 && kept == pieces || !p.Endless && spent+sim.Tokens(piece) > most {
				break
			}
			kept, spent = kept+1, spent+sim.Tokens(piece)
		}
		if p.Kind == sim.Redacted {
			spent = sim.Tokens(p.Text)
		}
		cut := kept < len(p.pieces) || pieces == 0 && len(p.pieces) == 0
		p.pieces = p.pieces[:kept]
		r.output += spent
		most -= spent
		if pieces >= 0 {
			pieces -= kept
		}
		if p.Kind == sim.Thinking || p.Kind == sim.Redacted {
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

func (r *reply) count() int {
	n := 0
	for _, p := range r.parts {
		n += len(p.pieces)
	}
	return n
}

// seal signs what the host signs: thinking by its text, calls by their place, or the answer as a whole.
func (r *reply) seal() {
	c := r.call
	sign := func(kind, text string, ordinal int) string {
		signature, _ := r.sealer.Sign(sim.Seal{Kind: kind, Model: c.model.id, Account: c.account, Message: r.id, Ordinal: ordinal, Text: strict.DigestOf(text)})
		return signature
	}
	thought := false
	for i := range r.parts {
		p := &r.parts[i]
		switch {
		case p.Unsigned:
		case p.Kind == sim.Thinking && maker(c.model.id) == "anthropic":
			p.sealed = sign("chat text", p.text(), i)
		case p.Kind == sim.Thinking || p.Kind == sim.Redacted:
			p.sealed = sign("chat data", p.Text, i)
		case p.Kind == sim.Call && c.host.signed && p.index == 0:
			p.sealed = sign("chat call", p.Name, i)
		case p.Kind == sim.Call && !thought && p.index == 0 && c.host.details == "openrouter" && maker(c.model.id) == "google":
			p.sealed = sign("chat data", p.Name, i) // this vendor signs the first call of a step, even without thinking
		}
		thought = thought || p.Kind == sim.Thinking || p.Kind == sim.Redacted
	}
	if c.host.opaque && (thought || c.thinks) {
		r.opaque = sign("chat opaque", "", 0)
	}
}

// usage returns the usage object in the host's form.
func (r *reply) usage() map[string]any {
	h := r.call.host
	output := r.output
	if h.outside {
		output -= r.thought
	}
	u := map[string]any{"prompt_tokens": r.call.tokens, "completion_tokens": output, "total_tokens": r.call.tokens + r.output}
	if h.name == "openrouter" { // the amount that was charged, which differs from its list of prices [OpenRouter docs: usage-accounting]
		u["cost"], u["is_byok"] = float64(r.call.tokens+r.output)/1e6, false
		u["cost_details"] = map[string]any{"upstream_inference_cost": nil}
	}
	switch h.count {
	case "details":
		u["completion_tokens_details"] = map[string]any{"reasoning_tokens": r.thought}
	case "flat":
		u["reasoning_tokens"] = r.thought
	}
	switch read := r.call.cached.Read; h.cache.count {
	case "details":
		u["prompt_tokens_details"] = map[string]any{"cached_tokens": read}
	case "hits":
		u["prompt_cache_hit_tokens"], u["prompt_cache_miss_tokens"] = read, r.call.tokens-read
	case "top":
		u["cached_tokens"] = read
	}
	return u
}
