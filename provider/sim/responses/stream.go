package responses

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// sent returns the answer in both forms: whole, and as server-sent events. [docs: streaming-responses]
func (r *reply) sent() sim.Reply {
	endless := slices.ContainsFunc(r.items, func(o output) bool { return o.endless })
	return sim.Reply{Deltas: r.count(), Endless: endless, Whole: func() any { return r.final(false) }, Stream: func(p *sim.Player) sim.Stream {
		s := &stream{Player: p, reply: r}
		return sim.Stream{Run: s.run, Noise: s.noise, Fail: s.fail, Comment: ": still here\n\n", Ping: "event: keepalive\ndata: {\"type\":\"keepalive\"}\n\n"}
	}}
}

// stream sends one answer.
type stream struct {
	*sim.Player
	reply    *reply
	buf      []byte
	sequence int
	index    int // of the item that is being sent
}

// fail sends an error in mid-stream: an event for it, and the end of the response.
func (s *stream) fail(e *sim.Error, _ sim.Fault) {
	if s.event("error", map[string]any{"error": errorObject(e)}) != nil {
		return
	}
	failed := s.reply.response("failed", []any{}, nil)
	failed["error"] = map[string]any{"code": e.Code, "message": e.Text}
	s.event("response.failed", map[string]any{"response": failed}) // nothing follows, so an error here changes nothing
}

func (s *stream) run() error {
	for _, word := range []string{"created", "in_progress"} {
		if err := s.event("response."+word, map[string]any{"response": s.envelope(s.reply.response("in_progress", []any{}, nil))}); err != nil {
			return err
		}
	}
	for i := range s.reply.items {
		s.index = i
		if err := s.item(i, &s.reply.items[i]); err != nil {
			return err
		}
		if err := s.Push(); err != nil {
			return err
		}
	}
	if err := s.End(); err != nil {
		return err
	}
	final := s.reply.final(true)
	return s.event("response."+final["status"].(string), map[string]any{"response": s.envelope(final)})
}

// envelope returns the response for an event. For Copilot even its id changes.
func (s *stream) envelope(response map[string]any) map[string]any {
	if s.reply.call.door.copilot {
		response["id"] = s.reply.rotated(0, strconv.Itoa(s.sequence))
	}
	return response
}

// itemID returns the id of an item for an event.
func (s *stream) itemID(i int) string {
	if s.reply.call.door.copilot {
		return s.reply.rotated(i, strconv.Itoa(s.sequence))
	}
	return s.reply.items[i].id
}

// item sends one item: its start, its parts and its end. The item in its start may be incomplete.
func (s *stream) item(i int, o *output) error {
	start, ok := s.reply.item(o, 0).(map[string]any)
	if ok && o.kind != "raw" {
		start["id"] = s.itemID(i)
		start["status"] = "in_progress"
		switch o.kind {
		case "reasoning":
			delete(start, "status")
			delete(start, "content")
			start["summary"] = []any{}
			if sealed := o.sealed[1]; sealed != "" {
				start["encrypted_content"] = sealed[:len(sealed)/3]
			}
		case "function_call":
			start["arguments"] = ""
		case "web_search_call":
			delete(start, "action")
		case "code_interpreter_call":
			start["code"], start["outputs"] = "", []any{}
		case "message":
			start["content"] = []any{}
		}
	}
	if err := s.event("response.output_item.added", map[string]any{"output_index": i, "item": any(start)}); err != nil {
		return err
	}
	for part := range o.parts {
		if err := s.part(i, part, o); err != nil {
			return err
		}
	}
	if isServed(o.kind) {
		if err := s.served(i, o); err != nil {
			return err
		}
	}
	if o.kind == "reasoning" && o.cut {
		return nil
	}
	return s.event("response.output_item.done", map[string]any{"output_index": i, "item": s.reply.item(o, 0)})
}

// words are the names of the events for a kind of part: its start and end, its delta, the end of its text, and its index.
type eventNames struct{ part, delta, kind, member, index string }

func (s *stream) words(o *output) eventNames {
	switch {
	case o.kind == "function_call":
		return eventNames{delta: "response.function_call_arguments", member: "arguments"}
	case o.kind == "reasoning" && s.reply.call.model.open:
		return eventNames{"response.reasoning_part", "response.reasoning_text", "reasoning_text", "text", "content_index"}
	case o.kind == "reasoning":
		return eventNames{"response.reasoning_summary_part", "response.reasoning_summary_text", "summary_text", "text", "summary_index"}
	case o.refusal:
		return eventNames{"response.content_part", "response.refusal", "refusal", "refusal", "content_index"}
	}
	return eventNames{"response.content_part", "response.output_text", "output_text", "text", "content_index"}
}

func (s *stream) part(i, part int, o *output) error {
	w := s.words(o)
	framed := func(ending string, more map[string]any) error {
		m := map[string]any{"output_index": i, "item_id": s.itemID(i)}
		if w.index != "" {
			m[w.index] = part
		}
		for k, v := range more {
			m[k] = v
		}
		return s.event(ending, m)
	}
	// Copilot may keep a summary for the end of its item.
	silent := s.reply.call.door.copilot && o.kind == "reasoning" && len(o.parts) > 1
	if w.part != "" && !silent {
		if err := framed(w.part+".added", map[string]any{"part": map[string]any{"type": w.kind, w.member: ""}}); err != nil {
			return err
		}
	}
	for {
		for _, piece := range o.parts[part] {
			if err := s.piece(i, part, w, piece, silent); err != nil {
				return err
			}
		}
		if !o.endless {
			break
		}
	}
	if silent {
		return nil
	}
	for n, cited := range annotations(o.pages) {
		if err := framed("response.output_text.annotation.added", map[string]any{"annotation_index": n, "annotation": cited}); err != nil {
			return err
		}
	}
	text := o.text(part)
	if err := framed(w.delta+".done", map[string]any{w.member: text}); err != nil || w.part == "" {
		return err
	}
	return framed(w.part+".done", map[string]any{"part": map[string]any{"type": w.kind, w.member: text}})
}

// piece sends one delta when it is due.
func (s *stream) piece(i, part int, w eventNames, text string, silent bool) error {
	if err := s.Player.Next(); err != nil {
		return err
	}
	if silent {
		return nil
	}
	if s.reply.call.door.copilot && w.member == "arguments" {
		text = base64.StdEncoding.EncodeToString([]byte(s.reply.rotated(i, text))) // ciphertext
	}
	if err := s.delta(i, part, w, text); err != nil {
		return err
	}
	return s.Push()
}

// delta sends most events, so it writes its JSON directly.
func (s *stream) delta(i, part int, w eventNames, text string) error {
	b := append(s.buf[:0], "event: "...)
	b = append(b, w.delta...)
	b = append(b, ".delta\ndata: {\"type\":\""...)
	b = append(b, w.delta...)
	b = append(b, `.delta","sequence_number":`...)
	b = strconv.AppendInt(b, int64(s.sequence), 10)
	b = append(b, `,"item_id":`...)
	id := s.itemID(i)
	if s.Answer.Fault == sim.FaultCallIDs {
		id = fmt.Sprintf("%s_%d", id, s.sequence)
	}
	b = strict.AppendQuoted(b, id)
	b = append(b, `,"output_index":`...)
	b = strconv.AppendInt(b, int64(i), 10)
	if w.index != "" {
		b = append(b, `,"`...)
		b = append(b, w.index...)
		b = append(b, `":`...)
		b = strconv.AppendInt(b, int64(part), 10)
	}
	b = append(b, `,"delta":`...)
	b = strict.AppendQuoted(b, text)
	if !s.reply.call.plain {
		b = append(b, `,"obfuscation":"`...)
		b = append(b, "k3xQ7vLp0sWm"[:12-min(12, len(text)%13)]...)
		b = append(b, '"')
	}
	b = append(b, "}\n\n"...)
	s.buf = b
	s.sequence++
	return s.Send(b)
}

// noise returns what a client must ignore: comments, unknown events and unknown progress of items.
func (s *stream) noise() []byte {
	return fmt.Appendf(nil, ": a comment\n\nevent: response.weather\ndata: {\"type\":\"response.weather\",\"sky\":\"blue\"}\n\nevent: response.mood.delta\ndata: {\"type\":\"response.mood.delta\",\"output_index\":%d,\"delta\":\"fine\"}\n\n", s.index)
}

func (s *stream) event(name string, v map[string]any) error {
	v["type"], v["sequence_number"] = name, s.sequence
	s.sequence++
	s.buf = sim.AppendEvent(s.buf[:0], name, v)
	return s.Send(s.buf)
}

// served sends the progress of a tool that the vendor runs.
func (s *stream) served(i int, o *output) error {
	for _, word := range map[string][]string{"web_search_call": {"in_progress", "searching", "completed"},
		"code_interpreter_call": {"in_progress", "interpreting", "completed"}}[o.kind] {
		if err := s.event("response."+o.kind+"."+word, map[string]any{"output_index": i, "item_id": s.itemID(i)}); err != nil {
			return err
		}
	}
	return nil
}
