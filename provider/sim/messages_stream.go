package sim

import (
	"fmt"
	"strconv"
)

// streamReply sends an answer as server-sent events. [docs: streaming]
func (ex *exchange) streamReply(r *messagesReply, p *player) {
	ex.w.Header().Set("Cache-Control", "no-cache")
	s := &messagesStream{player: p, reply: r}
	ex.stream(p, "text/event-stream; charset=utf-8", s.run, func(f Fault) {
		e := messagesFaults[f]
		s.event("error", map[string]any{"type": "error", "error": map[string]any{"type": e.kind, "message": e.text}})
	})
}

// messagesStream is one answer on its way.
type messagesStream struct {
	*player
	reply *messagesReply
	buf   []byte
	quiet int // deltas since the client last heard of anything
}

func (s *messagesStream) run() error {
	switch s.answer.Fault {
	case FaultComments:
		return s.repeat([]byte(": still here\n\n"))
	case FaultPings:
		return s.repeat([]byte("event: ping\ndata: {\"type\": \"ping\"}\n\n"))
	}
	usage := s.reply.inputUsage()
	usage["output_tokens"] = min(1, s.reply.output)
	if err := s.event("message_start", map[string]any{"type": "message_start", "message": s.reply.message([]any{}, usage)}); err != nil {
		return err
	}
	for i := range s.reply.blocks {
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
	if b.compacted() {
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
	if s.gap > 0 {
		return s.flush()
	}
	return nil
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
		if m, ok := r.content(b).(map[string]any); ok && b.compacted() {
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
	if s.answer.Fault == FaultNoise && s.deltas%3 == 0 {
		if err := s.noise(i); err != nil {
			return err
		}
	}
	if err := s.say(i, b, text); err != nil || s.gap == 0 {
		return err
	}
	return s.flush()
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
	return s.write([]byte("event: ping\ndata: {\"type\": \"ping\"}\n\n"))
}

// noise is what a client has to read over: comments, events and deltas that it does not know. [docs: streaming]
func (s *messagesStream) noise(i int) error {
	s.buf = fmt.Appendf(s.buf[:0], ": a comment\n\nevent: weather\ndata: {\"type\":\"weather\",\"sky\":\"blue\"}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"mood_delta\",\"mood\":\"fine\"}}\n\n", i)
	return s.write(s.buf)
}

func (s *messagesStream) event(name string, v any) error {
	s.buf = appendEvent(s.buf[:0], name, v)
	return s.write(s.buf)
}

// wholeReply sends an answer as one JSON object, after as long as its stream would take.
func (ex *exchange) wholeReply(r *messagesReply, p *player) {
	endless := p.answer.Fault == FaultPings || p.answer.Fault == FaultComments
	for _, b := range r.blocks {
		endless = endless || b.Endless
	}
	if !p.compose(r.count(), endless) {
		return
	}
	content := []any{}
	for i := range r.blocks {
		content = append(content, r.content(&r.blocks[i]))
	}
	m := r.message(content, r.usage())
	for k, v := range r.ending() {
		m[k] = v
	}
	r.tellEdits(m)
	ex.w.Header().Set("Content-Type", "application/json")
	body := mustJSON(m)
	ex.sendWhole(body, p)
}
