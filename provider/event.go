package provider

import "encoding/json"

// Event is one of Served, Begin, Delta, End, Notice, Alive and Stop.
type Event interface{ event() }

// Served says which model answers, in the words of the answer itself. It comes before the first Begin and before a Stop
// without one, as soon as the answer names its model. If a later part of the answer names another model or host, it comes
// again. An answer is never changed because of it: whether Model is the one that was asked for is for the reader to decide.
type Served struct {
	Model string // as the vendor's answer names it, at most 200 bytes; empty: it names none
	Host  string // who runs the model, if the answer names it, else the host and port that were called
}

// Begin opens a block: Block has its kind and whatever is known by then (a tool call's name), no text. Index is the
// adapter's number of the block in this reply: not negative, used once.
type Begin struct {
	Index int
	Block Block
}

// Delta is growth of an open block: whole UTF-8 characters, never empty. For a tool call it is a piece of its
// arguments' JSON text.
type Delta struct {
	Index int
	Text  string
}

// End closes a block and carries all of it. A block that has no Begin (redacted thinking, opaque blocks) gets one made.
type End struct {
	Index int
	Block Block
}

// NoticeKind is a stable word: one of the kinds of notice in protocol.md, or a word of the adapter contract below.
type NoticeKind string

const (
	// NoticeConverted carries a Conversion in Data: earlier thinking of another origin was left out or rewritten.
	NoticeConverted NoticeKind = "thinking_converted"
	// NoticeDropped says that the vendor left out earlier thinking that we sent.
	NoticeDropped NoticeKind = "thinking_dropped_by_provider"
	// NoticeRepaired says that the history was sent with a repair.
	NoticeRepaired NoticeKind = "history_repaired"
	// NoticeNonStreaming says that the answer came whole, so that its deltas are made up.
	NoticeNonStreaming NoticeKind = "non_streaming"
	// NoticeHidden says that the vendor billed thinking, and that no part of it can be shown.
	NoticeHidden NoticeKind = "hidden_thinking"
	// NoticeEdited says that the vendor shortened the context that we sent, as the operator has it do; Data is its own
	// list of edits.
	NoticeEdited NoticeKind = "context_edited"
	// NoticeOverride says that something asked for was left off the wire since the vendor refuses it.
	NoticeOverride NoticeKind = "provider_override"
	// NoticeSchema says that schemas of tools were reduced to what the vendor takes, and what was lost.
	NoticeSchema NoticeKind = "schema_reduced"
	// NoticeToolsAsText says that work of another vendor's tools is sent as text.
	NoticeToolsAsText NoticeKind = "server_tools_as_text"
	// NoticeLimit says that little is left of a limit of the account.
	NoticeLimit NoticeKind = "limit_near"
)

// Notice tells people something about the exchange.
type Notice struct {
	Kind NoticeKind
	Text string
	Data json.RawMessage // nil, or what the kind says
}

// Alive says that headers, bytes or comments came, but no content; at most one a second.
type Alive struct{}

// StopReason says why a reply ended.
type StopReason string

const (
	StopEndTurn   StopReason = "end_turn"
	StopMaxTokens StopReason = "max_tokens"
	StopToolUse   StopReason = "tool_use"
	StopRefusal   StopReason = "refusal"
	StopPause     StopReason = "pause" // the vendor wants to be called again with what it said so far
)

// Stop ends a reply.
type Stop struct {
	Reason    StopReason
	Raw       string // the vendor's word
	Detail    string // for people, where the vendor explains itself (a refusal's category)
	Usage     Usage
	RawUsage  json.RawMessage // the vendor's object as reported last, nil if none came
	Model     string          // as the answer names it; the one that was asked for if it names none
	RequestID string
	State     State // opaque data of the whole message
	Cited     []Cited
}

// Cited are all sources of a text that had ended when its vendor named the last of them. They take the place of those
// that its End has.
type Cited struct {
	Index   int // the adapter's, of the text
	Sources []Citation
}

func (Served) event() {}
func (Begin) event()  {}
func (Delta) event()  {}
func (End) event()    {}
func (Notice) event() {}
func (Alive) event()  {}
func (Stop) event()   {}
