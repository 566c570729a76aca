package gemini

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// reply is a complete answer, before it is sent.
type reply struct {
	call    *call
	served  string // the model that the answer names
	id      string
	pieces  []piece
	queries []string // of the vendor's search
	reason  string   // finishReason
	message string
	cut     bool // the answer is cut off, so its end is not signed
}

// piece is the content of one chunk. A nil part is hidden thinking.
type piece struct {
	part    map[string]any
	thought int // tokens
	output  int
	endless bool
	found   map[string]any // groundingMetadata
}

// reply returns the answer to a call.
func (c *call) reply(s sim.Sealer, a sim.Answer) *reply {
	seed := c.ask.Seed.With([]byte("reply"))
	r := &reply{call: c, served: cmp.Or(a.Served, c.model.version()), id: seed.String(), reason: "STOP"}
	parts := a.Parts
	if parts == nil {
		parts = a.Compose(c.ask)
	}
	rng := sim.NewRand(seed)
	calls := 0
	signed := len(c.tools) == 0 && !c.model.signs // the older generation signs only if functions are declared
	for i, p := range parts {
		switch p.Kind {
		case sim.Thinking, sim.Redacted: // this vendor has no redacted thinking: the thinking is hidden, and billed
			for _, text := range sim.SplitWords(rng, p.Text) {
				piece := piece{thought: sim.ThinkingFactor * sim.Tokens(text), endless: p.Endless}
				if c.include && p.Kind == sim.Thinking {
					piece.part = map[string]any{"text": text, "thought": true}
				}
				r.pieces = append(r.pieces, piece)
			}
		case sim.ServerCall:
			parts, query := c.ran(p, fmt.Sprintf("%ss%d", r.id[:7], i))
			for _, part := range parts {
				r.pieces = append(r.pieces, piece{part: part, output: 8})
			}
			if query != "" {
				r.queries = append(r.queries, query)
			}
		case sim.Call:
			piece := piece{part: r.callPart(p, calls), output: sim.Tokens(p.Name + string(p.Input))}
			if !signed && !p.Unsigned {
				piece.part, signed = c.signed(piece.part), true
			}
			calls++
			r.pieces = append(r.pieces, piece)
		case sim.Image:
			piece := piece{part: map[string]any{"inlineData": map[string]any{"mimeType": "image/png", "data": p.Base64()}}, output: 258}
			if c.model.signs {
				piece.part, signed = c.signed(piece.part), true
			}
			r.pieces = append(r.pieces, piece)
		case sim.Sources:
			r.pieces = append(r.pieces, piece{part: map[string]any{"text": ""}, found: grounding(p.Pages, lastText(parts[:i]))})
		case sim.Raw:
			var raw map[string]any
			if err := json.Unmarshal(p.Raw, &raw); err == nil {
				if c.model.signs && (raw["toolCall"] != nil || raw["toolResponse"] != nil) {
					raw = c.signed(raw)
				}
				r.pieces = append(r.pieces, piece{part: raw, output: sim.Tokens(string(p.Raw))})
			}
		default:
			texts := sim.SplitWords(rng, p.Text)
			for j, text := range texts {
				piece := piece{part: map[string]any{"text": text}, output: sim.Tokens(text), endless: p.Endless}
				first, last := j == 0, j == len(texts)-1 && i == len(parts)-1
				if !signed && !p.Unsigned && (first && !c.model.signs || last && c.model.signs && seed[0]%2 == 0) {
					piece.part, signed = c.signed(piece.part), true
				}
				r.pieces = append(r.pieces, piece)
			}
			if i == len(parts)-1 && c.model.signs && !signed && !p.Unsigned && !p.Endless { // in a separate, empty part
				r.pieces = append(r.pieces, piece{part: c.signed(map[string]any{"text": ""})})
			}
		}
	}
	if len(r.queries) > 0 {
		r.pieces = append(r.pieces, piece{part: map[string]any{"text": ""}, found: searched(r.queries)})
	}
	r.limit(a)
	return r
}

func (r *reply) callPart(p sim.Part, n int) map[string]any {
	call := map[string]any{"name": p.Name, "args": map[string]any{}}
	if v, err := strict.Decode(p.Input); err == nil {
		call["args"] = v
	} else if len(p.Input) > 0 {
		call["args"] = string(p.Input) // a script wants a call that no client can read
	}
	switch {
	case p.ID != "":
		call["id"] = p.ID
	case r.call.model.signs:
		call["id"] = fmt.Sprintf("%s%d", r.id[:7], n)
	}
	return map[string]any{"functionCall": call}
}

// limit cuts the answer at maxOutputTokens, at a stop sequence or at a scripted stop.
func (r *reply) limit(a sim.Answer) {
	c := r.call
	at, reason := -1, ""
	switch a.Stop {
	case "max_tokens", "model_context_window_exceeded":
		at, reason = sim.Default(a.After, max(1, len(r.pieces)/2)), "MAX_TOKENS"
	case "refusal":
		at, reason = sim.Default(a.After, 0), "SAFETY"
		r.message = "The answer was blocked: " + a.Category
	case "pause_turn":
		if c.resume == 0 {
			at, reason = sim.Default(a.After, max(1, len(r.pieces)/2)), "CONTINUATION"
		}
	case "":
	default:
		r.reason = a.Stop
	}
	if a.Fault.Breaks() {
		at = -1 // After belongs to the fault
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

// stopAt cuts the answer at the piece that completes a stop sequence.
func (r *reply) stopAt(stops []string) {
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

// usage returns the totals of the request so far, without counts of 0. [docs: UsageMetadata]
func (r *reply) usage(thought, output int) map[string]any {
	u := map[string]any{"promptTokenCount": r.call.tokens, "totalTokenCount": r.call.tokens + thought + output}
	if cached := r.call.cached; cached > 0 {
		u["cachedContentTokenCount"] = cached
	}
	if thought > 0 {
		u["thoughtsTokenCount"] = thought
	}
	if output > 0 {
		u["candidatesTokenCount"] = output
	}
	return u
}

func (r *reply) chunk(candidate map[string]any, thought, output int) map[string]any {
	m := map[string]any{"usageMetadata": r.usage(thought, output), "modelVersion": r.served, "responseId": r.id}
	if candidate != nil {
		candidate["index"] = 0
		m["candidates"] = []any{candidate}
	}
	return m
}

func modelContent(parts ...any) map[string]any {
	return map[string]any{"role": "model", "parts": parts}
}

// checkpointEvery is the number of deltas between two chunks with a token to continue from.
const checkpointEvery = 5

// stream sends one answer.
type stream struct {
	*sim.Player
	reply   *reply
	sse     bool
	begun   bool
	thought int
	output  int
}

// sent returns the answer in both forms: whole, and in chunks. The chunks are events or the elements of a list.
func (r *reply) sent(events bool) sim.Reply {
	endless := slices.ContainsFunc(r.pieces, func(p piece) bool { return p.endless })
	return sim.Reply{Deltas: len(r.pieces), Endless: endless, Whole: r.whole, Stream: func(p *sim.Player) sim.Stream {
		s := &stream{Player: p, reply: r, sse: events}
		st := sim.Stream{Run: s.run, Comment: ": still here\r\n\r\n",
			Ping: "data: {\"usageMetadata\": {\"promptTokenCount\": 1}}\r\n\r\n", // this API has no pings, so a chunk without news takes their place
			Fail: func(e *sim.Error, f sim.Fault) { s.send(errorBody(e, f)) }}
		if events {
			st.Noise = func() []byte { return []byte(": a comment\r\n\r\ndata: {\"weather\": {\"sky\": \"blue\"}}\r\n\r\n") }
		}
		return st
	}}
}

func (s *stream) run() error {
	r := s.reply
	if r.reason == "SAFETY" && len(r.pieces) == 0 && s.Answer.Category == "" {
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
	if err := s.End(); err != nil {
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

// piece sends one chunk when it is due. Hidden thinking takes the same time.
func (s *stream) piece(i int, p piece) error {
	if err := s.Next(); err != nil {
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
	return s.Push()
}

// send writes one chunk, as an event or as the next element of the list.
func (s *stream) send(v any) error {
	data := sim.JSON(v)
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
		b = append(b, "\r\n\r\n"...) // this vendor ends its lines so
	}
	return s.Send(b)
}

// close ends the list.
func (s *stream) close() error {
	if s.sse {
		return nil
	}
	return s.Send([]byte("]"))
}

// whole returns the answer as one JSON object. Each text is one part.
func (r *reply) whole() any {
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

// joinPart adds a part to a list, and joins texts of the same kind. A signature then applies to the joined text.
func joinPart(c *call, parts []any, p map[string]any) []any {
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

// grounding returns the pages that a text cites, in Gemini's form. [docs: google-search]
func grounding(pages []sim.Page, text string) map[string]any {
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

// lastText returns the last text among parts.
func lastText(parts []sim.Part) (text string) {
	for _, p := range parts {
		if p.Kind == sim.Text {
			text = p.Text
		}
	}
	return text
}
