package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/ownjson"
)

// Entry is one thing that happened, as the log keeps it. Its position in the log is the store's; Seq is the protocol's
// number of the notification that published it.
type Entry struct {
	Seq  uint64 // 0: no notification published it
	Time int64  // Unix milliseconds; for people, never for order
	Turn TurnID // empty: it belongs to none
	Body Body
}

// bodies reads the body of each kind.
var bodies = map[string]func([]byte) (Body, error){
	"prompt":       readBody[Prompt](),
	"steered":      readBody[Steered](),
	"moved":        readBody[Moved](),
	"verdict":      readBody[Verdict](),
	"tool_start":   readBody[ToolStart](),
	"tool_end":     readBody[ToolEnd](),
	"turn_start":   readBody[TurnStart](),
	"block":        readSealed,
	"message_end":  readBody[MessageEnd](),
	"retry":        readBody[Retry](),
	"setting":      readBody[Setting](),
	"repair":       readBody[Repair](),
	"left_out":     readBody[LeftOut](),
	"compaction":   readBody[Compaction](),
	"uncompaction": readBody[Uncompaction](),
	"fell_back":    readBody[FellBack](),
	"turn_parked":  readBody[TurnParked](),
	"turn_resumed": readBody[TurnResumed](),
	"turn_end":     readBody[TurnEnd](),
	"reserved":     readBody[Reserved](),
	"settled":      readBody[Settled](),
}

func readSealed(data []byte) (Body, error) {
	var s Sealed
	err := s.UnmarshalJSON(data)
	return s, err
}

// readBody reads into a value that is kept for the next body: the copy in the result is the only one that takes memory.
func readBody[B Body]() func([]byte) (Body, error) {
	var kept sync.Pool
	return func(data []byte) (Body, error) {
		b, _ := kept.Get().(*B)
		if b == nil {
			b = new(B)
		}
		err := ownjson.Unmarshal(data, b)
		body := *b
		*b = *new(B)
		kept.Put(b)
		return body, err
	}
}

type wireEntry struct {
	Seq  uint64          `json:"seq,omitempty"`
	Time int64           `json:"ts"`
	Turn TurnID          `json:"turn_id,omitempty"`
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body,omitempty"` // always there; see encode
}

// MarshalJSON writes the entry as the log keeps it.
func (e Entry) MarshalJSON() ([]byte, error) { return e.encode() }

// encode is put together by hand: encoding/json walks what a MarshalJSON gave once more, and would walk the text of a
// block once for the block, for the body and for the entry.
func (e Entry) encode() (out []byte, err error) {
	if e.Body == nil {
		return nil, fmt.Errorf("entry without a body")
	}
	if out, err = ownjson.Append(nil, wireEntry{Seq: e.Seq, Time: e.Time, Turn: e.Turn, Kind: e.Body.kind()}); err != nil {
		return nil, err
	}
	out = openMember(out, "body")
	if sealed, ok := e.Body.(Sealed); ok {
		out, err = sealed.encode(out)
	} else {
		out, err = ownjson.Append(out, e.Body)
	}
	if err != nil {
		return nil, err
	}
	return append(out, '}'), nil
}

// openMember begins one more member behind those of an object, which is open then.
func openMember(object []byte, name string) []byte {
	out := append(object[:len(object)-1], `,"`...)
	out = append(out, name...)
	return append(out, `":`...)
}

// An entry and a sealed block are objects whose last member is long, and whose others are short. As [openMember] writes them, opening reads the
// others, so that encoding/json walks the long one once for itself, and not once more for each object around it. Of another layout, the
// whole is read.
type opening struct {
	rest []byte
	lost bool // the layout is another one
}

// after moves behind a text. It reports whether the object goes on with it.
func (o *opening) after(text string) bool {
	rest, ok := bytes.CutPrefix(o.rest, []byte(text))
	if ok {
		o.rest = rest
	}
	return ok
}

// number reads one of at most 18 digits.
func (o *opening) number() (n int64) {
	digits := 0
	for digits < len(o.rest) && o.rest[digits] >= '0' && o.rest[digits] <= '9' {
		n = n*10 + int64(o.rest[digits]-'0')
		digits++
	}
	o.lost = o.lost || digits == 0 || digits > 18 || digits > 1 && o.rest[0] == '0'
	o.rest = o.rest[digits:]
	return n
}

// word reads a string without escapes, up to the text behind it. One that is known takes no memory.
func (o *opening) word(known ...string) string {
	end := bytes.IndexByte(o.rest, '"')
	if end < 0 || slices.ContainsFunc(o.rest[:end], func(c byte) bool { return c < ' ' || c > '~' || c == '\\' }) {
		o.lost = true
		return ""
	}
	text := o.rest[:end]
	o.rest = o.rest[end+1:]
	for _, word := range known {
		if word == string(text) {
			return word
		}
	}
	return string(text)
}

// last is the value of the last member, whose name is read. It may be no JSON: the caller reads it.
func (o *opening) last() (value []byte, ok bool) {
	value, ok = bytes.CutSuffix(o.rest, []byte{'}'})
	return value, ok && !o.lost && len(value) > 0
}

// openEntry reads all of an entry except its body. before is the turn of the entry before it.
func openEntry(data []byte, before TurnID) (w wireEntry, ok bool) {
	o := opening{rest: data}
	if o.after(`{"seq":`) {
		w.Seq = uint64(o.number())
		o.lost = o.lost || !o.after(`,"ts":`)
	} else {
		o.lost = !o.after(`{"ts":`)
	}
	w.Time = o.number()
	if o.after(`,"turn_id":"`) {
		w.Turn = TurnID(o.word(string(before)))
	}
	o.lost = o.lost || !o.after(`,"kind":"`)
	w.Kind = o.word("block", "message_end", "prompt", "turn_start", "turn_end", "reserved") // most entries are of these
	o.lost = o.lost || !o.after(`,"body":`)
	w.Body, ok = o.last()
	return w, ok
}

// openSealed reads all of a sealed block except the block.
func openSealed(data []byte) (w wireSealed, ok bool) {
	o := opening{rest: data}
	o.lost = !o.after(`{"message_id":"`)
	w.Message = MessageID(o.word())
	o.lost = o.lost || !o.after(`,"number":`)
	w.Number = int(o.number())
	o.lost = o.lost || !o.after(`,"block":`)
	w.Block, ok = o.last()
	return w, ok
}

// UnmarshalJSON reads what MarshalJSON wrote; a kind that this build does not know is an error, since a view without
// it would be wrong.
func (e *Entry) UnmarshalJSON(data []byte) error { return new(decoder).decode(data, e) }

// decoder reads entries. Turn after turn starts in the same way, so it reads such a body once: the entries share it.
type decoder struct {
	start  []byte // of the last turn_start
	shared Body
	turn   TurnID // of the last entry
}

func (d *decoder) decode(data []byte, e *Entry) error {
	if w, ok := openEntry(data, d.turn); ok && d.read(w, e) == nil {
		return nil
	}
	var w wireEntry
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	return d.read(w, e)
}

func (d *decoder) read(w wireEntry, e *Entry) error {
	body, err := d.body(w)
	if err != nil {
		return err
	}
	d.turn = w.Turn
	*e = Entry{Seq: w.Seq, Time: w.Time, Turn: w.Turn, Body: body}
	return nil
}

func (d *decoder) body(w wireEntry) (Body, error) {
	read, ok := bodies[w.Kind]
	if !ok {
		return nil, fmt.Errorf("entry of unknown kind %q", w.Kind)
	}
	starts := w.Kind == TurnStart{}.kind()
	if starts && d.shared != nil && bytes.Equal(w.Body, d.start) {
		return d.shared, nil
	}
	body, err := read(w.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.Kind, err)
	}
	if starts {
		d.start, d.shared = w.Body, body
	}
	return body, nil
}

type wireSealed struct {
	Message MessageID       `json:"message_id"`
	Number  int             `json:"number"`
	Block   json.RawMessage `json:"block,omitempty"` // always there; see encode
}

// MarshalJSON writes the block with its state.
func (s Sealed) MarshalJSON() ([]byte, error) { return s.encode(nil) }

// encode appends the block with its state.
func (s Sealed) encode(out []byte) ([]byte, error) {
	out, err := ownjson.Append(out, wireSealed{Message: s.Message, Number: s.Number})
	if err != nil {
		return nil, err
	}
	if out, err = provider.AppendBlock(openMember(out, "block"), s.Block); err != nil {
		return nil, err
	}
	return append(out, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Sealed) UnmarshalJSON(data []byte) error {
	if w, ok := openSealed(data); ok && s.read(w) == nil {
		return nil
	}
	var w wireSealed
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	return s.read(w)
}

func (s *Sealed) read(w wireSealed) error {
	block, err := provider.UnmarshalBlock(w.Block)
	if err != nil {
		return err
	}
	*s = Sealed{w.Message, w.Number, block}
	return nil
}

// EncodeEntries writes entries as the log keeps them, each as one JSON object. [DecodeEntries] reads them.
func EncodeEntries(entries []Entry) ([][]byte, error) {
	values := make([][]byte, len(entries))
	for i, e := range entries {
		var err error
		if values[i], err = e.encode(); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// DecodeEntries reads what [EncodeEntries] wrote. At an error it returns the entries before. Nobody may change what an entry refers to.
func DecodeEntries(values [][]byte) (entries []Entry, err error) {
	entries = slices.Grow(entries, len(values))
	var d decoder
	for _, value := range values {
		var e Entry
		if err := d.decode(value, &e); err != nil {
			return entries, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}
