package gemini

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// plain returns the kind of a text part, if it has nothing but its text.
func plain(p gjson.Result) (kind provider.BlockKind, ok bool) {
	kind, ok = provider.KindText, p.Get("text").Type == gjson.String
	if p.Get("thought").Bool() {
		kind = provider.KindThinking
	}
	p.ForEach(func(name, value gjson.Result) bool {
		ok = ok && (name.Str == "text" || name.Str == "thought" || value.Type == gjson.Null)
		return ok
	})
	return kind, ok
}

// text takes in a text part that is plain.
func (r *reply) text(kind provider.BlockKind, text string) error {
	if text == "" {
		return r.Alive()
	}
	text, err := r.hops.fresh(kind, text)
	if err != nil || text == "" {
		return err
	}
	if err := r.turn(kind); err != nil {
		return err
	}
	r.run.plain.WriteString(text)
	r.run.text.WriteString(text)
	return r.show(text)
}

// signed takes in a text part that is not.
func (r *reply) signed(kind provider.BlockKind, p gjson.Result, text string) error {
	if err := r.hops.only("a signed part"); err != nil {
		return err
	}
	r.hops.fixed()
	if err := r.turn(kind); err != nil {
		return err
	}
	run, raw := r.run, json.RawMessage(p.Raw)
	if err := run.close(); err != nil {
		return err
	}
	run.parts, run.own = append(run.parts, raw), true
	run.signed = run.signed || hasSignature(raw)
	run.text.WriteString(text)
	return r.show(text)
}

// turn opens a run of this kind, unless the one that is open is of it.
func (r *reply) turn(kind provider.BlockKind) error {
	if r.run != nil && r.run.kind == kind {
		return nil
	}
	if err := r.seal(); err != nil {
		return err
	}
	r.run = &run{kind: kind}
	if !r.Whole {
		r.run.since = time.Now()
	}
	return nil
}

// show tells a piece of the run. A block is begun with its first character, so that empty ones are never announced.
func (r *reply) show(text string) error {
	if text == "" {
		return r.Alive()
	}
	r.said = r.said || r.run.kind == provider.KindText
	if run := r.run; !run.begun {
		run.begun, run.number = true, r.number()
		var shell provider.Block = provider.Text{}
		if run.kind == provider.KindThinking {
			shell = provider.Thinking{Kind: provider.ThinkingSummary}
		}
		if err := r.Emit(provider.Begin{Index: run.number, Block: shell}); err != nil {
			return err
		}
	}
	return r.Delta(r.run.number, text)
}

// number is that of a new block.
func (r *reply) number() int {
	r.next++
	return r.next - 1
}

// close ends the part that is growing.
func (u *run) close() error {
	if u.plain.Len() == 0 {
		return nil
	}
	p := map[string]any{"text": u.plain.String()}
	if u.kind == provider.KindThinking {
		p["thought"] = true
	}
	raw, err := exchange.Encode(p)
	u.parts = append(u.parts, raw)
	u.plain.Reset()
	return err
}

// seal makes a block of the run that is open. A signature on nothing but empty text is kept where nobody sees it.
func (r *reply) seal() error {
	run := r.run
	if run == nil {
		return nil
	}
	r.run = nil
	if err := run.close(); err != nil {
		return err
	}
	text := run.text.String()
	switch {
	case run.kind == provider.KindText && text == "":
		return r.opaque(run.parts)
	case run.kind == provider.KindText:
		b := provider.Text{Text: text, Sources: r.sources(run.number, text)}
		if run.own {
			var err error
			if b.State, err = r.state(run.parts); err != nil {
				return err
			}
		}
		return r.close(run.number, b)
	}
	b := provider.Thinking{Text: text, Kind: provider.ThinkingSummary, Signed: run.signed}
	if !run.since.IsZero() {
		b.Duration = time.Since(run.since)
	}
	var err error
	if b.State, err = r.state(run.parts); err != nil {
		return err
	}
	if text != "" {
		return r.close(run.number, b)
	}
	b.Kind = provider.ThinkingOmitted
	return r.block(provider.Thinking{Kind: b.Kind}, b, "")
}

// block tells a block that comes in one piece.
func (r *reply) block(shell, b provider.Block, text string) error {
	n := r.number()
	if err := r.Emit(provider.Begin{Index: n, Block: shell}); err != nil {
		return err
	}
	if text != "" {
		if err := r.Delta(n, text); err != nil {
			return err
		}
	}
	return r.close(n, b)
}

func (r *reply) close(n int, b provider.Block) error {
	return r.Emit(provider.End{Index: n, Block: b})
}

func (r *reply) opaque(parts []json.RawMessage) error {
	state, err := r.state(parts)
	if err != nil {
		return err
	}
	return r.block(provider.Opaque{}, provider.Opaque{State: state}, "")
}

// toolCall takes in a call, which comes in one piece: pieces of arguments come to those who ask for them (SDK:
// FunctionCallingConfig). Older models give no id; ours never goes on the wire.
func (r *reply) toolCall(p, call gjson.Result) error {
	if err := r.hops.only("a tool call"); err != nil {
		return err
	}
	r.hops.fixed()
	if err := r.seal(); err != nil {
		return err
	}
	if call.Get("willContinue").Bool() || call.Get("partialArgs").Exists() {
		return r.NoAnswer("a tool call comes in pieces, which was not asked for")
	}
	if call.Get("name").Str == "" {
		return r.Deviation("a call without a name")
	}
	b := provider.ToolCall{ID: exchange.Valid(call.Get("id").Str), Name: exchange.Valid(call.Get("name").Str)}
	if b.ID == "" {
		b.ID = r.mint("call", r.calls)
	}
	r.calls++
	text := ""
	switch args := call.Get("args"); {
	case args.IsObject():
		text = args.Raw
		b.Input = json.RawMessage(text)
	case !args.Exists(), args.Type == gjson.Null, args.Type == gjson.String && exchange.NoArguments(args.Str):
		b.Input = json.RawMessage("{}")
	default:
		text = args.Raw
		b.Invalid = text
	}
	var err error
	if b.State, err = r.state([]json.RawMessage{json.RawMessage(p.Raw)}); err != nil {
		return err
	}
	return r.block(provider.ToolCall{ID: b.ID, Name: b.Name}, b, text)
}

// mint makes an id for a call: the answer's name and the call's number in it, of letters that every vendor takes.
func (r *reply) mint(kind string, number int) string {
	name := strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_' {
			return c
		}
		return '_'
	}, r.end.responseID)
	if name == "" || len(name) > 48 {
		name = rand.Text()
	}
	return fmt.Sprintf("%s_%s_%d", kind, name, number)
}

// state is the block's parts as the vendor sent them.
func (r *reply) state(parts []json.RawMessage) (provider.State, error) {
	data, err := exchange.Encode(parts)
	return provider.State{Origin: r.origin, Data: data}, err
}
