package sim

import (
	"encoding/json"
	"fmt"
	"slices"
)

// ollamaReply is an answer in full, before it is sent: pieces, each with the message that brings it.
type ollamaReply struct {
	call   *ollamaCall
	pieces []ollamaPiece
	reason string
}

type ollamaPiece struct {
	message map[string]any
	tokens  int
	endless bool
}

// reply makes the answer to a call. Thinking that the model was told to leave stands in the text, between tags.
func (c *ollamaCall) reply(a Answer) *ollamaReply {
	seed := c.ask.seed.with([]byte("reply"))
	r := &ollamaReply{call: c, reason: "stop"}
	parts := a.Parts
	if parts == nil {
		parts = a.compose(c.ask)
	}
	rng := newRand(seed)
	calls := 0
	for _, p := range parts {
		member := "content"
		switch p.Kind {
		case Thinking, Redacted:
			if !c.leaks {
				member = "thinking"
			}
		case Call, ServerCall:
			r.add(map[string]any{"tool_calls": []any{c.callObject(p, calls, seed)}}, tokens(p.Name+string(p.Input)), false)
			calls++
			continue
		case Image, Sources: // it has no form for them
			continue
		case Raw:
			var raw map[string]any
			if err := json.Unmarshal(p.Raw, &raw); err == nil {
				r.add(raw, tokens(string(p.Raw)), false)
			}
			continue
		}
		leaked := p.Kind == Thinking && c.leaks
		if leaked && !c.model.halfOpen {
			r.add(map[string]any{member: "<think>\n"}, 1, false)
		}
		for _, text := range deltas(rng, p.Text) {
			r.add(map[string]any{member: text}, tokens(text), p.Endless)
		}
		if leaked {
			r.add(map[string]any{member: "\n</think>\n\n"}, 1, false)
		}
	}
	r.limit(a)
	return r
}

func (r *ollamaReply) add(message map[string]any, tokens int, endless bool) {
	message["role"] = "assistant"
	if message["content"] == nil {
		message["content"] = ""
	}
	r.pieces = append(r.pieces, ollamaPiece{message, tokens, endless})
}

func (c *ollamaCall) callObject(p Part, n int, seed digest) map[string]any {
	var args any = map[string]any{}
	if v, err := decode(p.Input); err == nil {
		args = v
	} else if len(p.Input) > 0 {
		args = string(p.Input) // a script that wants a call no client can read
	}
	id := p.ID
	if id == "" {
		id = fmt.Sprintf("call_%s%d", seed.String()[:8], n)
	}
	return map[string]any{"id": id, "function": map[string]any{"index": n, "name": p.Name, "arguments": args}}
}

// limit ends the answer where num_predict or a scripted stop does.
func (r *ollamaReply) limit(a Answer) {
	at := -1
	if a.Stop == "max_tokens" && !a.Fault.breaks() {
		at, r.reason = pick(a.After, max(1, len(r.pieces)/2)), "length"
	} else if a.Stop != "" && !a.Fault.breaks() {
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

func (r *ollamaReply) object(message map[string]any) map[string]any {
	return map[string]any{"model": r.call.model.id, "created_at": "2026-11-20T10:00:00Z", "message": message, "done": false}
}

// done is the last object. Counts of nothing are left out.
func (r *ollamaReply) done(message map[string]any, output int) map[string]any {
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

// ollamaStream is one answer on its way.
type ollamaStream struct {
	*player
	reply *ollamaReply
}

// sent is an answer as the server sends it: whole, or as one object a line.
func (r *ollamaReply) sent() Reply {
	endless := slices.ContainsFunc(r.pieces, func(p ollamaPiece) bool { return p.endless })
	quiet := "{\"model\":\"" + r.call.model.id + "\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":false}\n" // there are no pings and no comments
	return Reply{Deltas: len(r.pieces), Endless: endless, Whole: r.whole, Stream: func(p *player) Stream {
		s := &ollamaStream{player: p, reply: r}
		return Stream{Run: s.run, Comment: quiet, Ping: quiet,
			Noise: func() []byte { return []byte("\n{\"weather\":{\"sky\":\"blue\"}}\n") },
			Fail:  func(e *Error, _ Fault) { s.line(ollamaErrorBody(e)) }}
	}}
}

func (s *ollamaStream) run() error {
	output := 0
	for _, p := range s.reply.pieces {
		for {
			if err := s.delta(); err != nil {
				return err
			}
			output += p.tokens
			if err := s.line(s.reply.object(p.message)); err != nil {
				return err
			}
			if err := s.pushed(); err != nil {
				return err
			}
			if !p.endless {
				break
			}
		}
	}
	if err := s.end(); err != nil {
		return err
	}
	return s.line(s.reply.done(map[string]any{"role": "assistant", "content": ""}, output))
}

func (s *ollamaStream) line(v any) error {
	data := mustJSON(v)
	return s.write(append(data, '\n'))
}

// whole is the answer as one object.
func (r *ollamaReply) whole() any {
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
