package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// geminiReply is an answer in full, before it is sent.
type geminiReply struct {
	call    *geminiCall
	id      string
	pieces  []geminiPiece
	reason  string // finishReason
	message string
	cut     bool // the answer ends before its natural end: nothing is signed any more
}

// geminiPiece is what one chunk brings. A nil part is thinking that is not shown.
type geminiPiece struct {
	part    map[string]any
	thought int // tokens
	output  int
	endless bool
	found   map[string]any // groundingMetadata
}

// reply makes the answer to a call.
func (c *geminiCall) reply(s sealer, a Answer) *geminiReply {
	seed := c.ask.seed.with([]byte("reply"))
	r := &geminiReply{call: c, id: seed.String(), reason: "STOP"}
	parts := a.Parts
	if parts == nil {
		parts = a.compose(c.ask)
	}
	rng := newRand(seed)
	calls := 0
	signed := len(c.tools) == 0 && !c.model.signs // the older generation signs only where functions are declared
	for i, p := range parts {
		switch p.Kind {
		case Thinking, Redacted: // this vendor withholds nothing by itself: it is not shown, and billed
			for _, text := range deltas(rng, p.Text) {
				piece := geminiPiece{thought: thinkingFactor * tokens(text), endless: p.Endless}
				if c.include && p.Kind == Thinking {
					piece.part = map[string]any{"text": text, "thought": true}
				}
				r.pieces = append(r.pieces, piece)
			}
		case Call, ServerCall:
			piece := geminiPiece{part: r.callPart(p, calls), output: tokens(p.Name + string(p.Input))}
			if !signed && !p.Unsigned {
				piece.part, signed = c.signed(piece.part), true
			}
			calls++
			r.pieces = append(r.pieces, piece)
		case Image:
			piece := geminiPiece{part: map[string]any{"inlineData": map[string]any{"mimeType": "image/png", "data": p.image()}}, output: 258}
			if c.model.signs {
				piece.part, signed = c.signed(piece.part), true
			}
			r.pieces = append(r.pieces, piece)
		case Sources:
			r.pieces = append(r.pieces, geminiPiece{part: map[string]any{"text": ""}, found: grounding(p.Pages, lastText(parts[:i]))})
		case Raw:
			var raw map[string]any
			if err := json.Unmarshal(p.Raw, &raw); err == nil {
				r.pieces = append(r.pieces, geminiPiece{part: raw, output: tokens(string(p.Raw))})
			}
		default:
			texts := deltas(rng, p.Text)
			for j, text := range texts {
				piece := geminiPiece{part: map[string]any{"text": text}, output: tokens(text), endless: p.Endless}
				first, last := j == 0, j == len(texts)-1 && i == len(parts)-1
				if !signed && !p.Unsigned && (first && !c.model.signs || last && c.model.signs && seed[0]%2 == 0) {
					piece.part, signed = c.signed(piece.part), true
				}
				r.pieces = append(r.pieces, piece)
			}
			if i == len(parts)-1 && c.model.signs && !signed && !p.Unsigned && !p.Endless { // on an empty part of its own
				r.pieces = append(r.pieces, geminiPiece{part: c.signed(map[string]any{"text": ""})})
			}
		}
	}
	r.limit(a)
	return r
}

func (r *geminiReply) callPart(p Part, n int) map[string]any {
	call := map[string]any{"name": p.Name, "args": map[string]any{}}
	if v, err := decode(p.Input); err == nil {
		call["args"] = v
	} else if len(p.Input) > 0 {
		call["args"] = string(p.Input) // a script that wants a call no client can read
	}
	switch {
	case p.ID != "":
		call["id"] = p.ID
	case r.call.model.signs:
		call["id"] = fmt.Sprintf("%s%d", r.id[:7], n)
	}
	return map[string]any{"functionCall": call}
}

// limit ends the answer where maxOutputTokens, a stop sequence or a scripted stop does.
func (r *geminiReply) limit(a Answer) {
	c := r.call
	at, reason := -1, ""
	switch a.Stop {
	case "max_tokens", "model_context_window_exceeded":
		at, reason = pick(a.After, max(1, len(r.pieces)/2)), "MAX_TOKENS"
	case "refusal":
		at, reason = pick(a.After, 0), "SAFETY"
		r.message = "The answer was blocked: " + a.Category
	case "pause_turn":
		if c.resume == 0 {
			at, reason = pick(a.After, max(1, len(r.pieces)/2)), "CONTINUATION"
		}
	case "":
	default:
		r.reason = a.Stop
	}
	if a.Fault.breaks() {
		at = -1 // After is the fault's
	}
	spent := 0
	for i, p := range r.pieces {
		spent += p.thought + p.output
		if at == i || !p.endless && spent > c.maxTokens && i >= c.resume {
			if at != i {
				reason = "MAX_TOKENS"
			}
			r.pieces, r.reason, r.cut = r.pieces[:i], reason, true
			return
		}
	}
	if at >= len(r.pieces) {
		r.reason = reason
	}
	r.stopAt(c.stops)
}

// stopAt ends the answer at the piece that completes a stop sequence.
func (r *geminiReply) stopAt(stops []string) {
	text := ""
	for i, p := range r.pieces {
		s, _ := p.part["text"].(string)
		if p.part["thought"] == true {
			continue
		}
		text += s
		for _, stop := range stops {
			if strings.Contains(text, stop) {
				r.pieces, r.cut = r.pieces[:i], true
				return
			}
		}
	}
}

// usage is the totals of the request so far. The counts of nothing are left out. [docs: UsageMetadata]
func (r *geminiReply) usage(thought, output int) map[string]any {
	u := map[string]any{"promptTokenCount": r.call.tokens, "totalTokenCount": r.call.tokens + thought + output}
	if thought > 0 {
		u["thoughtsTokenCount"] = thought
	}
	if output > 0 {
		u["candidatesTokenCount"] = output
	}
	return u
}

func (r *geminiReply) chunk(candidate map[string]any, thought, output int) map[string]any {
	m := map[string]any{"usageMetadata": r.usage(thought, output), "modelVersion": r.call.model.version(), "responseId": r.id}
	if candidate != nil {
		candidate["index"] = 0
		m["candidates"] = []any{candidate}
	}
	return m
}

func modelContent(parts ...any) map[string]any {
	return map[string]any{"role": "model", "parts": parts}
}

// checkpointEvery is after how many deltas a chunk carries a token.
const checkpointEvery = 5

// geminiStream is one answer on its way.
type geminiStream struct {
	*player
	reply   *geminiReply
	sse     bool
	begun   bool
	thought int
	output  int
}

// sent is an answer as the server sends it: whole, or in chunks, which are events or the elements of a list.
func (r *geminiReply) sent(events bool) Reply {
	endless := slices.ContainsFunc(r.pieces, func(p geminiPiece) bool { return p.endless })
	return Reply{Deltas: len(r.pieces), Endless: endless, Whole: r.whole, Stream: func(p *player) Stream {
		s := &geminiStream{player: p, reply: r, sse: events}
		st := Stream{Run: s.run, Comment: ": still here\r\n\r\n",
			Ping: "data: {\"usageMetadata\": {\"promptTokenCount\": 1}}\r\n\r\n", // this API has no pings: chunks that say nothing new
			Fail: func(e *Error, f Fault) { s.send(geminiErrorBody(e, f)) }}
		if events {
			st.Noise = func() []byte { return []byte(": a comment\r\n\r\ndata: {\"weather\": {\"sky\": \"blue\"}}\r\n\r\n") }
		}
		return st
	}}
}

func (s *geminiStream) run() error {
	r := s.reply
	if r.reason == "SAFETY" && len(r.pieces) == 0 && s.answer.Category == "" {
		m := r.chunk(nil, 0, 0)
		m["promptFeedback"] = map[string]any{"blockReason": "PROHIBITED_CONTENT"}
		if err := s.send(m); err != nil {
			return err
		}
		return s.close()
	}
	for i, p := range r.pieces {
		if i < r.call.resume {
			continue
		}
		for {
			if err := s.piece(i, p); err != nil {
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
	last := map[string]any{"content": modelContent(map[string]any{"text": ""}), "finishReason": r.reason}
	if r.cut {
		last["content"] = map[string]any{"role": "model"} // parts may be missing
	}
	if r.message != "" {
		last["finishMessage"] = r.message
	}
	if r.reason == "CONTINUATION" {
		last["continuationToken"] = r.call.continuation(len(r.pieces))
	}
	if err := s.send(r.chunk(last, s.thought, s.output)); err != nil {
		return err
	}
	return s.close()
}

// piece sends one chunk when it is due. Thinking that is not shown takes its time all the same.
func (s *geminiStream) piece(i int, p geminiPiece) error {
	if err := s.delta(); err != nil {
		return err
	}
	s.thought, s.output = s.thought+p.thought, s.output+p.output
	if p.part == nil {
		return nil
	}
	candidate := map[string]any{"content": modelContent(p.part)}
	if p.found != nil {
		candidate["groundingMetadata"] = p.found
	}
	if s.reply.call.model.continues && (i+1)%checkpointEvery == 0 && !p.endless {
		candidate["continuationToken"] = s.reply.call.continuation(i + 1)
	}
	if err := s.send(s.reply.chunk(candidate, s.thought, s.output)); err != nil {
		return err
	}
	return s.pushed()
}

// send writes one chunk, as an event or as the next of the list.
func (s *geminiStream) send(v any) error {
	data := mustJSON(v)
	b := []byte("data: ")
	if !s.sse {
		b = []byte(",\r\n")
		if !s.begun {
			b = []byte("[")
		}
	}
	s.begun = true
	b = append(b, data...)
	if s.sse {
		b = append(b, "\r\n\r\n"...) // this vendor's line ends
	}
	return s.write(b)
}

// close ends the list.
func (s *geminiStream) close() error {
	if s.sse {
		return nil
	}
	return s.write([]byte("]"))
}

// whole is the answer as one JSON object. Texts are one part each.
func (r *geminiReply) whole() any {
	var parts []any
	var found map[string]any
	thought, output := 0, 0
	for _, piece := range r.pieces {
		thought, output = thought+piece.thought, output+piece.output
		switch {
		case piece.found != nil:
			found = piece.found
		case piece.part != nil:
			parts = joinPart(r.call, parts, piece.part)
		}
	}
	candidate := map[string]any{"content": modelContent(parts...), "finishReason": r.reason}
	if r.reason == "CONTINUATION" {
		candidate["continuationToken"] = r.call.continuation(len(r.pieces))
	}
	if found != nil {
		candidate["groundingMetadata"] = found
	}
	return r.chunk(candidate, thought, output)
}

// joinPart adds a part to a list, text to text of the same kind. A signature comes to stand on the whole.
func joinPart(c *geminiCall, parts []any, p map[string]any) []any {
	text, isText := p["text"].(string)
	last, _ := lastOf(parts).(map[string]any)
	before, wasText := last["text"].(string)
	if !isText || !wasText || (last["thought"] == true) != (p["thought"] == true) {
		return append(parts, p)
	}
	joined := map[string]any{"text": before + text}
	if p["thought"] == true {
		joined["thought"] = true
	}
	if last["thoughtSignature"] != nil || p["thoughtSignature"] != nil {
		joined = c.signed(joined)
	}
	return append(parts[:len(parts)-1:len(parts)-1], joined)
}

func lastOf(parts []any) any {
	if len(parts) == 0 {
		return map[string]any(nil)
	}
	return parts[len(parts)-1]
}

// grounding is the pages as Gemini tells them of a text [docs: google-search].
func grounding(pages []Page, text string) map[string]any {
	chunks, supports := []any{}, []any{}
	for i, page := range pages {
		chunks = append(chunks, map[string]any{"web": map[string]any{"uri": page.URL, "title": page.Title}})
		if page.End > 0 && page.End <= len(text) {
			supports = append(supports, map[string]any{"segment": map[string]any{"startIndex": page.Start, "endIndex": page.End, "text": text[page.Start:page.End]},
				"groundingChunkIndices": []any{i}})
		}
	}
	return map[string]any{"groundingChunks": chunks, "groundingSupports": supports}
}

// lastText is what the last text of some parts says.
func lastText(parts []Part) (text string) {
	for _, p := range parts {
		if p.Kind == Text {
			text = p.Text
		}
	}
	return text
}
