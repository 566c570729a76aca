package session

import (
	"encoding/json"
	"fmt"

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
	"block":        readBody[Sealed],
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

// UnmarshalJSON reads what MarshalJSON wrote; a kind that this build does not know is an error, since a view without
// it would be wrong.
func (e *Entry) UnmarshalJSON(data []byte) error {
	var w wireEntry
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
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
	var w wireSealed
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
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
