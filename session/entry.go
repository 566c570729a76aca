package session

import (
	"encoding/json"
	"fmt"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session/tool"
)

// Entry is one thing that happened, as the log keeps it. Its position in the log is the store's; Seq is the protocol's
// number of the notification that told it.
type Entry struct {
	Seq  uint64 // 0: it was told by no notification
	Time int64  // Unix milliseconds; for people, never for order
	Turn TurnID // empty: it belongs to none
	Body Body
}

// Body is a Prompt, Steered, TurnStart, Sealed, MessageEnd, Verdict, ToolStart, ToolEnd, Retry, Setting, Repair,
// LeftOut, Compaction or TurnEnd.
type Body interface{ kind() string }

// Prompt is what a user said. Its turn starts with the TurnStart of the same turn; until then it is queued.
type Prompt struct {
	Message  MessageID       `json:"message_id"`
	Content  provider.Blocks `json:"content"`
	Override Override        `json:"override,omitzero"`
	Stamp    *Stamp          `json:"stamp,omitempty"`  // nil: the client gave it none
	Queued   bool            `json:"queued,omitempty"` // it was answered as one that waits
	Steer    bool            `json:"steer,omitempty"`  // it waits for the next model call of the turn that runs
}

// Override is a choice for one turn.
type Override struct {
	Model   *ModelRef        `json:"model,omitempty"`
	Level   provider.Level   `json:"thinking_level,omitempty"`
	Display provider.Display `json:"display,omitempty"`
}

// TurnStart freezes what a turn runs with.
type TurnStart struct {
	Model     ModelRef          `json:"model"`
	Reasoning provider.Decision `json:"reasoning"`
}

// Sealed is a finished block of a message. Number is its number in the message: stable for ever, not an index.
type Sealed struct {
	Message MessageID
	Number  int
	Block   provider.Block
}

// MessageEnd closes a message of the model.
type MessageEnd struct {
	Message    MessageID       `json:"message_id"`
	StopReason string          `json:"stop_reason"`
	Raw        string          `json:"raw,omitempty"`   // the vendor's word
	Model      string          `json:"model,omitempty"` // as the answer named it
	RequestID  string          `json:"request_id,omitempty"`
	Usage      provider.Usage  `json:"usage"`
	RawUsage   json.RawMessage `json:"raw_usage,omitempty"`
	State      provider.State  `json:"state,omitzero"`
	Incomplete Incomplete      `json:"incomplete,omitempty"` // empty: the message is whole
}

// Incomplete says why a message is not whole.
type Incomplete string

const (
	Cancelled   Incomplete = "cancelled"
	Interrupted Incomplete = "interrupted"
	Failed      Incomplete = "error"
	CutOff      Incomplete = "max_tokens"
	Refused     Incomplete = "refusal" // the model declined to answer
	Unsent      Incomplete = "refused" // the provider refused requests that had it; see LeftOut
)

// Retry makes sealed blocks of the open message void: the call that made them failed and is made again.
type Retry struct {
	Message   MessageID      `json:"message_id"`
	Discarded []int          `json:"discarded"`
	Usage     provider.Usage `json:"usage,omitzero"` // of the call that failed
}

// Setting is a change that a user made: absent members stay as they are. One without members keeps a number: that under
// which an owner told the first thing, where nothing else of that is kept.
type Setting struct {
	Model    *ModelRef                  `json:"model,omitempty"`
	Level    *provider.Level            `json:"thinking_level,omitempty"`
	Fallback *provider.Policy           `json:"fallback,omitempty"`
	Display  *provider.Display          `json:"display,omitempty"`
	Mode     *tool.Mode                 `json:"tool_mode,omitempty"`
	Title    *string                    `json:"title,omitempty"`
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"` // replaces members; a null removes one
	Revoke   []string                   `json:"revoke,omitempty"`   // ids of grants that end
}

// Repair is a lasting change to how the history is sent.
type Repair struct {
	API    string          `json:"api"`
	Repair provider.Repair `json:"repair"`
}

// TurnEnd closes a turn, started or queued.
type TurnEnd struct {
	StopReason string         `json:"stop_reason"`
	Limit      string         `json:"limit,omitempty"`
	Usage      provider.Usage `json:"usage"`
	DurationMS int64          `json:"duration_ms"`
	Error      *Failure       `json:"error,omitempty"`
}

// Failure is why a turn ended with an error, in words that clients may see. The protocol's code follows from Kind.
type Failure struct {
	Kind         string `json:"kind"` // a provider.Kind, or "internal" or "store"
	Message      string `json:"message"`
	Status       int    `json:"status,omitempty"`         // HTTP
	RetryAfterMS int64  `json:"retry_after_ms,omitempty"` // as the vendor asks
	RequestID    string `json:"request_id,omitempty"`     // the vendor's
	Ref          string `json:"ref,omitempty"`            // what the log names an internal error by
}

func (Prompt) kind() string     { return "prompt" }
func (Steered) kind() string    { return "steered" }
func (Verdict) kind() string    { return "verdict" }
func (ToolStart) kind() string  { return "tool_start" }
func (ToolEnd) kind() string    { return "tool_end" }
func (TurnStart) kind() string  { return "turn_start" }
func (Sealed) kind() string     { return "block" }
func (MessageEnd) kind() string { return "message_end" }
func (Retry) kind() string      { return "retry" }
func (Setting) kind() string    { return "setting" }
func (Repair) kind() string     { return "repair" }
func (TurnEnd) kind() string    { return "turn_end" }

// bodies reads the body of each kind.
var bodies = map[string]func([]byte) (Body, error){
	"prompt":      readBody[Prompt],
	"steered":     readBody[Steered],
	"verdict":     readBody[Verdict],
	"tool_start":  readBody[ToolStart],
	"tool_end":    readBody[ToolEnd],
	"turn_start":  readBody[TurnStart],
	"block":       readBody[Sealed],
	"message_end": readBody[MessageEnd],
	"retry":       readBody[Retry],
	"setting":     readBody[Setting],
	"repair":      readBody[Repair],
	"left_out":    readBody[LeftOut],
	"compaction":  readBody[Compaction],
	"turn_end":    readBody[TurnEnd],
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
