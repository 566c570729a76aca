package provider

import (
	"encoding/json"
	"slices"
)

// Event is one of Begin, Delta, End, Notice, Alive and Stop.
type Event interface{ event() }

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

// NoticeKind is a stable word, one of native.md's kinds of notice or a word of the adapter contract below.
type NoticeKind string

const (
	// NoticeConverted carries a Conversion in Data: earlier thinking of another origin was left out or rewritten.
	NoticeConverted NoticeKind = "thinking_converted"
	// NoticeDropped says that the vendor left out earlier thinking that we sent.
	NoticeDropped NoticeKind = "thinking_dropped_by_provider"
	// NoticeRepaired says that the history was sent with a repair in force.
	NoticeRepaired NoticeKind = "history_repaired"
	// NoticeNonStreaming says that the answer came whole, so that its deltas are made up.
	NoticeNonStreaming NoticeKind = "non_streaming"
	// NoticeHidden says that thinking was billed of which nothing can be shown.
	NoticeHidden NoticeKind = "hidden_thinking"
	// NoticeEdited says that the vendor shortened the context that we sent, as the operator has it do; Data is its own
	// list of edits.
	NoticeEdited NoticeKind = "context_edited"
	// NoticeOverride says that something asked for was left off the wire since the vendor refuses it.
	NoticeOverride NoticeKind = "provider_override"
	// NoticeSchema says that schemas of tools were reduced to what the vendor takes, and what was lost.
	NoticeSchema NoticeKind = "schema_reduced"
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
	Model     string          // as the answer names it
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

func (Begin) event()  {}
func (Delta) event()  {}
func (End) event()    {}
func (Notice) event() {}
func (Alive) event()  {}
func (Stop) event()   {}

// Usage is in tokens. Input includes cached and cache writes, Output includes Reasoning, whatever the vendor's own
// habit is.
type Usage struct {
	Input          int      `json:"input_tokens"`
	Output         int      `json:"output_tokens"`
	Reasoning      *int     `json:"reasoning_tokens"` // nil: the vendor gave no count
	Cached         int      `json:"cached_tokens"`
	CacheWrite     int      `json:"cache_write_tokens"`
	CacheWriteLong int      `json:"cache_write_1h_tokens,omitempty"` // of CacheWrite, what is kept for an hour or longer
	Estimated      bool     `json:"estimated"`                       // the numbers are not all the vendor's own
	Cost           *Cost    `json:"cost,omitempty"`                  // nil: not known
	Premium        Money    `json:"premium_requests,omitempty"`      // of a plan that counts them, by its list's factor
	Context        *Context `json:"context,omitempty"`

	// For the price alone. Apart are requests that the vendor made on its own, and those that went on with an answer: they
	// are part of the counts, and each is charged by its own prompt. Tier is the vendor's word for how the request was served; empty: in the usual way.
	Apart []Usage `json:"-"`
	Tier  string  `json:"-"`
}

// With is u with a request that the vendor made on its own.
func (u Usage) With(part Usage) Usage {
	sum := u.Add(part)
	sum.Tier, sum.Apart = u.Tier, append(slices.Clip(u.Apart), part)
	return sum
}

// Sent is what was sent and answered, without the requests that the vendor made on its own.
func (u Usage) Sent() Usage {
	for _, part := range u.Apart {
		u.Input -= part.Input
		u.Output -= part.Output
		u.Cached -= part.Cached
		u.CacheWrite -= part.CacheWrite
		u.CacheWriteLong -= part.CacheWriteLong
	}
	u.Apart = nil
	return u
}

// Size is how much of the model's window a call took up.
func (u Usage) Size() int {
	if u.Context != nil {
		return u.Context.Used
	}
	sent := u.Sent()
	return sent.Input + sent.Output
}

// Context is how full the model's window is after a call.
type Context struct {
	Used   int `json:"used"`
	Window int `json:"window"` // 0: not known
}

// Add sums the calls of a turn; the context is that of the last call.
func (u Usage) Add(v Usage) Usage {
	sum := Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output,
		Cached: u.Cached + v.Cached, CacheWrite: u.CacheWrite + v.CacheWrite, CacheWriteLong: u.CacheWriteLong + v.CacheWriteLong,
		Estimated: u.Estimated || v.Estimated, Cost: addCosts(u, v), Premium: u.Premium + v.Premium, Context: u.Context,
	}
	if v.Context != nil {
		sum.Context = v.Context
	}
	if u.Reasoning != nil || v.Reasoning != nil {
		var n int
		if u.Reasoning != nil {
			n += *u.Reasoning
		}
		if v.Reasoning != nil {
			n += *v.Reasoning
		}
		sum.Reasoning = &n
	}
	return sum
}
