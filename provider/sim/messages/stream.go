package messages

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// sent returns the answer in both forms: whole, and as server-sent events. [docs: streaming]
func (r *reply) sent() sim.Reply {
	endless := slices.ContainsFunc(r.blocks, func(b part) bool { return b.Endless })
	return sim.Reply{Deltas: r.count(), Endless: endless, Whole: r.whole, Stream: func(p *sim.Player) sim.Stream {
		s := &stream{Player: p, reply: r}
		comment, beat := ": still here\n\n", ping
		if r.framed { // which have no comments
			beat = string(framed([]byte(ping)))
			comment = beat
		}
		return sim.Stream{Run: s.run, Noise: s.noise, Comment: comment, Ping: beat, Fail: func(e *sim.Error, _ sim.Fault) {
			s.event("error", map[string]any{"type": "error", "error": errorObject(e)})
		}}
	}}
}

// ping is an event without content.
const ping = "event: ping\ndata: {\"type\": \"ping\"}\n\n"

// stream sends one answer.
type stream struct {
	*sim.Player
	reply *reply
	buf   []byte
	index int // of the block that is being sent
	quiet int // hidden deltas since the last event
}

// Send sends events, in frames if the answer has them.
func (s *stream) Send(events []byte) error {
	if s.reply.framed {
		events = framed(events)
	}
	return s.Player.Send(events)
}

func (s *stream) run() error {
	usage := s.reply.inputUsage()
	usage["output_tokens"] = min(1, s.reply.output)
	if err := s.event("message_start", map[string]any{"type": "message_start", "message": s.reply.message([]any{}, usage)}); err != nil {
		return err
	}
	for i := range s.reply.blocks {
		s.index = i
		if err := s.block(i, &s.reply.blocks[i]); err != nil {
			return err
		}
	}
	if err := s.End(); err != nil {
		return err
	}
	delta := map[string]any{"type": "message_delta", "delta": s.reply.ending(), "usage": s.reply.usage()}
	s.reply.reportEdits(delta)
	if err := s.event("message_delta", delta); err != nil {
		return err
	}
	if s.Answer.Fault == sim.FaultNoLastEvent {
		return nil
	}
	return s.event("message_stop", map[string]any{"type": "message_stop"})
}

// block sends one block: its start, its deltas, its signature, its end.
func (s *stream) block(i int, b *part) error {
	if err := s.event("content_block_start", map[string]any{"type": "content_block_start", "index": i, "content_block": s.reply.opening(b)}); err != nil {
		return err
	}
	if i == 0 {
		if err := s.ping(); err != nil {
			return err
		}
	}
	for {
		for n, piece := range b.pieces {
			if n > 0 && b.Kind == sim.Call && s.Answer.Fault == sim.FaultCallIDs {
				if err := s.restart(i, b); err != nil {
					return err
				}
			}
			if err := s.piece(i, b, piece); err != nil {
				return err
			}
		}
		if !b.Endless {
			break
		}
	}
	if b.Kind == sim.Call && len(b.pieces) == 0 {
		// A call without arguments sends an empty piece.
		if err := s.delta(i, "input_json_delta", "partial_json", ""); err != nil {
			return err
		}
	}
	for _, cited := range citations(b.Pages) {
		if err := s.event("content_block_delta", map[string]any{"type": "content_block_delta", "index": i, "delta": map[string]any{"type": "citations_delta", "citation": cited}}); err != nil {
			return err
		}
	}
	if compacted(b.Part) {
		m, _ := s.reply.content(b).(map[string]any)
		if err := s.event("content_block_delta", map[string]any{"type": "content_block_delta", "index": i, "delta": map[string]any{
			"type": "compaction_delta", "content": b.Text, "encrypted_content": m["encrypted_content"]}}); err != nil {
			return err
		}
	}
	if b.Kind == sim.Thinking && b.signature != "" {
		if !b.shown && len(b.signature)%2 == 0 && len(b.pieces)%2 == 0 {
			// With omitted display an empty delta may come or not. [docs: streaming]
			if err := s.delta(i, "thinking_delta", "thinking", ""); err != nil {
				return err
			}
		}
		if err := s.delta(i, "signature_delta", "signature", b.signature); err != nil {
			return err
		}
	}
	if err := s.event("content_block_stop", map[string]any{"type": "content_block_stop", "index": i}); err != nil {
		return err
	}
	return s.Push()
}

// opening returns a block as it is in content_block_start.
func (r *reply) opening(b *part) any {
	switch b.Kind {
	case sim.Text:
		return map[string]any{"type": "text", "text": ""}
	case sim.Thinking:
		return map[string]any{"type": "thinking", "thinking": "", "signature": ""}
	case sim.Call, sim.ServerCall:
		m := r.content(b).(map[string]any)
		m["input"] = map[string]any{}
		return m
	default:
		if m, ok := r.content(b).(map[string]any); ok && compacted(b.Part) {
			m["content"], m["encrypted_content"] = nil, nil
			return m
		}
		return r.content(b)
	}
}

// silentDeltas is the number of hidden deltas after which a ping is sent.
const silentDeltas = 25

// piece sends one delta when it is due. Hidden thinking takes the same time as visible thinking.
func (s *stream) piece(i int, b *part, text string) error {
	if err := s.Player.Next(); err != nil {
		return err
	}
	if err := s.say(i, b, text); err != nil {
		return err
	}
	return s.Push()
}

func (s *stream) say(i int, b *part, text string) error {
	switch {
	case b.Kind == sim.Call || b.Kind == sim.ServerCall:
		return s.delta(i, "input_json_delta", "partial_json", text)
	case b.Kind == sim.Text:
		return s.delta(i, "text_delta", "text", text)
	case b.shown && s.reply.call.betas[betaTokenCount]:
		return s.count(i, text, "null")
	case b.shown:
		return s.delta(i, "thinking_delta", "thinking", text)
	}
	if s.quiet++; s.quiet < silentDeltas {
		return nil
	}
	s.quiet = 0
	if s.reply.call.betas[betaTokenCount] {
		return s.count(i, "", strconv.Itoa(tokensPerTick))
	}
	return s.ping()
}

// restart sends the start of a call again, with another id, as some proxies do for each piece.
func (s *stream) restart(i int, b *part) error {
	again := s.reply.opening(b).(map[string]any)
	again["id"] = fmt.Sprintf("%v_%d", again["id"], s.Deltas)
	return s.event("content_block_start", map[string]any{"type": "content_block_start", "index": i, "content_block": again})
}

// tokensPerTick is approximately the cost of silentDeltas deltas of thinking. The vendor sends increments of a fixed size for
// the client to add up. They are estimates. [SDK: BetaThinkingDelta]
const tokensPerTick = 200

func (s *stream) count(i int, text, estimate string) error {
	s.buf = fmt.Appendf(s.buf[:0], "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"thinking_delta\",\"estimated_tokens\":%s,\"thinking\":", i, estimate)
	s.buf = strict.AppendQuoted(s.buf, text)
	s.buf = append(s.buf, "}}\n\n"...)
	return s.Send(s.buf)
}

// delta sends most events, so it writes its JSON directly.
func (s *stream) delta(i int, kind, member, text string) error {
	b := append(s.buf[:0], "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":"...)
	b = strconv.AppendInt(b, int64(i), 10)
	b = append(b, `,"delta":{"type":"`...)
	b = append(b, kind...)
	b = append(b, `","`...)
	b = append(b, member...)
	b = append(b, `":`...)
	b = strict.AppendQuoted(b, text)
	b = append(b, "}}\n\n"...)
	s.buf = b
	return s.Send(b)
}

func (s *stream) ping() error {
	return s.Send([]byte(ping))
}

// noise returns a comment, an unknown event and an unknown delta, which a client has to ignore. [docs: streaming]
func (s *stream) noise() []byte {
	noise := fmt.Appendf(nil, ": a comment\n\nevent: weather\ndata: {\"type\":\"weather\",\"sky\":\"blue\"}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"mood_delta\",\"mood\":\"fine\"}}\n\n", s.index)
	if s.reply.framed {
		return framed(noise)
	}
	return noise
}

func (s *stream) event(name string, v any) error {
	s.buf = sim.AppendEvent(s.buf[:0], name, v)
	return s.Send(s.buf)
}

// whole returns the answer as one JSON object.
func (r *reply) whole() any {
	content := []any{}
	for i := range r.blocks {
		content = append(content, r.content(&r.blocks[i]))
	}
	m := r.message(content, r.usage())
	maps.Copy(m, r.ending())
	r.reportEdits(m)
	return m
}

// reportEdits adds the edits of the context to the end of an answer.
func (r *reply) reportEdits(to map[string]any) {
	if e := r.call.edits; e.asked {
		to["context_management"] = map[string]any{"applied_edits": append([]any{}, e.applied...)}
	}
}
