package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/provider"
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
	"prompt":       readBody[Prompt],
	"steered":      readBody[Steered],
	"moved":        readBody[Moved],
	"verdict":      readBody[Verdict],
	"tool_start":   readBody[ToolStart],
	"tool_end":     readBody[ToolEnd],
	"turn_start":   readBody[TurnStart],
	"block":        readSealed,
	"message_end":  readBody[MessageEnd],
	"retry":        readBody[Retry],
	"setting":      readBody[Setting],
	"repair":       readBody[Repair],
	"left_out":     readBody[LeftOut],
	"compaction":   readBody[Compaction],
	"uncompaction": readBody[Uncompaction],
	"fell_back":    readBody[FellBack],
	"turn_parked":  readBody[TurnParked],
	"turn_resumed": readBody[TurnResumed],
	"turn_end":     readBody[TurnEnd],
	"reserved":     readBody[Reserved],
	"settled":      readBody[Settled],
}

func readSealed(data []byte) (Body, error) {
	var s Sealed
	err := s.UnmarshalJSON(data)
	return s, err
}

func readBody[B Body](data []byte) (Body, error) {
	var b B
	err := json.Unmarshal(data, &b)
	return b, err
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
func (e Entry) encode() ([]byte, error) {
	if e.Body == nil {
		return nil, fmt.Errorf("entry without a body")
	}
	var body []byte
	var err error
	if sealed, ok := e.Body.(Sealed); ok {
		body, err = sealed.encode()
	} else {
		body, err = json.Marshal(e.Body)
	}
	if err != nil {
		return nil, err
	}
	head, err := json.Marshal(wireEntry{Seq: e.Seq, Time: e.Time, Turn: e.Turn, Kind: e.Body.kind()})
	if err != nil {
		return nil, err
	}
	return member(head, "body", body), nil
}

// member puts one more member behind those of an object.
func member(object []byte, name string, value []byte) []byte {
	out := make([]byte, 0, len(object)+len(name)+len(value)+len(`,"":}`))
	out = append(out, object[:len(object)-1]...)
	out = append(out, `,"`...)
	out = append(out, name...)
	out = append(out, `":`...)
	out = append(out, value...)
	return append(out, '}')
}

// cut takes the last member off an object that [member] wrote, without a look at its value. Of another object, it may return something
// that is no JSON: then the whole has to be read.
func cut(object []byte, name string) (head, value []byte, ok bool) {
	before, value, ok := bytes.Cut(object, []byte(`,"`+name+`":`)) // never within a string, where a quote has a backslash
	if !ok || len(value) == 0 || value[len(value)-1] != '}' {
		return nil, nil, false
	}
	return append(slices.Clip(before), '}'), value[:len(value)-1], true
}

// inParts reads an object whose last member is read by itself, where it stands last. So encoding/json walks a long value once for itself,
// and not once more for each object around it.
func inParts[W any](data []byte, name string, last func(*W) *json.RawMessage, read func(W) error) error {
	if head, value, ok := cut(data, name); ok {
		var w W
		if json.Unmarshal(head, &w) == nil && *last(&w) == nil {
			*last(&w) = value
			if read(w) == nil {
				return nil
			}
		}
	}
	var w W
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	return read(w)
}

// UnmarshalJSON reads what MarshalJSON wrote; a kind that this build does not know is an error, since a view without
// it would be wrong.
func (e *Entry) UnmarshalJSON(data []byte) error {
	return inParts(data, "body", func(w *wireEntry) *json.RawMessage { return &w.Body }, e.read)
}

func (e *Entry) read(w wireEntry) error {
	read, ok := bodies[w.Kind]
	if !ok {
		return fmt.Errorf("entry of unknown kind %q", w.Kind)
	}
	body, err := read(w.Body)
	if err != nil {
		return fmt.Errorf("%s: %w", w.Kind, err)
	}
	*e = Entry{Seq: w.Seq, Time: w.Time, Turn: w.Turn, Body: body}
	return nil
}

type wireSealed struct {
	Message MessageID       `json:"message_id"`
	Number  int             `json:"number"`
	Block   json.RawMessage `json:"block,omitempty"` // always there; see encode
}

// MarshalJSON writes the block with its state.
func (s Sealed) MarshalJSON() ([]byte, error) { return s.encode() }

func (s Sealed) encode() ([]byte, error) {
	block, err := provider.MarshalBlock(s.Block)
	if err != nil {
		return nil, err
	}
	head, err := json.Marshal(wireSealed{Message: s.Message, Number: s.Number})
	if err != nil {
		return nil, err
	}
	return member(head, "block", block), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Sealed) UnmarshalJSON(data []byte) error {
	return inParts(data, "block", func(w *wireSealed) *json.RawMessage { return &w.Block }, s.read)
}

func (s *Sealed) read(w wireSealed) error {
	block, err := provider.UnmarshalBlock(w.Block)
	if err != nil {
		return err
	}
	*s = Sealed{w.Message, w.Number, block}
	return nil
}

// EncodeEntries writes entries as the log keeps them, each as one JSON object. [Entry.UnmarshalJSON] reads them.
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
