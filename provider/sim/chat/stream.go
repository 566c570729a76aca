package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// sent returns the answer in both forms: whole, and in chunks. id is that of the request.
func (r *reply) sent(id string) sim.Reply {
	endless := slices.ContainsFunc(r.parts, func(p part) bool { return p.Endless })
	whole := func() any {
		return map[string]any{"id": r.id, "object": "chat.completion", "created": 1, "model": r.served,
			"choices": []any{map[string]any{"index": 0, "message": r.message(), "finish_reason": r.finish}}, "usage": r.usage()}
	}
	return sim.Reply{Deltas: 10, Endless: endless, Whole: whole, Stream: func(p *sim.Player) sim.Stream {
		s := &stream{Player: p, reply: r, host: r.call.host}
		comment := cmp.Or(s.host.comment, ": keep-alive\n\n") // these hosts have no events that serve as pings
		return sim.Stream{Run: s.run, Noise: noise, Comment: comment, Ping: comment, Fail: func(e *sim.Error, _ sim.Fault) { s.fail(e, id) }}
	}}
}

// noise returns what a client must ignore.
func noise() []byte {
	return []byte(": a comment\n\ndata: {\"object\":\"weather\",\"sky\":\"blue\"}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"mood\":\"fine\"}}]}\n\n")
}

// stream sends one answer.
type stream struct {
	*sim.Player
	reply *reply
	host  *hostRules
	buf   []byte
	shown string // the text of the thinking part that is being sent
	late  []map[string]any
}

// fail sends an error in mid-stream, in the host's form. One host sends nothing and ends the body.
func (s *stream) fail(e *sim.Error, id string) {
	if s.host.swallows {
		s.chunk(map[string]any{}, nil)
		return
	}
	body := sim.JSON(s.host.errorBody(e, id))
	if s.host.name == "groq" {
		s.Send([]byte("event: error\n"))
	}
	s.Send([]byte("data: " + string(body) + "\n\n")) // nothing follows, so an error here changes nothing
}

func (s *stream) run() error {
	if s.host.comment != "" {
		if err := s.Send([]byte(s.host.comment)); err != nil {
			return err
		}
	}
	if s.host.name == "copilot" {
		if err := s.event(map[string]any{"choices": []any{}, "prompt_filter_results": []any{}}); err != nil {
			return err
		}
	}
	first := map[string]any{"role": "assistant", "content": ""}
	if s.host.field == "reasoning_content" && s.host.filler == "null" {
		first = map[string]any{"role": "assistant", "content": nil, "reasoning_content": ""}
	}
	if err := s.chunk(first, nil); err != nil {
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
	return s.ending()
}

// ending sends the finish, the usage at its place, and the last line.
func (s *stream) ending() error {
	for _, delta := range s.late {
		if err := s.chunk(delta, nil); err != nil {
			return err
		}
	}
	s.late = nil
	if s.Answer.Fault == sim.FaultNoFinishReason {
		return s.Send([]byte("data: [DONE]\n\n"))
	}
	usage := s.reply.usage()
	more := map[string]any{}
	wanted := s.host.always || s.reply.call.usage
	switch {
	case !wanted:
	case s.host.usage == "finish":
		more["usage"] = usage
	case s.host.usage == "groq":
		more["usage"], more["x_groq"] = usage, map[string]any{"id": s.reply.id, "usage": usage}
	}
	choice := map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": s.reply.finish}
	if s.host.errors == "minimax" {
		more["base_resp"] = map[string]any{"status_code": 0, "status_msg": ""}
	}
	if wanted && s.host.usage == "choice" {
		choice["usage"] = usage
	}
	if s.host.details == "openrouter" {
		choice["native_finish_reason"] = s.reply.finish
	}
	more["choices"] = []any{choice}
	if err := s.event(more); err != nil {
		return err
	}
	if wanted && s.host.usage == "trailing" {
		if err := s.event(map[string]any{"choices": []any{}, "usage": usage}); err != nil {
			return err
		}
	}
	if s.host.noDone || s.Answer.Fault == sim.FaultNoLastEvent {
		return s.Flush()
	}
	return s.Send([]byte("data: [DONE]\n\n"))
}

// shows reports whether thinking is sent. inline reports whether it is sent between tags.
func (r *reply) shows() (shown, inline bool) {
	c := r.call
	switch {
	case c.model.hidden || c.mute:
		return false, false
	case c.host.errors == "minimax", c.host.name == "groq", c.host.name == "llamacpp":
		return true, !c.split
	}
	return c.host.field != "" || c.host.array || c.host.tags[0] != "", c.host.field == "" && !c.host.array
}

func (h *hostRules) tagPair() (string, string) {
	if h.tags[0] != "" {
		return h.tags[0], h.tags[1]
	}
	return "<think>", "</think>"
}

func (s *stream) part(p *part) error {
	s.shown = ""
	shown, inline := s.reply.shows()
	open, closing := s.host.tagPair()
	thinking := p.Kind == sim.Thinking
	if thinking && inline && shown && len(p.pieces) > 0 {
		if err := s.chunk(map[string]any{"content": open + "\n"}, nil); err != nil {
			return err
		}
	}
	if p.Kind == sim.Redacted {
		return s.withheld(p)
	}
	if p.Kind == sim.Image || p.Kind == sim.Sources {
		return s.media(p.Part)
	}
	if p.Kind == sim.Raw { // members of a delta
		var delta map[string]any
		if err := json.Unmarshal(p.Raw, &delta); err != nil {
			return err
		}
		return s.chunk(delta, nil)
	}
	for {
		for i, piece := range p.pieces {
			if err := s.Player.Next(); err != nil {
				return err
			}
			if err := s.piece(p, piece, i == 0, i == len(p.pieces)-1, shown, inline); err != nil {
				return err
			}
			if err := s.Push(); err != nil {
				return err
			}
		}
		if !p.Endless {
			break
		}
	}
	if thinking && inline && shown && len(p.pieces) > 0 {
		return s.chunk(map[string]any{"content": "\n" + closing + "\n\n"}, nil)
	}
	if s.host.details == "openrouter" {
		s.sealLater(p)
	}
	return nil
}

// media sends an image or sources. Pages without a place in the text go next to the choices, as with hosts that search before
// they answer.
func (s *stream) media(p sim.Part) error {
	if p.Kind == sim.Sources && !slices.ContainsFunc(p.Pages, func(page sim.Page) bool { return page.End > 0 }) {
		m := map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": ""}, "finish_reason": nil}}}
		m["search_results"], m["citations"] = searchResults(p.Pages)
		return s.event(m)
	}
	return s.chunk(members(p), nil)
}

// sealLater keeps a signature until the next delta, as hosts do. [openrouter: issues]
func (s *stream) sealLater(p *part) {
	if p.sealed == "" {
		return
	}
	detail := map[string]any{"type": "reasoning.encrypted", "data": p.sealed, "id": fmt.Sprintf("rs_%s%d", s.reply.id[9:21], p.thought), "format": s.format(), "index": p.thought}
	if s.format() == "anthropic-claude-v1" {
		detail = map[string]any{"type": "reasoning.text", "signature": p.sealed, "format": s.format(), "index": p.thought}
	}
	s.late = append(s.late, map[string]any{"content": "", "reasoning_details": []any{detail}})
}

func (s *stream) format() string {
	switch maker(s.reply.call.model.id) {
	case "anthropic":
		return "anthropic-claude-v1"
	case "openai":
		return "openai-responses-v1"
	case "google":
		return "google-gemini-v1"
	case "x":
		return "xai-responses-v1"
	}
	return "unknown"
}

// withheld sends thinking as ciphertext only.
func (s *stream) withheld(p *part) error {
	if s.host.details != "openrouter" {
		return nil
	}
	return s.chunk(map[string]any{"content": "", "reasoning": nil, "reasoning_details": []any{map[string]any{
		"type": "reasoning.encrypted", "data": p.sealed, "format": s.format(), "index": p.thought}}}, nil)
}

// piece sends one delta. Hidden thinking takes the same time.
func (s *stream) piece(p *part, text string, first, last, shown, inline bool) error {
	switch {
	case p.Kind == sim.Thinking && !shown:
		if s.host.details == "openrouter" && last && s.reply.call.model.hidden {
			return s.withheld(p)
		}
		return nil
	case p.Kind == sim.Thinking && !inline:
		return s.chunk(s.thought(p, text, last), nil)
	case p.Kind == sim.Thinking:
		return s.say("content", text)
	case p.Kind == sim.Call || p.Kind == sim.ServerCall:
		call := map[string]any{"index": p.index, "function": map[string]any{"arguments": text}}
		if first {
			call["id"], call["type"] = p.ID, "function"
			call["function"] = map[string]any{"name": p.Name, "arguments": text}
			if p.sealed != "" && s.host.signed {
				call["extra_content"] = map[string]any{"google": map[string]any{"thought_signature": p.sealed}}
			}
		}
		if s.Answer.Fault == sim.FaultCallIDs && !first {
			call["id"] = fmt.Sprintf("%s_%d", p.ID, s.Deltas)
		}
		delta := map[string]any{"tool_calls": []any{call}}
		if s.Answer.Fault == sim.FaultMessageSignature {
			delete(call, "id")
			delete(call, "extra_content")
			if p.sealed != "" {
				delta["thought_signature"] = p.sealed
			}
		}
		s.ride(delta)
		return s.chunk(delta, s.takeLate())
	}
	if first && (s.reply.opaque != "" || len(s.late) > 0) {
		delta := map[string]any{"content": text}
		s.ride(delta)
		return s.chunk(delta, s.takeLate())
	}
	return s.say("content", text)
}

// ride adds the opaque data to one delta.
func (s *stream) ride(delta map[string]any) {
	if s.reply.opaque != "" {
		delta["reasoning_opaque"] = s.reply.opaque
		s.reply.opaque = ""
	}
}

// takeLate returns the signature that sealLater kept.
func (s *stream) takeLate() []map[string]any {
	late := s.late
	s.late = nil
	return late
}

// thought returns a delta of thinking in the host's form.
func (s *stream) thought(p *part, text string, last bool) map[string]any {
	s.shown += text
	if s.host.array {
		part := map[string]any{"type": "thinking", "thinking": []any{map[string]any{"type": "text", "text": text}}}
		if last {
			part["closed"] = true
		}
		return map[string]any{"content": []any{part}}
	}
	delta := map[string]any{s.host.field: text}
	switch s.host.filler {
	case "null":
		delta["content"] = nil
	case "empty":
		delta["content"] = ""
	}
	switch s.host.details {
	case "minimax": // each delta repeats all thinking so far
		delta["reasoning_details"] = []any{map[string]any{"type": "reasoning.text", "id": "reasoning-text-1", "format": "MiniMax-response-v1", "index": 0, "text": s.shown}}
		delete(delta, s.host.field)
	case "openrouter":
		member, kind := "text", "reasoning.text"
		if f := s.format(); f == "openai-responses-v1" || f == "xai-responses-v1" {
			member, kind = "summary", "reasoning.summary"
		}
		delta["reasoning_details"] = []any{map[string]any{"type": kind, member: text, "format": s.format(), "index": p.thought}}
	}
	if s.Player != nil && s.Answer.Fault == sim.FaultDetailsAlone { // a whole answer has no player
		if delete(delta, s.host.field); delta["reasoning_details"] == nil {
			delta["reasoning_details"] = []any{map[string]any{"type": "reasoning.text", "text": text, "index": p.thought}}
		}
		delta["content"] = ""
	}
	return delta
}

// say sends most chunks, so it writes its JSON directly.
func (s *stream) say(member, text string) error {
	b := append(s.buf[:0], `data: {"id":"`...)
	b = append(b, s.reply.id...)
	b = append(b, `","object":"chat.completion.chunk","created":1,"model":`...)
	b = strict.AppendQuoted(b, s.reply.served)
	b = append(b, `,"choices":[{"index":0,"delta":{"`...)
	b = append(b, member...)
	b = append(b, `":`...)
	b = strict.AppendQuoted(b, text)
	b = append(b, "},\"finish_reason\":null}]}\n\n"...)
	s.buf = b
	return s.Send(b)
}

// chunk sends a delta, and then those that had to wait for it.
func (s *stream) chunk(delta map[string]any, after []map[string]any) error {
	if err := s.event(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": nil}}}); err != nil {
		return err
	}
	for _, d := range after {
		if err := s.chunk(d, nil); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) event(m map[string]any) error {
	m["id"], m["object"], m["created"], m["model"] = s.reply.id, "chat.completion.chunk", 1, s.reply.served
	return s.Send([]byte("data: " + string(sim.JSON(m)) + "\n\n"))
}

// message returns the message of a whole answer.
func (r *reply) message() map[string]any {
	h := r.call.host
	shown, inline := r.shows()
	open, closing := h.tagPair()
	var text, thought strings.Builder
	var calls, details, parts []any
	media := map[string]any{}
	s := &stream{reply: r, host: h}
	for i := range r.parts {
		p := &r.parts[i]
		switch {
		case p.Kind == sim.Thinking && shown && inline:
			text.WriteString(open + "\n" + p.text() + "\n" + closing + "\n\n")
		case p.Kind == sim.Thinking && shown && h.array:
			parts = append(parts, map[string]any{"type": "thinking", "thinking": []any{map[string]any{"type": "text", "text": p.text()}}, "closed": true})
		case p.Kind == sim.Thinking || p.Kind == sim.Redacted:
			if p.Kind == sim.Thinking && shown {
				thought.WriteString(p.text())
			}
			details = append(details, s.wholeDetails(p, shown)...)
		case p.Kind == sim.Call || p.Kind == sim.ServerCall:
			call := map[string]any{"id": p.ID, "type": "function", "function": map[string]any{"name": p.Name, "arguments": p.text()}}
			if p.sealed != "" && s.host.signed {
				call["extra_content"] = map[string]any{"google": map[string]any{"thought_signature": p.sealed}}
			}
			calls, details = append(calls, call), append(details, s.wholeDetails(p, shown)...)
		case p.Kind == sim.Image || p.Kind == sim.Sources:
			for name, value := range members(p.Part) {
				if name != "content" {
					media[name] = value
				}
			}
		case p.Kind == sim.Raw:
		default:
			text.WriteString(p.text())
		}
	}
	m := map[string]any{"role": "assistant", "content": text.String()}
	maps.Copy(m, media)
	if parts != nil {
		m["content"] = append(parts, map[string]any{"type": "text", "text": text.String()})
	}
	if thought.Len() > 0 && h.field != "" {
		m[h.field] = thought.String()
	}
	if details != nil {
		m["reasoning_details"] = details
	}
	if r.opaque != "" {
		m["reasoning_opaque"] = r.opaque
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	return m
}

// wholeDetails returns the elements of one block of thinking, or of a signed call.
func (s *stream) wholeDetails(p *part, shown bool) []any {
	if s.host.details == "" {
		return nil
	}
	var list []any
	if p.Kind == sim.Thinking && shown {
		var detail map[string]any
		raw := sim.JSON(s.thought(p, p.text(), true)["reasoning_details"])
		var whole []map[string]any
		if json.Unmarshal(raw, &whole) == nil && len(whole) == 1 {
			detail = whole[0]
		}
		if s.host.details == "openrouter" && s.format() == "anthropic-claude-v1" && p.sealed != "" {
			detail["signature"] = p.sealed
			return []any{detail}
		}
		list = append(list, detail)
	}
	if s.host.details == "openrouter" && p.sealed != "" {
		list = append(list, map[string]any{"type": "reasoning.encrypted", "data": p.sealed, "format": s.format(), "index": p.thought})
	}
	return list
}

// members returns a part as the members of a delta (openrouter.ai: image-generation, web-search).
func members(p sim.Part) map[string]any {
	if p.Kind == sim.Image {
		return map[string]any{"content": "", "images": []any{map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/png;base64," + p.Base64()}}}}
	}
	var list []any
	for _, page := range p.Pages {
		cited := map[string]any{"url": page.URL, "title": page.Title, "content": page.Quote}
		if page.End > 0 {
			cited["start_index"], cited["end_index"] = page.Start, page.End
		}
		list = append(list, map[string]any{"type": "url_citation", "url_citation": cited})
	}
	return map[string]any{"content": "", "annotations": list}
}

// searchResults returns the pages in the form of hosts that search before they answer (docs.perplexity.ai).
func searchResults(pages []sim.Page) (results, citations []any) {
	for _, page := range pages {
		results = append(results, map[string]any{"url": page.URL, "title": page.Title, "date": nil})
		citations = append(citations, page.URL)
	}
	return results, citations
}
