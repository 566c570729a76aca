package chat

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/thinktag"
)

// begin makes a part of this kind the open one, unless it is already.
func (r *reply) begin(kind provider.BlockKind) (*part, error) {
	if r.open != nil && r.open.kind == kind {
		return r.open, nil
	}
	if err := r.closeOpen(); err != nil {
		return nil, err
	}
	r.open = &part{kind: kind}
	if !r.Whole {
		r.open.since = time.Now()
	}
	return r.open, nil
}

// announce tells a part's Begin, once.
func (r *reply) announce(p *part) error {
	if p.begun {
		return nil
	}
	p.begun, p.number = true, r.next
	r.next++
	if p.kind == provider.KindText {
		r.spoke = true
		return r.Emit(provider.Begin{Index: p.number, Block: provider.Text{}})
	}
	r.thought = true
	return r.Emit(provider.Begin{Index: p.number, Block: provider.Thinking{Kind: r.thinkingKind(p)}})
}

func (r *reply) show(p *part, text string) error {
	if text == "" {
		return nil
	}
	if err := r.announce(p); err != nil {
		return err
	}
	return r.Delta(p.number, text)
}

// thinkingKind says what the text is: hosts pass on summaries where details say so, and the thinking itself elsewhere.
func (r *reply) thinkingKind(p *part) provider.ThinkingKind {
	for _, d := range p.details {
		if d.kind() == "reasoning.summary" {
			return provider.ThinkingSummary
		}
	}
	if p.field == "reasoning_text" || p.field == "cot_summary" { // Copilot shows summaries
		return provider.ThinkingSummary
	}
	return provider.ThinkingFull
}

// thinking takes in the thinking of a message or delta that comes in members of its own.
func (r *reply) thinking(m gjson.Result) error {
	var text gjson.Result
	name := ""
	for _, field := range r.form.TextFields {
		if v := m.Get(field); v.Type == gjson.String && v.Str != "" {
			text, name = v, field // several of them hold the same text: the first counts
			break
		}
	}
	var came gjson.Result
	if r.form.DetailsField != "" {
		came = m.Get(r.form.DetailsField)
	}
	switch {
	case name != "":
		return r.under(name, text, came)
	case came.IsArray():
		return r.detailed(came)
	}
	return nil
}

// under takes in thinking that came under a name, with the details in the same chunk.
func (r *reply) under(name string, text, came gjson.Result) error {
	if r.form.Repeats && len(text.Str) >= fillerLength && text.Str == r.filler {
		return nil
	}
	r.filler = text.Str
	p, err := r.begin(provider.KindThinking)
	if err != nil {
		return err
	}
	p.field, r.named = name, true
	if came.IsArray() { // before the Begin, which says what kind of text it is
		r.attach(came, p)
	}
	if !r.spoke && r.form.InlineTags != nil {
		r.fielded.WriteString(text.Str)
	}
	return r.show(p, p.text.Add(text))
}

// fillerLength is from how many bytes a piece that comes twice is a filler and no stammer.
const fillerLength = 8

// text takes in a piece of text, parted from the thinking in it where the dialect expects that.
func (r *reply) text(piece gjson.Result) error {
	if piece.Str == "" {
		return nil
	}
	if r.form.InlineTags == nil {
		p, err := r.begin(provider.KindText)
		if err != nil {
			return err
		}
		return r.show(p, p.text.Add(piece))
	}
	text := r.content.Add(piece)
	if r.split != nil {
		return r.parted(r.split.Add(text))
	}
	r.split = thinktag.NewSplitter(r.tags())
	pieces := r.split.Add(text)
	if r.Whole {
		pieces = thinktag.Settle(append(pieces, r.split.Flush()...))
	}
	return r.parted(pieces)
}

// flush parts what was held back.
func (r *reply) flush() error {
	if r.split == nil {
		return nil
	}
	rest := r.split.Add(r.content.Rest(""))
	return r.parted(append(rest, r.split.Flush()...))
}

// tags is what to expect in this reply.
func (r *reply) tags() thinktag.Tags {
	tags := r.form.InlineTags.For(r.call.model)
	if r.named || r.call.off { // thinking has its own place, or its template wrote an empty block
		tags.Start = thinktag.Closed
	} else {
		usual := tags.Start
		tags.Start = r.api.start(r.call.model, usual)
		r.learned = tags.Start != usual
	}
	return tags
}

// parted takes in what a text was parted into.
func (r *reply) parted(pieces []thinktag.Piece) error {
	for _, piece := range pieces {
		var err error
		switch piece.Kind {
		case thinktag.Opened, thinktag.Thought:
			err = r.inlineThinking(piece)
		case thinktag.Ended:
			if r.open != nil && r.open.raw.Len() > 0 {
				r.open.raw.WriteString(piece.Raw)
			}
			r.fielded.Reset()
			err = r.closeOpen()
		case thinktag.Turned: // it was shown as text, and cannot be taken back; the next time it is known from the start
			r.api.opens(r.call.model)
			err = r.closeOpen()
		case thinktag.Said:
			err = r.say(piece.Text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inlineThinking takes in thinking that stood between tags. Some servers send it under a name as well and leave it in
// the text: what was shown is not shown again (llama.cpp: reasoning-format deepseek-legacy).
func (r *reply) inlineThinking(piece thinktag.Piece) error {
	if shown := strings.TrimLeft(r.fielded.String(), " \t\r\n"); shown != "" && strings.HasPrefix(shown[min(r.repeated, len(shown)):], piece.Text) {
		r.repeated += len(piece.Text)
		return nil
	}
	p, err := r.begin(provider.KindThinking)
	if err != nil {
		return err
	}
	p.raw.WriteString(piece.Raw)
	p.text.Write(piece.Text)
	return r.show(p, piece.Text)
}

func (r *reply) say(text string) error {
	if text == "" {
		return nil
	}
	p, err := r.begin(provider.KindText)
	if err != nil {
		return err
	}
	p.text.Write(text)
	return r.show(p, text)
}

// skippedThinking: a model whose prompt opens its thinking said something to the end and closed nothing. Then it did
// not think, and what it said is the answer. It was shown as thinking, so it is said once more (docs: vLLM, SGLang,
// reasoning parsers).
func (r *reply) skippedThinking() error {
	if r.split == nil || !r.split.Unclosed() || r.spoke || len(r.calls) > 0 || r.stop.Raw != "stop" {
		return nil
	}
	r.Deviations++
	return r.say(r.content.String())
}

// thinkingChunk takes in a thinking part: its text is a string, or a list of texts.
func (r *reply) thinkingChunk(chunk gjson.Result) error {
	p, err := r.begin(provider.KindThinking)
	if err != nil {
		return err
	}
	p.array, r.named = true, true
	if closed := chunk.Get("closed"); closed.Exists() || !p.chunks.Exists() {
		p.chunks = chunk
	}
	inner := chunk.Get("thinking")
	if !inner.Exists() {
		inner = chunk.Get("text")
	}
	if inner.Type == gjson.String {
		return r.show(p, p.text.Add(inner))
	}
	inner.ForEach(func(_, t gjson.Result) bool {
		if text := t.Get("text"); text.Type == gjson.String {
			err = r.show(p, p.text.Add(text))
		}
		return err == nil
	})
	return err
}

// opaque takes in opaque data of the message. It belongs to the thinking that is open; else to a block of its own if
// nothing was said yet, since it shows that the model thought; else it is late.
func (r *reply) opaque(m gjson.Result) error {
	for _, name := range r.form.MessageFields {
		if v := m.Get(name); v.Exists() && v.Type != gjson.Null && v.Raw != `""` {
			r.late[name] = json.RawMessage(exchange.Valid(v.Raw))
		}
	}
	if r.form.OpaqueField == "" {
		return nil
	}
	v := m.Get(r.form.OpaqueField)
	if !v.Exists() || v.Type == gjson.Null || v.Type == gjson.String && v.Str == "" {
		return nil
	}
	raw := json.RawMessage(exchange.Valid(v.Raw))
	switch {
	case r.open != nil && r.open.kind == provider.KindThinking && r.open.begun:
		r.open.opaque = raw
	case !r.thought && !r.spoke:
		return r.withheld(&part{opaque: raw})
	default:
		r.late[r.form.OpaqueField] = raw
	}
	return nil
}

// withheld emits a block of thinking that has nothing to show.
func (r *reply) withheld(p *part) error {
	if err := r.closeOpen(); err != nil {
		return err
	}
	p.kind = provider.KindThinking
	state, err := r.state(p)
	if err != nil {
		return err
	}
	number := r.next
	r.next++
	r.thought = true
	if err := r.Emit(provider.Begin{Index: number, Block: provider.Thinking{Kind: provider.ThinkingRedacted}}); err != nil {
		return err
	}
	return r.Emit(provider.End{Index: number, Block: provider.Thinking{Kind: provider.ThinkingRedacted, Signed: true, State: state}})
}

// closeOpen ends the part that is open. What came to nothing is not announced.
func (r *reply) closeOpen() error {
	p := r.open
	if p == nil {
		return nil
	}
	r.open = nil
	if err := r.show(p, p.text.Rest("")); err != nil {
		return err
	}
	if !p.begun {
		return nil
	}
	if p.kind == provider.KindText {
		return r.Emit(provider.End{Index: p.number, Block: provider.Text{Text: p.text.String(), Sources: r.sources(p.number, p.text.String())}})
	}
	b := provider.Thinking{Text: p.text.String(), Kind: r.thinkingKind(p)}
	if !p.since.IsZero() {
		b.Duration = time.Since(p.since)
	}
	var err error
	if b.State, err = r.state(p); err != nil {
		return err
	}
	b.Signed = r.api.dialect.Echo.Scope != echoNever
	return r.Emit(provider.End{Index: p.number, Block: b})
}

// state is the members of the message that a part of thinking came in.
func (r *reply) state(p *part) (provider.State, error) {
	members := tree{}
	switch {
	case p.array:
		chunk := tree{}
		p.chunks.ForEach(func(name, value gjson.Result) bool {
			chunk[exchange.Valid(name.Str)] = json.RawMessage(exchange.Valid(value.Raw))
			return true
		})
		chunk["thinking"] = []tree{{"type": "text", "text": p.text.String()}}
		chunk["closed"] = true
		members["content"] = []tree{chunk}
	case p.raw.Len() > 0:
		members["content"] = p.raw.String()
	case p.field != "" && (len(p.details) == 0 || r.api.dialect.Echo.Field == ""):
		members[p.field] = p.text.String()
	}
	if len(p.details) > 0 {
		members[r.form.DetailsField] = p.details
	}
	if p.opaque != nil {
		members[r.form.OpaqueField] = p.opaque
	}
	data, err := exchange.Encode(members)
	if err != nil {
		return provider.State{}, r.NoAnswer(err.Error())
	}
	return provider.State{Origin: r.origin, Data: data}, nil
}

// detailed takes in details that come alone. Their text is shown unless thinking comes under a name: then it was.
func (r *reply) detailed(list gjson.Result) error {
	r.details.came = true
	var err error
	list.ForEach(func(_, piece gjson.Result) bool {
		if piece.IsObject() {
			err = r.detail(piece)
		}
		return err == nil
	})
	return err
}

func (r *reply) detail(piece gjson.Result) error {
	member := textMember(piece.Get("type").Str)
	worded := member != "" && piece.Get(member).Str != ""
	thinks := r.open != nil && r.open.kind == provider.KindThinking
	switch {
	case worded && !r.named:
		p, err := r.begin(provider.KindThinking)
		if err != nil {
			return err
		}
		text := r.own(piece, p)
		p.text.Write(text)
		return r.show(p, text)
	case thinks:
		r.own(piece, r.open)
	case !r.thought && !r.spoke && !worded:
		p := &part{}
		r.own(piece, p)
		return r.withheld(p)
	default:
		r.own(piece, nil)
	}
	return nil
}
