package ollama

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// reply is a complete answer, before it is sent: pieces, each with its message.
type reply struct {
	call   *call
	served string // the model that the answer names
	pieces []piece
	reason string
}

type piece struct {
	message map[string]any
	tokens  int
	endless bool
}

// reply returns the answer to a call. If a model thinks although thinking is off, the thinking is in the text, between tags.
func (c *call) reply(a sim.Answer) *reply {
	seed := c.ask.Seed.With([]byte("reply"))
	r := &reply{call: c, served: cmp.Or(a.Served, c.model.id), reason: "stop"}
	parts := a.Parts
	if parts == nil {
		parts = a.Compose(c.ask)
	}
	rng := sim.NewRand(seed)
	calls := 0
	for _, p := range parts {
		member := "content"
		switch p.Kind {
		case sim.Thinking, sim.Redacted:
			if !c.leaks {
				member = "thinking"
			}
		case sim.Call, sim.ServerCall:
			r.add(map[string]any{"tool_calls": []any{c.callObject(p, calls, seed)}}, sim.Tokens(p.Name+string(p.Input)), false)
			calls++
			continue
		case sim.Image, sim.Sources: // this API has no form for them
			continue
		case sim.Raw:
			var raw map[string]any
			if err := json.Unmarshal(p.Raw, &raw); err == nil {
				r.add(raw, sim.Tokens(string(p.Raw)), false)
			}
			continue
		}
		leaked := p.Kind == sim.Thinking && c.leaks
		if leaked && !c.model.halfOpen {
			r.add(map[string]any{member: "<think>\n"}, 1, false)
		}
		for _, text := range sim.SplitWords(rng, p.Text) {
			r.add(map[string]any{member: text}, sim.Tokens(text), p.Endless)
		}
		if leaked {
			r.add(map[string]any{member: "\n</think>\n\n"}, 1, false)
		}
	}
	r.limit(a)
	return r
}

func (r *reply) add(message map[string]any, tokens int, endless bool) {
	message["role"] = "assistant"
	if message["content"] == nil {
		message["content"] = ""
	}
	r.pieces = append(r.pieces, piece{message, tokens, endless})
}

func (c *call) callObject(p sim.Part, n int, seed strict.Digest) map[string]any {
	var args any = map[string]any{}
	if v, err := strict.Decode(p.Input); err == nil {
		args = v
	} else if len(p.Input) > 0 {
		args = string(p.Input) // a script wants a call that no client can read
	}
	id := p.ID
	if id == "" {
		id = fmt.Sprintf("call_%s%d", seed.String()[:8], n)
	}
	return map[string]any{"id": id, "function": map[string]any{"index": n, "name": p.Name, "arguments": args}}
}

// limit cuts the answer at num_predict or at a scripted stop.
func (r *reply) limit(a sim.Answer) {
	at := -1
	if a.Stop == "max_tokens" && !a.Fault.Breaks() {
		at, r.reason = sim.Default(a.After, max(1, len(r.pieces)/2)), "length"
	} else if a.Stop != "" && !a.Fault.Breaks() {
		r.reason = a.Stop
	}
	spent := 0
	for i, p := range r.pieces {
		spent += p.tokens
		if at == i || r.call.predict >= 0 && !p.endless && spent > r.call.predict {
			r.pieces, r.reason = r.pieces[:i], "length"
			return
		}
	}
}

func (r *reply) object(message map[string]any) map[string]any {
	return map[string]any{"model": r.served, "created_at": "2026-11-20T10:00:00Z", "message": message, "done": false}
}

// done returns the last object, without counts of 0.
func (r *reply) done(message map[string]any, output int) map[string]any {
	m := r.object(message)
	m["done"], m["done_reason"] = true, r.reason
	m["total_duration"], m["load_duration"], m["eval_duration"] = 3, 1, 1
	if r.call.tokens > 0 {
		m["prompt_eval_count"] = r.call.tokens
	}
	if output > 0 {
		m["eval_count"] = output
	}
	return m
}

// stream sends one answer.
type stream struct {
	*sim.Player
	reply *reply
}

// sent returns the answer in both forms: whole, and with one object in each line.
func (r *reply) sent() sim.Reply {
	endless := slices.ContainsFunc(r.pieces, func(p piece) bool { return p.endless })
	quiet := "{\"model\":\"" + r.served + "\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":false}\n" // this API has no pings and no comments
	return sim.Reply{Deltas: len(r.pieces), Endless: endless, Whole: r.whole, Stream: func(p *sim.Player) sim.Stream {
		s := &stream{Player: p, reply: r}
		return sim.Stream{Run: s.run, Comment: quiet, Ping: quiet,
			Noise: func() []byte { return []byte("\n{\"weather\":{\"sky\":\"blue\"}}\n") },
			Fail:  func(e *sim.Error, _ sim.Fault) { s.line(errorBody(e)) }}
	}}
}

func (s *stream) run() error {
	output := 0
	for _, p := range s.reply.pieces {
		for {
			if err := s.Next(); err != nil {
				return err
			}
			output += p.tokens
			if err := s.line(s.reply.object(p.message)); err != nil {
				return err
			}
			if err := s.Push(); err != nil {
				return err
			}
			if !p.endless {
				break
			}
		}
	}
	if err := s.End(); err != nil {
		return err
	}
	return s.line(s.reply.done(map[string]any{"role": "assistant", "content": ""}, output))
}

func (s *stream) line(v any) error {
	data := sim.JSON(v)
	return s.Send(append(data, '\n'))
}

// whole returns the answer as one object.
func (r *reply) whole() any {
	var thinking, content string
	var calls []any
	output := 0
	for _, piece := range r.pieces {
		output += piece.tokens
		text, _ := piece.message["content"].(string)
		thought, _ := piece.message["thinking"].(string)
		list, _ := piece.message["tool_calls"].([]any)
		content, thinking, calls = content+text, thinking+thought, append(calls, list...)
	}
	message := map[string]any{"role": "assistant", "content": content}
	if thinking != "" {
		message["thinking"] = thinking
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	return r.done(message, output)
}
