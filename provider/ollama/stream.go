package ollama

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/thinktag"
)

// tags are what most templates mark thinking with, and [THINK] that of Magistral.
var tags = thinktag.Tags{Pair: thinktag.Pair{Open: "<think>", Close: "</think>"}, Start: thinktag.Auto,
	Others: []thinktag.Pair{{Open: "[THINK]", Close: "[/THINK]"}}}

// reply is the state of one answer.
type reply struct {
	*exchange.Answer

	api      *API
	call     *call
	origin   provider.Origin
	next     int    // our number of the next block
	open     *block // nil: none
	calls    int
	named    bool               // thinking came by its own name: no tags are looked for
	splitter *thinktag.Splitter // of the text; nil: not looked for
	stencil  exchange.Stencil   // of the object before, which had nothing but text of this kind:
	kind     provider.BlockKind
	like     bool // the object that comes next is like it, and this is its text:
	piece    gjson.Result
	mistaken strings.Builder // all that was taken for thinking by the start alone
	learned  bool            // the model is known to begin with thinking
	begun    bool
	stop     provider.Stop
}

// block is a block of the answer while it comes.
type block struct {
	kind   provider.BlockKind
	number int
	since  time.Time
	text   strings.Builder
}

// Reply begins to read an answer.
func (c *call) Reply(a *exchange.Answer) exchange.Reply {
	looked := tags.For(c.model)
	learned := c.off && c.api.knownLeaky(c.model)
	if learned {
		looked.Start = thinktag.Open
	}
	return &reply{Answer: a, api: c.api, call: c, splitter: thinktag.NewSplitter(looked), learned: learned,
		origin: a.Origin(c.model), stop: a.Stop(c.model)}
}

// Event takes in one object. What is not JSON is the end of a connection that broke.
func (r *reply) Event(_ string, data []byte) error {
	switch {
	case r.like:
		r.like = false
		return r.again(r.piece)
	case !gjson.ValidBytes(data):
		return nil
	}
	return r.object(data)
}

// Over is false: an answer is whole only with the object that says done.
func (r *reply) Over() bool { return false }

// Value is not called: an answer that comes whole is a stream of one object.
func (r *reply) Value(root gjson.Result) error { return r.object([]byte(root.Raw)) }

// Known reports whether a line is the object before with another text, as most are.
func (r *reply) Known(line []byte) bool {
	r.piece, r.like = r.stencil.Match(line)
	r.like = r.like && utf8.ValidString(r.piece.Raw)
	return r.like
}

// again takes in the text of an object that differs from the one before only in its text.
func (r *reply) again(piece gjson.Result) error {
	if err := r.text(r.kind, piece); err != nil {
		return err
	}
	return r.Alive()
}

// object takes in one object of the stream. It may carry thinking, text and calls together, in that order.
func (r *reply) object(data []byte) error {
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	r.stencil.Clear()
	root := gjson.ParseBytes(data)
	message, done := root.Get("message"), root.Get("done")
	switch {
	case root.Get("error").Exists():
		return r.failed(root.Get("error").String(), data)
	case !message.IsObject() && !done.Exists():
		if r.Whole && !r.begun {
			return r.NoAnswer("the answer is JSON, but no answer of this API")
		}
		return r.Deviation("an object of no known member")
	}
	if !r.begun && done.Bool() && r.Whole {
		if err := r.NotStreamed(); err != nil {
			return err
		}
		r.splitWhole(message)
	}
	r.begun = true
	if model := root.Get("model").Str; model != "" {
		r.origin.Model, r.stop.Model = model, model
		if err := r.Served(model, ""); err != nil {
			return err
		}
	}
	if err := r.message(message); err != nil {
		return err
	}
	if !done.Bool() {
		r.likewise(data, root, message)
		return r.Alive()
	}
	if err := r.flush(); err != nil {
		return err
	}
	return r.ending(root)
}

// splitWhole looks at a text that is there as a whole, where a closing tag tells of thinking that nobody opened.
func (r *reply) splitWhole(message gjson.Result) {
	if r.learned || message.Get("thinking").Str != "" {
		return
	}
	for _, p := range thinktag.Split(message.Get("content").Str, tags.For(r.call.model)) {
		if p.Kind == thinktag.Opened {
			t := tags.For(r.call.model)
			t.Start = thinktag.Open
			r.splitter = thinktag.NewSplitter(t)
			return
		}
	}
}

func (r *reply) message(m gjson.Result) error {
	if err := r.text(provider.KindThinking, m.Get("thinking")); err != nil {
		return err
	}
	if err := r.text(provider.KindText, m.Get("content")); err != nil {
		return err
	}
	var err error
	m.Get("tool_calls").ForEach(func(_, c gjson.Result) bool {
		err = r.toolCall(c)
		return err == nil
	})
	return err
}

// text takes in thinking that came by its name, or text of the answer.
func (r *reply) text(kind provider.BlockKind, piece gjson.Result) error {
	if piece.Type != gjson.String || piece.Str == "" {
		return nil
	}
	if kind == provider.KindText {
		return r.said(exchange.Valid(piece.Str))
	}
	if !r.named {
		if err := r.flush(); err != nil {
			return err
		}
		r.named, r.splitter = true, nil
	}
	return r.grow(kind, exchange.Valid(piece.Str))
}

// likewise notes an object that has text of one kind and does nothing else: so one like it does the same, whatever its
// time.
func (r *reply) likewise(data []byte, root, m gjson.Result) {
	thought, text := m.Get("thinking"), m.Get("content")
	switch {
	case m.Get("tool_calls").Exists(), thought.Str != "" && text.Str != "":
		return
	case thought.Str != "":
		r.kind = provider.KindThinking
		r.stencil.Cut(data, []gjson.Result{thought}, root.Get("created_at"))
	case text.Str != "":
		r.kind = provider.KindText
		r.stencil.Cut(data, []gjson.Result{text}, root.Get("created_at"))
	}
}

// said parts the text from thinking that leaked into it.
func (r *reply) said(text string) error {
	if r.splitter == nil {
		return r.grow(provider.KindText, text)
	}
	return r.pieces(r.splitter.Add(text))
}

// flush gives out what was held back for the beginning of a tag.
func (r *reply) flush() error {
	if r.splitter == nil {
		return nil
	}
	return r.pieces(r.splitter.Flush())
}

func (r *reply) pieces(list []thinktag.Piece) (err error) {
	for _, p := range list {
		switch p.Kind {
		case thinktag.Said:
			err = r.grow(provider.KindText, p.Text)
		case thinktag.Thought:
			if r.learned {
				r.mistaken.WriteString(p.Text)
			}
			err = r.grow(provider.KindThinking, p.Text)
		case thinktag.Ended:
			if r.open != nil && r.open.kind == provider.KindThinking && !r.splitter.Unclosed() {
				err = r.seal("")
			}
		case thinktag.Turned: // it was shown as text, and cannot be taken back
			r.api.leaks(r.call.model)
			err = r.seal("leaked")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// grow takes in a piece of text or thinking. A block is begun with its first character.
func (r *reply) grow(kind provider.BlockKind, text string) error {
	if text == "" {
		return nil
	}
	if r.open != nil && r.open.kind != kind {
		if err := r.seal(""); err != nil {
			return err
		}
	}
	if r.open == nil {
		r.open = &block{kind: kind, number: r.next}
		r.next++
		var shell provider.Block = provider.Text{}
		if kind == provider.KindThinking {
			shell = provider.Thinking{Kind: provider.ThinkingFull}
		}
		if !r.Whole {
			r.open.since = time.Now()
		}
		if err := r.Emit(provider.Begin{Index: r.open.number, Block: shell}); err != nil {
			return err
		}
	}
	r.open.text.WriteString(text)
	return r.Delta(r.open.number, text)
}

// seal ends the open block. mark says of a text that it was thinking ("leaked"), of thinking that it was the answer
// ("mistaken"): then it does not go back.
func (r *reply) seal(mark string) error {
	open := r.open
	if open == nil {
		return nil
	}
	r.open = nil
	text := open.text.String()
	if open.kind == provider.KindText {
		b := provider.Text{Text: text}
		if mark == "leaked" {
			b.State = provider.State{Origin: r.origin, Data: json.RawMessage(`{"leaked":true}`)}
		}
		return r.end(open.number, b)
	}
	b := provider.Thinking{Text: text, Kind: provider.ThinkingFull}
	if !open.since.IsZero() {
		b.Duration = time.Since(open.since)
	}
	if mark != "mistaken" {
		data, err := exchange.Encode(map[string]string{"thinking": text})
		if err != nil {
			return err
		}
		b.State = provider.State{Origin: r.origin, Data: data}
	}
	return r.end(open.number, b)
}

func (r *reply) end(n int, b provider.Block) error {
	return r.Emit(provider.End{Index: n, Block: b})
}

// toolCall takes in a call, which always comes whole. Newer servers give it an id.
func (r *reply) toolCall(c gjson.Result) error {
	if err := r.flush(); err != nil {
		return err
	}
	if err := r.seal(""); err != nil {
		return err
	}
	f := c.Get("function")
	b := provider.ToolCall{ID: exchange.Valid(c.Get("id").Str), Name: exchange.Valid(f.Get("name").Str)}
	if b.Name == "" {
		return r.Deviation("a call without a name")
	}
	if b.ID == "" {
		b.ID = "call_" + rand.Text()
	}
	text := ""
	switch args := f.Get("arguments"); {
	case args.IsObject():
		text, b.Input = args.Raw, json.RawMessage(args.Raw)
	case !args.Exists(), args.Type == gjson.Null, args.Type == gjson.String && exchange.NoArguments(args.Str):
		b.Input = json.RawMessage("{}")
	case args.Type == gjson.String && gjson.Valid(args.Str) && gjson.Parse(args.Str).IsObject(): // of proxies
		text, b.Input = args.Str, json.RawMessage(args.Str)
	default:
		text = args.Raw
		b.Invalid = text
	}
	r.calls++
	n := r.next
	r.next++
	if err := r.Emit(provider.Begin{Index: n, Block: provider.ToolCall{ID: b.ID, Name: b.Name}}); err != nil {
		return err
	}
	if text != "" {
		if err := r.Delta(n, text); err != nil {
			return err
		}
	}
	return r.end(n, b)
}

// failed is an error in the stream, whose status nobody tells.
func (r *reply) failed(text string, data []byte) error {
	status := http.StatusInternalServerError
	switch text = strings.ToLower(text); {
	case strings.Contains(text, "server busy"):
		status = http.StatusServiceUnavailable
	case strings.Contains(text, "not found"):
		status = http.StatusNotFound
	case strings.Contains(text, "does not support"), strings.Contains(text, "invalid"):
		status = http.StatusBadRequest
	case strings.Contains(text, "unauthorized"):
		status = http.StatusUnauthorized
	}
	return r.Refusal(status, data)
}

// ending takes in the last object, and emits the stop. The server leaves out counts that are zero. It does not count thinking separately:
// thinking is part of the output (docs: api/chat).
func (r *reply) ending(root gjson.Result) error {
	s := &r.stop
	s.Raw = r.Text(root.Get("done_reason").Str)
	count := func(name string) int { return provider.Tokens(root.Get(name).Int()) }
	s.Usage = provider.Usage{Input: count("prompt_eval_count"), Output: count("eval_count")}
	members := map[string]json.RawMessage{}
	root.ForEach(func(name, value gjson.Result) bool {
		if value.Type == gjson.Number {
			members[name.Str] = json.RawMessage(value.Raw)
		}
		return true
	})
	if len(members) > 0 {
		var err error
		if s.RawUsage, err = json.Marshal(members); err != nil {
			return r.NoAnswer("counts: " + err.Error())
		}
	}
	switch {
	case s.Raw == "length":
		s.Reason = provider.StopMaxTokens
	case r.calls > 0: // the vendor says stop
		s.Reason = provider.StopToolUse
	default:
		s.Reason = provider.StopEndTurn
	}
	return exchange.ErrDone
}

// Finish ends the block that is open, and the reply. A model that was known to begin with thinking, and this time did
// not, has answered: what was shown as thinking is said again, as what it is.
func (r *reply) Finish() error {
	if r.learned && r.splitter != nil && r.splitter.Unclosed() && r.stop.Reason != provider.StopMaxTokens {
		r.api.leaksNot(r.call.model) // what it was learned from may have been about tags
	}
	answered := r.learned && r.splitter != nil && r.splitter.Unclosed() && r.stop.Reason == provider.StopEndTurn && r.mistaken.Len() > 0
	mark := ""
	if answered {
		mark = "mistaken"
	}
	if err := r.seal(mark); err != nil {
		return err
	}
	if answered {
		if err := r.grow(provider.KindText, r.mistaken.String()); err != nil {
			return err
		}
		if err := r.seal(""); err != nil {
			return err
		}
	}
	return r.End(r.stop)
}
