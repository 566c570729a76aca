package cohere

import (
	"fmt"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
)

// part is a block of an answer.
type part struct {
	sim.Part
	pieces []string
}

// reply is a complete answer, before it is sent.
type reply struct {
	call   *call
	id     string
	parts  []part
	stop   string
	output int // tokens
	mused  int // tokens of thinking
}

// stops are the API's words for the ends that a script requests.
var stops = map[string]string{"max_tokens": "MAX_TOKENS", "model_context_window_exceeded": "MAX_TOKENS", "refusal": "ERROR_TOXIC", "pause_turn": "COMPLETE"}

func (c *call) reply(a sim.Answer) *reply {
	seed := c.ask.Seed.With([]byte("reply"))
	r := &reply{call: c, id: seed.String(), stop: "COMPLETE"}
	list := a.Parts
	if list == nil {
		list = a.Compose(c.ask)
	}
	rng := sim.NewRand(seed)
	calls := slices.ContainsFunc(list, func(p sim.Part) bool { return p.Kind == sim.Call })
	for i, p := range sim.Cite(list) {
		b := part{Part: p}
		switch p.Kind {
		case sim.ServerCall, sim.Raw, sim.Redacted: // this API has no form for them
			continue
		case sim.Call:
			if b.ID == "" {
				b.ID = fmt.Sprintf("%s_%s%d", p.Name, seed.String()[:8], i)
			}
			b.pieces = sim.SplitEvery(string(p.Input), 12)
			r.stop = "TOOL_CALL"
		case sim.Thinking:
			if !c.model.thinks && !calls { // there is no plan without calls
				continue
			}
			b.pieces = sim.SplitWords(rng, p.Text)
		default:
			b.pieces = sim.SplitWords(rng, p.Text)
		}
		r.parts = append(r.parts, b)
	}
	r.limit(a)
	return r
}

// limit ends the answer at the limit on output, at a stop sequence or at a scripted stop, and counts its tokens.
func (r *reply) limit(a sim.Answer) {
	at, n := a.StopsAfter(r.deltas()), 0
	for i := range r.parts {
		b := &r.parts[i]
		for j, piece := range b.pieces {
			if n == at || !b.Endless && r.output > r.call.maxTokens {
				r.stop = "MAX_TOKENS"
				if n == at {
					r.stop = stops[a.Stop]
				}
				r.cut(i, j)
				return
			}
			n++
			r.output += sim.Tokens(piece)
			if b.Kind == sim.Thinking {
				r.mused += sim.Tokens(piece)
			}
		}
		if b.Kind == sim.Text && !b.Endless && r.stopped(i) {
			return
		}
	}
	if at >= n && a.Stop != "" {
		r.stop = stops[a.Stop]
	}
}

// cut ends the answer in part i, before its piece j.
func (r *reply) cut(i, j int) {
	r.parts[i].pieces, r.parts[i].Pages = r.parts[i].pieces[:j], nil
	r.parts = r.parts[:i+1]
	if j == 0 {
		r.parts = r.parts[:i]
	}
}

// stopped ends the answer at a stop sequence in a text.
func (r *reply) stopped(i int) bool {
	text := strings.Join(r.parts[i].pieces, "")
	for _, s := range r.call.stops {
		if found := strings.Index(text, s); found >= 0 {
			r.parts[i].pieces, r.stop = []string{text[:found]}, "STOP_SEQUENCE"
			r.cut(i, min(found, 1))
			return true
		}
	}
	return false
}

func (r *reply) deltas() (n int) {
	for _, b := range r.parts {
		n += len(b.pieces)
	}
	return n
}

// preamble and special are tokens that the vendor adds to a prompt and to an answer. It counts them, and does not charge for them.
const preamble, special = 100, 3

func (r *reply) usage() map[string]any {
	tokens := map[string]any{"input_tokens": r.call.tokens + preamble, "output_tokens": r.output + special}
	if r.call.thinks {
		tokens["reasoning_tokens"] = r.mused
	}
	return map[string]any{"billed_units": map[string]any{"input_tokens": r.call.tokens, "output_tokens": r.output}, "tokens": tokens, "cached_tokens": preamble}
}

func (r *reply) sent() sim.Reply {
	endless := slices.ContainsFunc(r.parts, func(b part) bool { return b.Endless })
	return sim.Reply{Deltas: r.deltas(), Endless: endless, Whole: r.whole, Stream: func(p *sim.Player) sim.Stream {
		s := &stream{Player: p, reply: r}
		return sim.Stream{Run: s.run, Comment: ": still here\n\n", Ping: "event: debug\ndata: {\"type\":\"debug\"}\n\n",
			Noise: func() []byte {
				return []byte(": weather\n\nevent: weather\ndata: {\"type\":\"weather\",\"sky\":\"blue\"}\n\nevent: content-delta\ndata: {\"type\":\"content-delta\",\"index\":99,\"delta\":{\"message\":{\"content\":{\"mood\":\"fine\"}}}}\n\n")
			},
			Fail: func(e *sim.Error, _ sim.Fault) {
				s.event("message-end", map[string]any{"delta": map[string]any{"finish_reason": "ERROR", "error": e.Text}})
			}}
	}}
}

// stream sends one answer as events.
type stream struct {
	*sim.Player
	reply   *reply
	content int // blocks of content so far
	calls   int
}

func (s *stream) event(kind string, v map[string]any) error {
	v["type"] = kind
	return s.Send(sim.AppendEvent(nil, kind, v))
}

// says sends an event about a message.
func (s *stream) says(kind string, index int, message map[string]any) error {
	v := map[string]any{"delta": map[string]any{"message": message}}
	if index >= 0 {
		v["index"] = index
	}
	return s.event(kind, v)
}

func (s *stream) run() error {
	start := map[string]any{"role": "assistant", "content": []any{}, "tool_plan": "", "tool_calls": []any{}, "citations": []any{}}
	if err := s.event("message-start", map[string]any{"id": s.reply.id, "delta": map[string]any{"message": start}}); err != nil {
		return err
	}
	for i := range s.reply.parts {
		if err := s.part(&s.reply.parts[i]); err != nil {
			return err
		}
	}
	if err := s.End(); err != nil {
		return err
	}
	if err := s.event("message-end", map[string]any{"delta": map[string]any{"finish_reason": s.reply.stop, "usage": s.reply.usage()}}); err != nil {
		return err
	}
	if s.Answer.Fault == sim.FaultNoLastEvent {
		return nil
	}
	return s.Send([]byte("data: [DONE]\n\n"))
}

// part sends a block: a plan has no start and no end, and calls are counted apart from content.
func (s *stream) part(b *part) error {
	switch {
	case b.Kind == sim.Call:
		index := s.calls
		s.calls++
		if err := s.start(b, index, b.ID); err != nil {
			return err
		}
		if err := s.pieces(b, func(n int, piece string) error {
			if n > 0 && s.Answer.Fault == sim.FaultCallIDs {
				if err := s.start(b, index, fmt.Sprintf("%s_%d", b.ID, n)); err != nil {
					return err
				}
			}
			return s.says("tool-call-delta", index, map[string]any{"tool_calls": map[string]any{"function": map[string]any{"arguments": piece}}})
		}); err != nil {
			return err
		}
		return s.event("tool-call-end", map[string]any{"index": index})
	case b.Kind == sim.Thinking && !s.reply.call.model.thinks:
		return s.pieces(b, func(_ int, piece string) error {
			return s.says("tool-plan-delta", -1, map[string]any{"tool_plan": piece})
		})
	}
	index, word := s.content, word(b)
	s.content++
	if err := s.says("content-start", index, map[string]any{"content": map[string]any{"type": word, word: ""}}); err != nil {
		return err
	}
	if err := s.pieces(b, func(_ int, piece string) error {
		return s.says("content-delta", index, map[string]any{"content": map[string]any{word: piece}})
	}); err != nil {
		return err
	}
	for i, page := range b.Pages {
		if err := s.says("citation-start", i, map[string]any{"citations": citation(b, page, index)}); err != nil {
			return err
		}
		if err := s.event("citation-end", map[string]any{"index": i}); err != nil {
			return err
		}
	}
	return s.event("content-end", map[string]any{"index": index})
}

// pieces sends the deltas of a block, without end if it is endless.
func (s *stream) pieces(b *part, send func(n int, piece string) error) error {
	for first := true; first || b.Endless; first = false {
		for n, piece := range b.pieces {
			if err := s.Next(); err != nil {
				return err
			}
			if err := send(n, piece); err != nil {
				return err
			}
			if err := s.Push(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *stream) start(b *part, index int, id string) error {
	return s.says("tool-call-start", index, map[string]any{"tool_calls": map[string]any{"id": id, "type": "function", "function": map[string]any{"name": b.Name, "arguments": ""}}})
}

// word is the type of a block of content, and the name of its text.
func word(b *part) string {
	if b.Kind == sim.Thinking {
		return "thinking"
	}
	return "text"
}

// citation refers to a page that a tool found.
func citation(b *part, page sim.Page, index int) map[string]any {
	text := []rune(strings.Join(b.pieces, ""))
	end := page.End
	if end == 0 || end > len(text) {
		end = len(text)
	}
	output := map[string]any{"url": page.URL, "title": page.Title, "text": page.Quote}
	return map[string]any{"start": page.Start, "end": end, "text": string(text[min(page.Start, end):end]), "type": "TEXT_CONTENT", "content_index": index,
		"sources": []any{map[string]any{"type": "tool", "id": "search:0", "tool_output": output}}}
}

// whole is the answer without a stream.
func (r *reply) whole() any {
	content, calls, citations, plan := []any{}, []any{}, []any{}, ""
	for i := range r.parts {
		b := &r.parts[i]
		text := strings.Join(b.pieces, "")
		switch {
		case b.Kind == sim.Call:
			calls = append(calls, map[string]any{"id": b.ID, "type": "function", "function": map[string]any{"name": b.Name, "arguments": text}})
		case b.Kind == sim.Thinking && !r.call.model.thinks:
			plan += text
		default:
			for _, page := range b.Pages {
				citations = append(citations, citation(b, page, len(content)))
			}
			content = append(content, map[string]any{"type": word(b), word(b): text})
		}
	}
	message := map[string]any{"role": "assistant"}
	for name, list := range map[string][]any{"content": content, "tool_calls": calls, "citations": citations} {
		if len(list) > 0 {
			message[name] = list
		}
	}
	if plan != "" {
		message["tool_plan"] = plan
	}
	return map[string]any{"id": r.id, "message": message, "finish_reason": r.stop, "usage": r.usage()}
}
