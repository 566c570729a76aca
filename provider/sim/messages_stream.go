package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// sent is an answer as the server sends it, whole or as server-sent events. [docs: streaming]
func (r *messagesReply) sent() Reply {
	endless := slices.ContainsFunc(r.blocks, func(b messagesPart) bool { return b.Endless })
	return Reply{Deltas: r.count(), Endless: endless, Whole: r.whole, Stream: func(p *player) Stream {
		s := &messagesStream{player: p, reply: r}
		return Stream{Run: s.run, Noise: s.noise, Comment: ": still here\n\n", Ping: messagesPing, Fail: func(e *Error, _ Fault) {
			s.event("error", map[string]any{"type": "error", "error": messagesErrorObject(e)})
		}}
	}}
}

// messagesPing is the event that says nothing.
const messagesPing = "event: ping\ndata: {\"type\": \"ping\"}\n\n"

// messagesStream is one answer on its way.
type messagesStream struct {
	*player
	reply *messagesReply
	buf   []byte
	index int // of the block that is being sent
	quiet int // deltas since the client last heard of anything
}

func (s *messagesStream) run() error {
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
	if err := s.end(); err != nil {
		return err
	}
	delta := map[string]any{"type": "message_delta", "delta": s.reply.ending(), "usage": s.reply.usage()}
	s.reply.tellEdits(delta)
	if err := s.event("message_delta", delta); err != nil {
		return err
	}
	if s.answer.Fault == FaultNoLastEvent {
		return nil
	}
	return s.event("message_stop", map[string]any{"type": "message_stop"})
}

// block sends one block: its start, its deltas, its signature, its end.
func (s *messagesStream) block(i int, b *messagesPart) error {
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
			if n > 0 && b.Kind == Call && s.answer.Fault == FaultCallIDs {
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
	if b.Kind == Call && len(b.pieces) == 0 {
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
	if b.Kind == Thinking && b.signature != "" {
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
	return s.pushed()
}

// opening is a block as it is at its start.
func (r *messagesReply) opening(b *messagesPart) any {
	switch b.Kind {
	case Text:
		return map[string]any{"type": "text", "text": ""}
	case Thinking:
		return map[string]any{"type": "thinking", "thinking": "", "signature": ""}
	case Call, ServerCall:
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

// silentDeltas is after how many deltas that are not shown a ping comes.
const silentDeltas = 25

// piece sends one delta when it is due. Thinking that is not shown takes its time all the same.
func (s *messagesStream) piece(i int, b *messagesPart, text string) error {
	if err := s.player.delta(); err != nil {
		return err
	}
	if err := s.say(i, b, text); err != nil {
		return err
	}
	return s.pushed()
}

func (s *messagesStream) say(i int, b *messagesPart, text string) error {
	switch {
	case b.Kind == Call || b.Kind == ServerCall:
		return s.delta(i, "input_json_delta", "partial_json", text)
	case b.Kind == Text:
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
func (s *messagesStream) restart(i int, b *messagesPart) error {
	again := s.reply.opening(b).(map[string]any)
	again["id"] = fmt.Sprintf("%v_%d", again["id"], s.deltas)
	return s.event("content_block_start", map[string]any{"type": "content_block_start", "index": i, "content_block": again})
}

// tokensPerTick is about what silentDeltas deltas of thinking cost. The vendor's counts are increments of a fixed
// quantum, to be summed up, and no bill. [SDK: BetaThinkingDelta]
const tokensPerTick = 200

func (s *messagesStream) count(i int, text, estimate string) error {
	s.buf = fmt.Appendf(s.buf[:0], "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"thinking_delta\",\"estimated_tokens\":%s,\"thinking\":", i, estimate)
	s.buf = quote(s.buf, text)
	s.buf = append(s.buf, "}}\n\n"...)
	return s.write(s.buf)
}

// delta is the hot path: an event put together by hand.
func (s *messagesStream) delta(i int, kind, member, text string) error {
	b := append(s.buf[:0], "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":"...)
	b = strconv.AppendInt(b, int64(i), 10)
	b = append(b, `,"delta":{"type":"`...)
	b = append(b, kind...)
	b = append(b, `","`...)
	b = append(b, member...)
	b = append(b, `":`...)
	b = quote(b, text)
	b = append(b, "}}\n\n"...)
	s.buf = b
	return s.write(b)
}

func (s *messagesStream) ping() error {
	return s.write([]byte(messagesPing))
}

// noise is what a client has to read over: comments, events and deltas that it does not know. [docs: streaming]
func (s *messagesStream) noise() []byte {
	return fmt.Appendf(nil, ": a comment\n\nevent: weather\ndata: {\"type\":\"weather\",\"sky\":\"blue\"}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"mood_delta\",\"mood\":\"fine\"}}\n\n", s.index)
}

func (s *messagesStream) event(name string, v any) error {
	s.buf = appendEvent(s.buf[:0], name, v)
	return s.write(s.buf)
}

// whole is the answer as one JSON object.
func (r *messagesReply) whole() any {
	content := []any{}
	for i := range r.blocks {
		content = append(content, r.content(&r.blocks[i]))
	}
	m := r.message(content, r.usage())
	maps.Copy(m, r.ending())
	r.tellEdits(m)
	return m
}
