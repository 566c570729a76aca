package session

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session/tool"
)

// ID names a session, TurnID a turn, MessageID a message, SummaryID a summary of earlier turns. All are ULIDs: 26 characters of
// Crockford's base 32, upper case, compared exactly, minted by the daemon and never part of a path.
type (
	ID        string
	TurnID    string
	MessageID string
	SummaryID string
)

// NewID, NewTurnID, NewMessageID and NewSummaryID mint.
func NewID() ID               { return ID(mint()) }
func NewTurnID() TurnID       { return TurnID(mint()) }
func NewMessageID() MessageID { return MessageID(mint()) }
func NewSummaryID() SummaryID { return SummaryID(mint()) }

// NewConfirmID mints the id of a question to a person: also a ULID. Nobody can guess one.
func NewConfirmID() string { return mint() }

// NewStoreID mints the id of a store: also a ULID.
func NewStoreID() string { return mint() }

func mint() string {
	return ulid.MustNew(ulid.Timestamp(time.Now()), rand.Reader).String()
}

// Time returns when an id was minted, to the millisecond. It is zero if id is not a valid id.
func (id ID) Time() time.Time {
	parsed, err := ulid.ParseStrict(string(id))
	if err != nil {
		return time.Time{}
	}
	return ulid.Time(parsed.Time())
}

// CheckID returns what is wrong with an id that a client gave, nil if nothing is.
func CheckID(word string) error {
	if len(word) != ulid.EncodedSize {
		return fmt.Errorf("has %d characters; an id has %d", len(word), ulid.EncodedSize)
	}
	for i := range len(word) {
		c := word[i]
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z' && c != 'I' && c != 'L' && c != 'O' && c != 'U':
		default:
			return fmt.Errorf("has a character at %d that no id has; ids are upper-case ULIDs", i)
		}
	}
	if word[0] > '7' {
		return fmt.Errorf("is above the largest ULID")
	}
	return nil
}

// Status is what a session is doing.
type Status string

const (
	Idle    Status = "idle"
	Running Status = "running"
	Waiting Status = "waiting" // for an answer of a person or a client
	Parked  Status = "parked"  // a turn waits between two steps; see TurnParked
	Held    Status = "held"    // prompts are queued until a person resumes the queue
	Damaged Status = "damaged" // it cannot be read; only in listings
)

// Words lists all statuses.
func (Status) Words() []string { return provider.Words(Idle, Running, Waiting, Parked, Held, Damaged) }

// Settings is what the user has chosen for a session. Only the user changes it: a fallback to another level never does.
type Settings struct {
	Model    ModelRef           `json:"model"`
	Level    provider.Level     `json:"preferred_thinking_level,omitempty"` // empty: never chosen
	Fallback provider.Policy    `json:"fallback,omitempty"`                 // empty: downgrade
	Display  provider.Display   `json:"display,omitempty"`                  // empty: summarized
	Agent    AgentChoice        `json:"agent,omitzero"`
	Cache    provider.CacheTime `json:"cache,omitempty"`     // only in records of older builds: see Asked
	Mode     tool.Mode          `json:"tool_mode,omitempty"` // empty: ask

	KeepAlive provider.KeepAlive `json:"keep_alive,omitempty"` // fixed at the start; empty: the server's

	OnOther provider.OtherModel `json:"on_other_model,omitempty"` // empty: as the config has it

	// Fallbacks are called in this order if the model cannot be; nil: those of the config. Egress are the labels of providers that may
	// get anything of the session, fixed at the start; none: every provider may.
	Fallbacks *[]Link  `json:"fallbacks,omitempty"`
	Egress    []string `json:"egress,omitempty"`

	Options *provider.Options `json:"options,omitempty"` // nil: none; never changed once it is made

	Storage provider.ThinkingStorage `json:"thinking_storage,omitempty"` // of thinking, fixed at the start; empty: full

	// AskAbove is what a prompt into a cold session may cost, in USD, without a person's answer; 0: any amount; nil: as the config
	// has it. Older builds never set it.
	AskAbove *provider.Money `json:"ask_above,omitempty"`
}

// Asked returns the options of the session.
func (s Settings) Asked() provider.Options {
	o := s.Options.Or()
	if s.Options == nil {
		o.Cache = s.Cache
	}
	return o
}

// AgentChoice is the agent that a session was made for, with its settings at that time. It never changes, like the system prompt.
type AgentChoice struct {
	Name     string          `json:"name"`
	Level    provider.Level  `json:"effort,omitempty"`   // empty: the agent has none of its own
	Fallback provider.Policy `json:"fallback,omitempty"` // empty: the agent has none of its own

	CompactModel ModelRef          `json:"compact_model,omitzero"` // that writes summaries; zero: the session's
	Options      *provider.Options `json:"options,omitempty"`      // nil: the agent has none
}

// ModelRef names a model at a provider.
type ModelRef struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
}

func (m ModelRef) String() string { return m.Provider + "/" + m.ID }

// Link is a choice for model calls: a model, its level, and the key of its provider that pays. The first link of a chain is the requested
// model, and its fallbacks follow.
type Link struct {
	Model ModelRef       `json:"model"`
	Level provider.Level `json:"thinking_level,omitempty"` // empty: the level that every other model would get
	Key   string         `json:"key,omitempty"`            // the name of a key of the provider; empty: its first
}

// At returns the link without its level: two links with the same model and key reach the same host in the same way.
func (l Link) At() Link { return Link{Model: l.Model, Key: l.Key} }

// Payer says who pays for a turn.
type Payer struct {
	provider.Payer
	Account string `json:"account,omitempty"` // distinguishes two keys of the same name, and reveals nothing about the key
}

// Day is a day in UTC: 2026-11-23. Days compare as strings.
type Day string

// DayOf returns the day of a time.
func DayOf(t time.Time) Day { return Day(t.UTC().Format(time.DateOnly)) }

// Purpose says what a model call is for.
type Purpose string

const (
	ForTurn    Purpose = "turn"
	ForSummary Purpose = "summary"
	ForAside   Purpose = "aside" // a side question
)

// Words lists all purposes.
func (Purpose) Words() []string { return provider.Words(ForTurn, ForSummary, ForAside) }

// Reserved says that a model call is about to be made, and what it may cost. It counts until an entry has the usage of the call, until
// the turn is parked or ends, or until another Reserved. If the daemon ends before, the call counts with an estimate.
type Reserved struct {
	Day     Day            `json:"day"` // of the call, also if it ends on the next one
	Model   ModelRef       `json:"model"`
	Level   provider.Level `json:"thinking_level,omitempty"` // in effect
	Payer   *Payer         `json:"payer,omitempty"`          // nil: not known
	Purpose Purpose        `json:"purpose"`
	Usage   provider.Usage `json:"usage"`             // an estimate, with its cost
	Budgets *BudgetChange  `json:"budgets,omitempty"` // what people did about the limits before the call; nil: nothing
}

// BudgetChange says how people changed the limits for all sessions.
type BudgetChange struct {
	Attended   bool           `json:"attended,omitempty"`   // first: a person wrote or approved something, so Unattended begins with 0
	Day        provider.Money `json:"day,omitempty"`        // by how much the limit of the day was raised
	Unattended provider.Money `json:"unattended,omitempty"` // by how much the other limit was raised
}

// Session is the record of a session. It is fixed at the start, except for what a Setting, a prompt or a turn changes.
type Session struct {
	ID      ID     `json:"id"`
	Title   string `json:"title,omitempty"`
	System  string `json:"system_prompt,omitempty"` // fixed: signed thinking is bound to it
	CWD     string `json:"cwd,omitempty"`
	Created int64  `json:"created"` // Unix milliseconds
	Updated int64  `json:"updated"`
	Settings
	Status   Status                     `json:"status"`
	Queued   int                        `json:"queued,omitempty"` // prompts that wait for their turn
	Usage    provider.Usage             `json:"usage"`
	Ended    int                        `json:"ended,omitempty"` // turns that ran and ended
	Read     map[string]int             `json:"read,omitempty"`  // Ended when each principal read the session last: see MarkRead
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
	Warm     *Warm                      `json:"warm,omitempty"`       // nil: no vendor keeps the conversation in its cache, or that is not known
	Tools    []tool.Tool                `json:"tools,omitempty"`      // fixed, for the same reason as System
	Rules    tool.Policy                `json:"tool_policy,omitzero"` // at least as strict as the operator's
	Shared   []Span                     `json:"shared,omitempty"`     // of a fork: what comes before its own log, in order
	Pinned   []MessageID                `json:"pinned,omitempty"`     // messages that later summaries keep word for word, sorted
	Archived bool                       `json:"archived,omitempty"`   // a person has put it away; nothing else depends on it
	OnTop    bool                       `json:"on_top,omitempty"`     // a person has pinned it to the top of lists; clients sort
	Reserved *Reserved                  `json:"reserved,omitempty"`   // by the model call that runs; nil: the log has none

	Ephemeral bool `json:"ephemeral,omitempty"` // fixed: it is in memory alone, and ends with the process

	Instructions Instructions `json:"project_instructions,omitzero"` // fixed, for the same reason as System; older builds never set them
}

// Instructions are those of a project, as its files had them when the session began.
type Instructions struct {
	Files []InstructionFile `json:"files,omitempty"` // in the order of Text
	Text  string            `json:"text,omitempty"`  // the part of the system prompt
}

// IsZero reports whether there are none.
func (i Instructions) IsZero() bool { return i.Files == nil && i.Text == "" }

// InstructionFile is a file with instructions.
type InstructionFile struct {
	Path  string `json:"path"`          // absolute
	Bytes int    `json:"bytes"`         // of the file that are in the system prompt
	Cut   bool   `json:"cut,omitempty"` // the file is longer
}

// SystemPrompt returns the instructions for models: those of the client or the agent, and those of the project.
func (s *Session) SystemPrompt() string {
	switch {
	case s.Instructions.Text == "":
		return s.System
	case s.System == "":
		return s.Instructions.Text
	}
	return s.System + "\n\n" + s.Instructions.Text
}

// Warm says which vendor's cache has the conversation, as the last call left it.
type Warm struct {
	Until int64    `json:"until"` // Unix milliseconds
	Model ModelRef `json:"model"`
}

// Span is the part at the beginning of another session's log that a fork continues. A fork copies no entries: entries are only ever added to
// a log, so its beginning stays the same for both. A deleted session keeps its log in the store as long as a fork shares it, for
// that fork alone.
type Span struct {
	Session ID        `json:"session_id"`
	Upto    uint64    `json:"upto"`       // position of the last entry that is read
	Message MessageID `json:"message_id"` // the last message that is shared; what follows it is left out
}

// MetadataSize returns the length of all names and values, in bytes.
func MetadataSize(m map[string]json.RawMessage) (size int) {
	for name, value := range m {
		size += len(name) + len(value)
	}
	return size
}
