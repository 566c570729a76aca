package chat

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// toolCall takes in a piece of a call. Pieces belong together by their index; where there is none, by their id, else
// by their order. Another id at the same index is another call only where the piece begins one, see followedBy: some
// hosts say index 0 for all calls, others give each piece of one call another id.
func (r *reply) toolCall(piece gjson.Result) error {
	if !piece.IsObject() {
		return r.Deviation("a tool call that is no object")
	}
	if err := r.flush(); err != nil {
		return err
	}
	c := r.callOf(piece)
	if c.name == "" {
		c.name = exchange.Valid(piece.Get("function.name").Str)
	}
	for _, name := range r.form.CallFields {
		if v := piece.Get(name); v.Exists() && v.Type != gjson.Null {
			c.members[name] = json.RawMessage(exchange.Valid(v.Raw))
		}
	}
	grown := ""
	switch arguments := piece.Get("function.arguments"); {
	case arguments.Type == gjson.String:
		grown = c.text.Add(arguments)
	case arguments.IsObject(): // of hosts that forget to write it as a string
		grown = exchange.Valid(arguments.Raw)
		c.text.Write(grown)
	}
	return r.showCall(c, grown)
}

func (r *reply) callOf(piece gjson.Result) *toolCall {
	id := exchange.Valid(piece.Get("id").Str)
	index := piece.Get("index")
	if index.Exists() && index.Type != gjson.Null {
		if s := r.slots[index.Raw]; s != nil && (id == "" || s.given == "" || s.given == id || !s.followedBy(piece)) {
			if s.given == "" {
				s.given = id
			}
			return s.toolCall
		}
	} else {
		for _, c := range r.calls {
			if id != "" && c.given == id {
				return c
			}
		}
		if n := len(r.calls); n > 0 && (id == "" && piece.Get("function.name").Str == "" || id != "" && !r.calls[n-1].followedBy(piece)) {
			return r.calls[n-1]
		}
	}
	c := &toolCall{given: id, id: id, members: tree{}}
	r.calls = append(r.calls, c)
	if index.Exists() {
		r.slots[index.Raw] = &slot{c}
	}
	return c
}

// followedBy reports whether a piece with another id begins a call after c, rather than going on with c: it names a
// function, and this is another one, or the arguments of either are complete.
func (c *toolCall) followedBy(piece gjson.Result) bool {
	name := exchange.Valid(piece.Get("function.name").Str)
	arguments := piece.Get("function.arguments")
	return name != "" && (name != c.name || complete(c.text.String()) || arguments.IsObject() || complete(arguments.Str))
}

// complete reports whether arguments are a whole JSON value, even of the wrong type.
func complete(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && strings.Contains("}]l", text[len(text)-1:]) && gjson.Valid(text)
}

// showCall begins a call when its name is known, and shows what there is of its arguments.
func (r *reply) showCall(c *toolCall, grown string) error {
	c.waiting += grown
	if !c.begun {
		if c.name == "" {
			return r.Alive()
		}
		if err := r.beginCall(c); err != nil {
			return err
		}
	}
	if c.waiting == "" || !c.shown && strings.HasPrefix("null", strings.TrimSpace(c.waiting)) {
		return r.Alive()
	}
	grown, c.waiting, c.shown = c.waiting, "", true
	return r.Delta(c.number, grown)
}

func (r *reply) beginCall(c *toolCall) error {
	if err := r.closeOpen(); err != nil {
		return err
	}
	if c.id == "" {
		c.id = c.given
	}
	if c.id == "" {
		c.id = r.mint(c)
	}
	c.begun, c.number, r.spoke = true, r.next, true
	r.next++
	return r.Emit(provider.Begin{Index: c.number, Block: provider.ToolCall{ID: c.id, Name: c.name}})
}

// mint makes an id where the host gave none: the same each time that this answer is read.
func (r *reply) mint(c *toolCall) string {
	place := 0
	for i := range r.calls {
		if r.calls[i] == c {
			place = i
		}
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %s", r.stop.RequestID, place, c.name))
	return "call_" + hex.EncodeToString(sum[:12])
}

// endCall makes a block of a call.
func (r *reply) endCall(c *toolCall) error {
	rest := c.text.Rest("")
	if c.name == "" && c.given == "" && c.text.String() == "" {
		r.Deviations++
		return nil // an empty place in the list
	}
	if !c.begun {
		if err := r.beginCall(c); err != nil {
			return err
		}
	}
	text := c.text.String()
	none := exchange.NoArguments(text)
	if c.shown = c.shown || !none; c.shown && c.waiting+rest != "" {
		if err := r.showCall(c, rest); err != nil {
			return err
		}
	}
	b := provider.ToolCall{ID: c.id, Name: c.name}
	if none {
		b.Input = json.RawMessage("{}")
	} else if gjson.Valid(text) && gjson.Parse(text).IsObject() {
		b.Input = json.RawMessage(text)
		if !stable(text) {
			c.members["function"] = tree{"arguments": text}
		}
	} else {
		b.Invalid = text
	}
	if len(c.members) > 0 {
		data, err := exchange.Encode(c.members)
		if err != nil {
			return r.NoAnswer(err.Error())
		}
		b.State = provider.State{Origin: r.origin, Data: data}
	}
	return r.Emit(provider.End{Index: c.number, Block: b})
}

// stable reports whether arguments come out of the log as they went in: encoding/json compacts raw JSON and escapes
// some characters.
func stable(text string) bool {
	kept, err := json.Marshal(json.RawMessage(text))
	return err == nil && bytes.Equal(kept, []byte(text))
}
