package agent

import (
	"cmp"
	"encoding/json"
	"sync"
	"time"

	"github.com/thinkd/thinkd/agent/tool"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Update is one thing told to the clients of a session: a notification of the protocol. It is shared by all
// subscribers and never changes.
type Update struct {
	Session  session.ID
	Seq      uint64
	FirstSeq uint64 // of merged growth: the first number that it stands for; else 0
	Time     int64  // Unix milliseconds
	Turn     session.TurnID
	Event    Event

	weight  int // what it counts while it waits for a subscriber
	once    sync.Once
	encoded []byte
}

// first is the first number that u stands for.
func (u *Update) first() uint64 { return cmp.Or(u.FirstSeq, u.Seq) }

// Encoded is the update's bytes as made by encode, which is called once for all subscribers.
func (u *Update) Encoded(encode func(*Update) []byte) []byte {
	u.once.Do(func() { u.encoded = encode(u) })
	return u.encoded
}

// Event is what an Update tells. Method is its name in the protocol; the other members are its JSON.
type Event interface{ Method() string }

// Events, in the words and the order of the protocol's table.
type (
	PromptStored struct {
		Message     session.MessageID `json:"message_id"`
		Content     provider.Blocks   `json:"content"`
		Disposition Disposition       `json:"disposition"`
		Into        session.TurnID    `json:"into,omitempty"` // the turn that a Steered prompt is for
	}
	TurnStart struct {
		Model     Model             `json:"model"`
		Reasoning provider.Decision `json:"reasoning"`
		Cache                       // empty at the first turn
	}
	MessageStart struct {
		Message session.MessageID `json:"message_id"`
		Role    provider.Role     `json:"role"`
	}
	MessageEnd struct {
		Message    session.MessageID `json:"message_id"`
		StopReason string            `json:"stop_reason"`
		Usage      provider.Usage    `json:"usage"`
		Cited      []session.Cited   `json:"cited,omitempty"` // sources of texts that had ended
	}
	ThinkingStart struct {
		Message session.MessageID `json:"message_id"`
		Block   int               `json:"block"`
	}
	ThinkingDelta struct {
		Message session.MessageID `json:"message_id"`
		Block   int               `json:"block"`
		Delta   string            `json:"delta"`
	}
	ThinkingEnd struct {
		Message    session.MessageID     `json:"message_id"`
		Block      int                   `json:"block"`
		Text       string                `json:"text"`
		Kind       provider.ThinkingKind `json:"kind"`
		Signed     bool                  `json:"signed"`
		Tokens     int                   `json:"tokens,omitempty"`
		Estimated  bool                  `json:"estimated,omitempty"`
		DurationMS int64                 `json:"duration_ms"`
	}
	MessageDelta struct {
		Message session.MessageID `json:"message_id"`
		Block   int               `json:"block"`
		Delta   string            `json:"delta"`
	}
	TextEnd struct {
		Message session.MessageID   `json:"message_id"`
		Block   int                 `json:"block"`
		Text    string              `json:"text"`
		Sources []provider.Citation `json:"sources,omitempty"`
	}
	MediaEnd struct {
		Message  session.MessageID `json:"message_id"`
		Block    int               `json:"block"`
		MimeType string            `json:"mime_type"`
		Size     int               `json:"size"` // bytes; the data is in the history
		Hash     string            `json:"-"`    // where the data is kept
	}
	UsageTotal struct {
		Usage provider.Usage `json:"usage"` // of the session so far
	}
	Retry struct {
		Attempt   int           `json:"attempt"` // 2 for the first call that a turn makes once more
		AfterMS   int64         `json:"after_ms"`
		Kind      provider.Kind `json:"kind"`
		Message   string        `json:"message"`
		Discarded []int         `json:"discarded"` // blocks of the open message that are void
	}
	ThinkingConverted struct {
		From string `json:"from"` // provider/id
		To   string `json:"to"`
		provider.Conversion
	}
	Notice struct {
		Severity Severity `json:"severity"`
		Kind     string   `json:"kind"`
		Message  string   `json:"message"`
	}
	SessionUpdate struct {
		Title     *string                    `json:"title,omitempty"`
		Model     *Model                     `json:"model,omitempty"`
		Level     provider.Level             `json:"thinking_level,omitempty"`
		Preferred provider.Level             `json:"preferred_thinking_level,omitempty"`
		Mode      tool.Mode                  `json:"tool_mode,omitempty"`
		Grants    *[]tool.Grant              `json:"grants,omitempty"` // all that are in force
		Status    session.Status             `json:"status,omitempty"`
		Metadata  map[string]json.RawMessage `json:"metadata,omitempty"`
		Deleted   bool                       `json:"deleted,omitempty"`
	}
	QueueUpdate struct {
		Queue []Queued `json:"queue"`
		Held  bool     `json:"held"`
	}
	TurnEnd struct {
		StopReason string           `json:"stop_reason"`
		Limit      string           `json:"limit,omitempty"`
		Usage      provider.Usage   `json:"usage"`
		DurationMS int64            `json:"duration_ms"`
		Error      *session.Failure `json:"error,omitempty"`
	}
)

func (PromptStored) Method() string      { return "prompt" }
func (TurnStart) Method() string         { return "turn_start" }
func (MessageStart) Method() string      { return "message_start" }
func (MessageEnd) Method() string        { return "message_end" }
func (ThinkingStart) Method() string     { return "thinking_start" }
func (ThinkingDelta) Method() string     { return "thinking_delta" }
func (ThinkingEnd) Method() string       { return "thinking_end" }
func (MessageDelta) Method() string      { return "message_delta" }
func (TextEnd) Method() string           { return "text_end" }
func (MediaEnd) Method() string          { return "media_end" }
func (UsageTotal) Method() string        { return "usage" }
func (Retry) Method() string             { return "retry" }
func (ThinkingConverted) Method() string { return "thinking_converted" }
func (Notice) Method() string            { return "notice" }
func (SessionUpdate) Method() string     { return "session_update" }
func (QueueUpdate) Method() string       { return "queue_update" }
func (TurnEnd) Method() string           { return "turn_end" }

// Events lists one of each, for those who describe them all or test them all.
func Events() []Event {
	return []Event{PromptStored{}, TurnStart{}, MessageStart{}, MessageEnd{}, ThinkingStart{}, ThinkingDelta{},
		ThinkingEnd{}, MessageDelta{}, TextEnd{}, MediaEnd{}, UsageTotal{}, Retry{}, ThinkingConverted{}, Notice{},
		SessionUpdate{}, QueueUpdate{}, TurnEnd{}, ToolStart{}, ToolOutput{}, ToolEnd{}, Confirm{}, ConfirmResolved{}}
}

// Model is a model with the level in force.
type Model struct {
	Provider string         `json:"provider"`
	ID       string         `json:"id"`
	Level    provider.Level `json:"thinking_level"`
}

// Disposition says what became of a prompt.
type Disposition string

const (
	Started Disposition = "started"
	Enqueue Disposition = "queued"
	Steer   Disposition = "steered" // taken in before the next model call of the turn that runs, if there is one
)

// Queued is a prompt that waits.
type Queued struct {
	Turn session.TurnID `json:"turn_id"`
	Text string         `json:"text"` // its first 200 characters
}

// Severity of a notice.
type Severity string

const (
	Info    Severity = "info"
	Warning Severity = "warning"
)

// Kinds of notice that the agent gives itself (see also noticeMissing); adapters give theirs as a provider.NoticeKind.
const (
	noticeSimulator     = "simulator"
	noticeClamped       = "level_clamped"
	noticeOff           = "off_not_supported"
	noticeNotHonoured   = "control_not_honoured"
	noticeNoThinking    = "no_thinking_seen"
	noticeHidden        = "hidden_thinking"
	noticeCacheLost     = "cache_lost"
	noticeRepaired      = "history_repaired"
	noticeLeftOut       = "suspect_left_out"
	noticeEmpty         = "empty_answer"
	noticeStalled       = "stalled"
	noticeBudgetNear    = "budget_near"
	noticeBudgetReached = "budget_reached"
	noticePriceUnknown  = "price_unknown"
	noticeRetires       = "model_retires"
	noticeCompacting    = "compacting"
	noticeCompacted     = "compacted"
	noticeNotCompacted  = "compaction_failed"
	noticeStoreReadOnly = "store_readonly"
	noticeToolsMissing  = "tools_missing"
)

// growing is a block that grows; zero for none.
type growing struct {
	message session.MessageID
	block   int
	call    string // of a tool, in place of both
}

// grown is the growth that an event tells, if it tells growth: what may be merged.
func grown(e Event) (growing, string) {
	switch e := e.(type) {
	case ThinkingDelta:
		return growing{message: e.Message, block: e.Block}, e.Delta
	case MessageDelta:
		return growing{message: e.Message, block: e.Block}, e.Delta
	case ToolOutput:
		return growing{call: e.CallID}, e.Chunk
	}
	return growing{}, ""
}

// withText is the same growth with another text.
func withText(e Event, text string) Event {
	switch e := e.(type) {
	case ThinkingDelta:
		e.Delta = text
		return e
	case MessageDelta:
		e.Delta = text
		return e
	case ToolOutput:
		e.Chunk = text
		return e
	}
	return e
}

func milliseconds(t time.Time) int64 { return t.UnixMilli() }
