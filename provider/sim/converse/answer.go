package converse

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/aws"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// mask is what some models send in place of their reasoning. [docs: nova, reasoning-capabilities]
const mask = "[REDACTED]"

// part is a block of an answer.
type part struct {
	sim.Part
	pieces    []string
	signature string
	cut       bool
}

// reply is a complete answer, before it is sent.
type reply struct {
	call   *call
	blocks []part
	stop   string
	output int
}

// stops are the API's words for the ends that a script requests.
var stops = map[string]string{"max_tokens": "max_tokens", "model_context_window_exceeded": "model_context_window_exceeded", "refusal": "content_filtered", "pause_turn": "end_turn"}

func (c *call) reply(a sim.Answer) *reply {
	seed := c.ask.Seed.With([]byte("reply"))
	r := &reply{call: c, stop: "end_turn"}
	parts := a.Parts
	if parts == nil {
		parts = a.Compose(c.ask)
	}
	rng := sim.NewRand(seed)
	for i, p := range sim.Cite(parts) {
		b := part{Part: p}
		switch p.Kind {
		case sim.ServerCall, sim.Raw:
			continue
		case sim.Call:
			if b.ID == "" {
				b.ID = fmt.Sprintf("tooluse_%s%d", seed.String(), i)
			}
			b.pieces = sim.SplitEvery(string(p.Input), 12)
			r.stop = "tool_use"
		case sim.Redacted:
			if !c.model.signs && !c.model.hides { // nothing of it could come back
				continue
			}
			b.signature = c.sign(p.Text, false)
		case sim.Thinking:
			b.pieces = sim.SplitWords(rng, p.Text)
			if c.model.masks && !p.Endless {
				b.pieces = sim.SplitEvery(mask, 4)
			}
			if !p.Unsigned && !p.Endless && (c.model.signs || c.model.hides) {
				b.signature = c.sign(p.Text, true)
			}
		default:
			b.pieces = sim.SplitWords(rng, p.Text)
		}
		r.blocks = append(r.blocks, b)
	}
	r.limit(a)
	return r
}

func (c *call) sign(text string, shown bool) string {
	seal := c.model.sealed()
	seal.Text, seal.Shown = digest(text), shown && !c.model.hides
	signature, _ := c.sealer.Sign(seal)
	return signature
}

// limit ends the answer at the limit on output, at a stop sequence or at a scripted stop, and counts its tokens.
func (r *reply) limit(a sim.Answer) {
	at, n := a.StopsAfter(r.deltas()), 0
	for i := range r.blocks {
		b := &r.blocks[i]
		for j, piece := range b.pieces {
			if n == at || !b.Endless && r.output > r.call.maxTokens {
				r.stop = "max_tokens"
				if n == at {
					r.stop = stops[a.Stop]
				}
				b.pieces, b.cut, b.signature = b.pieces[:j], true, ""
				r.blocks = r.blocks[:i+1]
				if j == 0 {
					r.blocks = r.blocks[:i]
				}
				return
			}
			n++
			r.output += sim.Tokens(piece)
		}
		if b.Kind != sim.Text || b.Endless {
			continue
		}
		text := strings.Join(b.pieces, "")
		for _, s := range r.call.stops {
			if found := strings.Index(text, s); found >= 0 {
				b.pieces, r.stop, r.blocks = []string{text[:found]}, "stop_sequence", r.blocks[:i+1]
				if found == 0 {
					r.blocks = r.blocks[:i]
				}
				return
			}
		}
	}
	if at >= n && a.Stop != "" {
		r.stop = stops[a.Stop]
	}
}

func (r *reply) deltas() (n int) {
	for _, b := range r.blocks {
		n += len(b.pieces)
	}
	return n
}

// usage counts what the cache gave or took apart from the other input. [docs: prompt-caching]
func (r *reply) usage() map[string]any {
	all, cached := r.call.tokens, r.call.cached
	u := map[string]any{"inputTokens": all - cached.Read - cached.Written, "outputTokens": r.output, "totalTokens": all + r.output, "serverToolUsage": map[string]any{}}
	if r.call.model.caches {
		u["cacheReadInputTokens"], u["cacheWriteInputTokens"] = cached.Read, cached.Written
	}
	return u
}

func (r *reply) sent() sim.Reply {
	endless := slices.ContainsFunc(r.blocks, func(b part) bool { return b.Endless })
	return sim.Reply{Deltas: r.deltas(), Endless: endless, Whole: r.whole, Stream: func(p *sim.Player) sim.Stream {
		s := &stream{p, r}
		beat := string(aws.AppendEvent(nil, "heartbeat", []byte(`{"p":"abc"}`)))
		return sim.Stream{Run: s.run, Comment: beat, Ping: beat, Noise: func() []byte {
			return aws.AppendEvent(aws.AppendEvent(nil, "weather", []byte(`{"sky":"blue"}`)), "contentBlockDelta", []byte(`{"contentBlockIndex":99,"delta":{"mood":"fine"},"p":"ab"}`))
		}, Fail: func(e *sim.Error, _ sim.Fault) {
			s.Send(aws.AppendException(nil, strings.ToLower(e.Kind[:1])+e.Kind[1:], e.Text))
		}}
	}}
}

// stream sends one answer in frames.
type stream struct {
	*sim.Player
	reply *reply
}

func (s *stream) event(kind string, v map[string]any) error {
	v["p"] = "abcdefghijklmnop"[:s.Deltas%17]
	return s.Send(aws.AppendEvent(nil, kind, sim.JSON(v)))
}

func (s *stream) delta(index int, d map[string]any) error {
	return s.event("contentBlockDelta", map[string]any{"contentBlockIndex": index, "delta": d})
}

func (s *stream) run() error {
	if err := s.event("messageStart", map[string]any{"role": "assistant"}); err != nil {
		return err
	}
	for i := range s.reply.blocks {
		if err := s.block(i, &s.reply.blocks[i]); err != nil {
			return err
		}
	}
	if err := s.End(); err != nil {
		return err
	}
	if err := s.event("messageStop", map[string]any{"stopReason": s.reply.stop}); err != nil {
		return err
	}
	if s.Answer.Fault == sim.FaultNoLastEvent {
		return nil
	}
	return s.event("metadata", map[string]any{"usage": s.reply.usage(), "metrics": map[string]any{"latencyMs": 1}})
}

func (s *stream) block(i int, b *part) error {
	if b.Kind == sim.Call {
		if err := s.start(i, b, b.ID); err != nil {
			return err
		}
	}
	for first := true; first || b.Endless; first = false {
		for n, piece := range b.pieces {
			if n > 0 && b.Kind == sim.Call && s.Answer.Fault == sim.FaultCallIDs {
				if err := s.start(i, b, fmt.Sprintf("%s_%d", b.ID, n)); err != nil {
					return err
				}
			}
			if err := s.Next(); err != nil {
				return err
			}
			if d := s.reply.say(b, piece); d != nil {
				if err := s.delta(i, d); err != nil {
					return err
				}
			}
			if err := s.Push(); err != nil {
				return err
			}
		}
	}
	if b.signature != "" {
		d := map[string]any{"signature": b.signature}
		if s.reply.redacts(b) {
			d = map[string]any{"redactedContent": base64.StdEncoding.EncodeToString([]byte(b.signature))}
		}
		if err := s.delta(i, map[string]any{"reasoningContent": d}); err != nil {
			return err
		}
	}
	if err := s.event("contentBlockStop", map[string]any{"contentBlockIndex": i}); err != nil {
		return err
	}
	return s.Push()
}

func (s *stream) start(i int, b *part, id string) error {
	return s.event("contentBlockStart", map[string]any{"contentBlockIndex": i, "start": map[string]any{"toolUse": map[string]any{"toolUseId": id, "name": b.Name}}})
}

// redacts reports whether the client gets no text of a block of reasoning.
func (r *reply) redacts(b *part) bool {
	return b.Kind == sim.Redacted || b.Kind == sim.Thinking && r.call.model.hides
}

// say is the delta for a piece; nil: it is hidden.
func (r *reply) say(b *part, piece string) map[string]any {
	switch {
	case b.Kind == sim.Call:
		return map[string]any{"toolUse": map[string]any{"input": piece}}
	case r.redacts(b):
		return nil
	case b.Kind == sim.Thinking:
		return map[string]any{"reasoningContent": map[string]any{"text": piece}}
	}
	return map[string]any{"text": piece}
}

// whole is the answer of Converse without a stream.
func (r *reply) whole() any {
	content := []any{}
	for i := range r.blocks {
		b := &r.blocks[i]
		text := strings.Join(b.pieces, "")
		switch {
		case b.Kind == sim.Call:
			var input any = text
			if v, err := strict.Decode([]byte(text)); err == nil {
				input = v
			}
			content = append(content, map[string]any{"toolUse": map[string]any{"toolUseId": b.ID, "name": b.Name, "input": input}})
		case r.redacts(b):
			content = append(content, map[string]any{"reasoningContent": map[string]any{"redactedContent": base64.StdEncoding.EncodeToString([]byte(b.signature))}})
		case b.Kind == sim.Thinking:
			reasoning := map[string]any{"text": text}
			if b.signature != "" {
				reasoning["signature"] = b.signature
			}
			content = append(content, map[string]any{"reasoningContent": map[string]any{"reasoningText": reasoning}})
		default:
			content = append(content, map[string]any{"text": text})
		}
	}
	return map[string]any{"output": map[string]any{"message": map[string]any{"role": "assistant", "content": content}}, "stopReason": r.stop, "usage": r.usage(), "metrics": map[string]any{"latencyMs": 1}}
}
