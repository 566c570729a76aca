package feed

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// Event is the content of an Update. Method is its name in the protocol; its members are its JSON.
type Event interface{ Method() string }

// Events have the words and the order of the protocol's table.
type (
	PromptStored struct {
		Message     session.MessageID `json:"message_id"`
		Content     provider.Blocks   `json:"content"`
		Disposition Disposition       `json:"disposition"`
		Into        session.TurnID    `json:"into,omitempty"` // the turn that a Steered prompt is for

		Replaces bool `json:"replaces,omitempty"` // the prompt waits, and takes the place of the one that its turn had
	}
	TurnStart struct {
		Model     Model             `json:"model"`
		Reasoning provider.Decision `json:"reasoning"`
		Payer     *provider.Payer   `json:"payer,omitempty"` // nil: not known

		Options *provider.OptionDecision `json:"options,omitempty"` // nil: none are asked for

		Cache // empty at the first turn

		Continues session.TurnID `json:"continues,omitempty"` // the unfinished turn that this one goes on with; nobody said anything
		Joins     *Joined        `json:"joins,omitempty"`     // the first text of the turn is a part of this one

		Instead string `json:"instead_of,omitempty"` // provider/id of the first choice, if the session stays with one of its fallbacks
	}
	// FellBack says that the turn continues with another model or key. It comes before the answer of that model.
	FellBack struct {
		From        Model            `json:"from"`
		To          Model            `json:"to"`
		Key         string           `json:"key,omitempty"` // the name of the key in use; absent: the provider's first
		Reason      SwitchReason     `json:"why"`
		Error       *session.Failure `json:"error,omitempty"`     // why From could not be called
		Continues   bool             `json:"continues,omitempty"` // the text so far stays, and the next answer goes on from there
		Thinking    *Thoughts        `json:"thinking,omitempty"`  // what To gets of earlier thinking; absent: not known
		Cache                        // of To
		PriceFactor *float64         `json:"price_factor,omitempty"` // the price of output at To, divided by that at From; absent: not known
		Payer       *provider.Payer  `json:"payer,omitempty"`        // of To; absent: not known

		Options *provider.OptionDecision `json:"options,omitempty"` // what To takes of the turn's options; nil: none are asked for
	}
	MessageStart struct {
		Message session.MessageID `json:"message_id"`
		Role    provider.Role     `json:"role"`
		Served  *Served           `json:"served,omitempty"` // nil: not known
	}
	MessageEnd struct {
		Message    session.MessageID  `json:"message_id"`
		StopReason session.StopReason `json:"stop_reason"`
		Usage      provider.Usage     `json:"usage"`
		Served     *Served            `json:"served,omitempty"` // only if another model answered than the start of the message says
		Tier       string             `json:"tier,omitempty"`   // the vendor's word for how it served the request
		Cited      []session.Cited    `json:"cited,omitempty"`  // sources of texts that had ended
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
		JSON    json.RawMessage     `json:"json,omitempty"` // the text as a value, if it is the JSON that was asked for
		Sources []provider.Citation `json:"sources,omitempty"`
	}
	MediaEnd struct {
		Message  session.MessageID `json:"message_id"`
		Block    int               `json:"block"`
		MimeType string            `json:"mime_type"`
		Size     int               `json:"size"` // bytes; the data is in the history
		Hash     string            `json:"-"`    // where the data is kept
	}
	// ServerTool says what a vendor runs on its own servers. Updates with the same CallID are about one call: at first it runs, and the
	// last one has its result.
	ServerTool struct {
		Message   session.MessageID   `json:"message_id"`
		Block     int                 `json:"block"`
		CallID    string              `json:"call_id"`
		Name      string              `json:"name"`
		Status    ServerStatus        `json:"status"`
		Arguments json.RawMessage     `json:"arguments,omitempty"`
		Text      string              `json:"text,omitempty"` // what came of it
		Sources   []provider.Citation `json:"sources,omitempty"`
		Truncated bool                `json:"truncated,omitempty"` // the message has no room for all of it
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

		Summary session.SummaryID `json:"summary_id,omitempty"` // that it is about
	}
	SessionUpdate struct {
		Title     *string                    `json:"title,omitempty"`
		Model     *Model                     `json:"model,omitempty"`
		Level     provider.Level             `json:"thinking_level,omitempty"`
		Preferred provider.Level             `json:"preferred_thinking_level,omitempty"`
		Mode      tool.Mode                  `json:"tool_mode,omitempty"`
		OnOther   provider.OtherModel        `json:"on_other_model,omitempty"`
		Grants    *[]tool.Grant              `json:"grants,omitempty"` // all in effect
		Archived  *bool                      `json:"archived,omitempty"`
		OnTop     *bool                      `json:"pinned,omitempty"`
		Pinned    *[]session.MessageID       `json:"pinned_messages,omitempty"` // all that are pinned
		Options   *provider.Options          `json:"options,omitempty"`         // all of the session's now
		Status    session.Status             `json:"status,omitempty"`
		Metadata  map[string]json.RawMessage `json:"metadata,omitempty"`
		Deleted   bool                       `json:"deleted,omitempty"`
		Fallbacks *[]session.Link            `json:"fallbacks,omitempty"`
		AskAbove  *provider.Money            `json:"ask_above,omitempty"`
	}
	QueueUpdate struct {
		Queue []Queued `json:"queue"`
		Held  bool     `json:"held"`
	}
	// TurnParked says that the turn waits between two steps. Another one follows if the time changes.
	TurnParked struct {
		Why     session.ParkReason `json:"why"`
		Since   int64              `json:"since"`           // Unix milliseconds
		Until   int64              `json:"until,omitempty"` // Unix milliseconds: it may resume from then on; 0: nobody knows when
		Resumes session.Resumption `json:"resumes"`
		Error   *session.Failure   `json:"error,omitempty"` // why the call failed

		Spending *session.Spending `json:"spending,omitempty"` // what a person decides on
	}
	TurnResumed struct{ session.TurnResumed }

	// TurnEnd ends a turn. If another turn included the prompt, it has Into and that turn's reason, and nothing else. The end of Into came
	// before it.
	TurnEnd struct {
		session.TurnEnd
		Into session.TurnID `json:"into,omitempty"`
	}
)

// NewTurnParked returns what clients see of a parked turn.
func NewTurnParked(p session.TurnParked) TurnParked {
	return TurnParked{p.Why, p.Since, p.Until, p.Resumes, p.Error, p.Spending}
}

// NewFellBack returns what clients see of a switch that the log has. The effects on thinking, cache and price are not in the log.
func NewFellBack(s session.Switch) FellBack {
	shown := func(l session.Link) Model { return Model{Provider: l.Model.Provider, ID: l.Model.ID, Level: l.Level} }
	e := FellBack{From: shown(s.From), To: shown(s.To), Key: s.To.Key, Reason: Returned, Error: s.Why, Continues: s.Continues}
	if s.Why != nil {
		e.Reason = SwitchReason(s.Why.Kind)
	}
	if s.Payer != nil {
		e.Payer = &s.Payer.Payer
	}
	return e
}

// SwitchReason says why a turn continues with another model: the kind of error of the failed call, or Returned.
type SwitchReason string

// Returned says that the session goes back to its first choice as a turn begins.
const Returned SwitchReason = "returned"

// Words lists all reasons.
func (SwitchReason) Words() []string { return append(provider.Kind("").Words(), string(Returned)) }

// Thoughts counts the blocks of earlier thinking that another model gets, gets as text, or does not get.
type Thoughts struct {
	Kept      int      `json:"kept"`
	Converted int      `json:"converted"`
	Dropped   int      `json:"dropped"`
	Why       []string `json:"why"` // of what is not kept

	Media int `json:"media_left_out,omitempty"` // images and other media in whose place a sentence stands
}

// NewThoughts returns what clients see of a conversion.
func NewThoughts(c provider.Conversion) *Thoughts {
	return &Thoughts{c.Kept, c.AsText, c.Dropped, append([]string{}, c.Why...), c.Media}
}

// Joined is a text that was cut off. The first text of the turn that goes on with it belongs directly behind it, without a space.
type Joined struct {
	Message session.MessageID `json:"message_id"`
	Block   int               `json:"block"`
}

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
func (ServerTool) Method() string        { return "server_tool" }
func (UsageTotal) Method() string        { return "usage" }
func (Retry) Method() string             { return "retry" }
func (ThinkingConverted) Method() string { return "thinking_converted" }
func (Notice) Method() string            { return "notice" }
func (SessionUpdate) Method() string     { return "session_update" }
func (QueueUpdate) Method() string       { return "queue_update" }
func (FellBack) Method() string          { return "fell_back" }
func (TurnParked) Method() string        { return "turn_parked" }
func (TurnResumed) Method() string       { return "turn_resumed" }
func (TurnEnd) Method() string           { return "turn_end" }

// Events lists one of each, for those who describe them all or test them all.
func Events() []Event {
	return []Event{PromptStored{}, TurnStart{}, MessageStart{}, MessageEnd{}, ThinkingStart{}, ThinkingDelta{},
		ThinkingEnd{}, MessageDelta{}, TextEnd{}, MediaEnd{}, ServerTool{}, UsageTotal{}, Retry{}, ThinkingConverted{}, Notice{},
		SessionUpdate{}, QueueUpdate{}, FellBack{}, TurnParked{}, TurnResumed{}, TurnEnd{}, SummaryStored{}, SummaryUndone{}, ToolStart{}, ToolOutput{}, ToolEnd{}, Plan{}, Confirm{}, ConfirmResolved{}}
}

// ServerStatus is the state of the call of a vendor's tool.
type ServerStatus string

const (
	ServerRunning ServerStatus = "running"
	ServerDone    ServerStatus = "done"
	ServerFailed  ServerStatus = "failed"
)

// Words lists all of them.
func (ServerStatus) Words() []string { return provider.Words(ServerRunning, ServerDone, ServerFailed) }

// NewServerTool returns what clients see of a block.
func NewServerTool(id session.MessageID, number int, b provider.ServerTool) ServerTool {
	e := ServerTool{Message: id, Block: number, CallID: b.ID, Name: b.Name, Status: ServerRunning, Arguments: b.Input, Text: b.Text, Sources: b.Sources}
	switch {
	case b.Failed:
		e.Status = ServerFailed
	case b.Done:
		e.Status = ServerDone
	}
	return e
}

// Model is a model with the level in effect.
type Model struct {
	Provider string         `json:"provider"`
	ID       string         `json:"id"`
	Level    provider.Level `json:"thinking_level"`
}

// Served is the model that answers, as the answer names it, and who runs it.
type Served struct {
	Model string `json:"model,omitempty"` // empty: the answer names none
	Host  string `json:"host,omitempty"`
	Other bool   `json:"substituted,omitempty"` // it is another model than the one that was asked for
}

// NewServed returns what clients see of a record, nil if the record names no model.
func NewServed(by *session.Served) *Served {
	if by == nil || by.Model == "" && by.Host == "" {
		return nil
	}
	return &Served{Model: by.Model, Host: by.Host, Other: by.Other}
}

// Disposition says how a prompt was handled.
type Disposition string

const (
	Started  Disposition = "started"
	Enqueued Disposition = "queued"
	Appended Disposition = "appended" // added to the conversation; no model is called
	Steered  Disposition = "steered"  // taken in before the next model call of the turn that runs, if there is one
)

// Words lists all dispositions.
func (Disposition) Words() []string { return provider.Words(Started, Enqueued, Steered, Appended) }

// Queued is a prompt that waits.
type Queued struct {
	Turn session.TurnID `json:"turn_id"`
	Text string         `json:"text"` // its first MaxQueuedText characters
}

// Severity of a notice.
type Severity string

const (
	Info    Severity = "info"
	Warning Severity = "warning"
)

// Words lists both severities.
func (Severity) Words() []string { return provider.Words(Info, Warning) }

// Cache says whether a call can use the vendor's prompt cache, as far as that depends on what is sent. The zero value is for a
// conversation that was sent to no vendor yet.
type Cache struct {
	State provider.CacheState `json:"cache,omitempty"`
	Why   string              `json:"cache_why,omitempty"` // for people; empty where it is kept
}

// MaxQueuedText bounds the text of a Queued, in characters. The whole queue is published with each change, and each prompt was
// published before.
const MaxQueuedText = 200

// NewQueued returns the prompt of a turn as the queue shows it.
func NewQueued(id session.TurnID, p session.Prompt) Queued {
	var text strings.Builder
	for _, b := range p.Content {
		if t, ok := b.(provider.Text); ok {
			if text.Len() > 0 {
				text.WriteByte('\n')
			}
			text.WriteString(t.Text[:min(len(t.Text), MaxQueuedText*utf8.UTFMax)])
		}
	}
	characters := []rune(strings.ToValidUTF8(text.String(), ""))
	if len(characters) > MaxQueuedText {
		return Queued{id, string(characters[:MaxQueuedText]) + "…"}
	}
	return Queued{id, string(characters)}
}
