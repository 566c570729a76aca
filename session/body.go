package session

import (
	"encoding/json"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session/tool"
)

// Body is a Prompt, Steered, Moved, TurnStart, Sealed, MessageEnd, Verdict, ToolStart, ToolEnd, Retry, Setting, Repair,
// LeftOut, Compaction, Uncompaction, FellBack, TurnParked, TurnResumed, TurnEnd, Reserved or Settled.
type Body interface{ kind() string }

// Prompt is a prompt of a user. It is queued until the TurnStart of its turn.
type Prompt struct {
	Message  MessageID       `json:"message_id"`
	Content  provider.Blocks `json:"content"`
	Override Override        `json:"override,omitzero"`
	Stamp    *Stamp          `json:"stamp,omitempty"`  // nil: the client gave it none
	Queued   bool            `json:"queued,omitempty"` // the answer to its request was "queued"
	Steer    bool            `json:"steer,omitempty"`  // it waits for the next model call of the turn that runs
	Append   bool            `json:"append,omitempty"` // no model is called: its turn ends without a start, with StopEndTurn

	// Chosen is what the session had chosen when the prompt was sent, if it waits. nil: it does not wait, or an older build wrote the
	// log; then the session's choice at the start of the turn counts.
	Chosen *Chosen `json:"chosen,omitempty"`

	// Replaces says that the turn had a prompt, which waited, with the same message and stamp: this one takes its place.
	Replaces bool `json:"replaces,omitempty"`

	// NotBefore is when the first model call may be made, and Deadline when the turn ends if it has not ended by then. Both are in
	// Unix milliseconds; 0: none. Older builds never set them.
	NotBefore int64 `json:"not_before,omitempty"`
	Deadline  int64 `json:"deadline,omitempty"`

	// Continues says that there is no new prompt: the turn continues an earlier one. Content is empty then, and the turn has
	// no message of the user's. Older builds never set it.
	Continues *Continuation `json:"continues,omitempty"`
}

// Continuation names the unfinished turn that another turn continues, and says for each of its blocks, in order, how it is sent.
type Continuation struct {
	Turn  TurnID          `json:"turn_id"`
	Parts []ContinuedPart `json:"parts"`
}

// ContinuedPart is a block of an answer, or a result of a tool, of the turn that is continued.
type ContinuedPart struct {
	Message MessageID               `json:"message_id"`
	Block   int                     `json:"block"` // its number in the message
	Type    provider.BlockKind      `json:"type"`
	Action  provider.ContinueAction `json:"action"`
}

// Joins returns the earlier text that the first text of the continuing turn continues, if the model got it as the beginning of its
// answer. The two are one text, with nothing between them.
func (c *Continuation) Joins() (part ContinuedPart, ok bool) {
	if c == nil {
		return ContinuedPart{}, false
	}
	at := slices.IndexFunc(c.Parts, func(p ContinuedPart) bool { return p.Action == provider.ContinuePrefilled })
	if at < 0 {
		return ContinuedPart{}, false
	}
	return c.Parts[at], true
}

// Override is a choice for one turn.
type Override struct {
	Model   *ModelRef        `json:"model,omitempty"`
	Level   provider.Level   `json:"thinking_level,omitempty"`
	Display provider.Display `json:"display,omitempty"`

	Options *provider.Options `json:"options,omitempty"` // nil: none; never changed once it is made

	Fallbacks *[]Link `json:"fallbacks,omitempty"` // nil: those of the session
}

// Chosen is the part of a session's settings that a prompt keeps while it waits.
type Chosen struct {
	Model     ModelRef          `json:"model"`
	Level     provider.Level    `json:"preferred_thinking_level,omitempty"`
	Fallback  provider.Policy   `json:"fallback,omitempty"`
	Display   provider.Display  `json:"display,omitempty"`
	Options   *provider.Options `json:"options,omitempty"` // never changed once it is made
	Fallbacks *[]Link           `json:"fallbacks,omitempty"`
}

// Chosen returns the part of the settings that a pending prompt keeps.
func (s Settings) Chosen() *Chosen {
	return &Chosen{s.Model, s.Level, s.Fallback, s.Display, s.Options, s.Fallbacks}
}

// Settings are those that the turn of a prompt starts with, in a session that has the settings now.
func (p Prompt) Settings(now Settings) Settings {
	if c := p.Chosen; c != nil {
		now.Model, now.Level, now.Fallback, now.Display, now.Options, now.Fallbacks = c.Model, c.Level, c.Fallback, c.Display, c.Options, c.Fallbacks
	}
	return now
}

// TurnStart freezes what a turn runs with.
type TurnStart struct {
	Model     ModelRef          `json:"model"`
	Reasoning provider.Decision `json:"reasoning"`
	Address   string            `json:"address,omitempty"` // of the provider; empty: not known
	Payer     *Payer            `json:"payer,omitempty"`   // nil: not known, or an older build wrote the log

	Options *provider.AskedOptions `json:"options,omitempty"` // that the turn runs with; nil: none

	// Key is the name of the provider's key that calls are made with; empty: the provider's first. Instead is the first choice, if the
	// model is one of its fallbacks. Older builds never set them.
	Key     string   `json:"key,omitempty"`
	Instead *Instead `json:"instead,omitempty"`

	// Returned is what the turn before ran with, if the session returns from there to its first choice; the level is the one that was in
	// effect. Older builds never set it.
	Returned *Link `json:"returned,omitempty"`
}

// Instead is the first choice of a turn that runs on a fallback.
type Instead struct {
	Of       Link  `json:"of"`
	Failures int   `json:"failures"` // of the first choice in a row
	Until    int64 `json:"until"`    // Unix milliseconds: it is not called again before
}

// FellBack says that the running turn continues with another link of its chain, because its model could not be called. Earlier
// messages of the turn stay those of the model that wrote them.
type FellBack struct {
	TurnStart
	Why Failure `json:"why"`

	// Continues says that the last answer broke off after people saw text of it. It is kept, and the next answer goes on from there.
	Continues bool `json:"continues,omitempty"`
}

// Sealed is a finished block of a message. Number never changes: it is a name of the block, not an index.
type Sealed struct {
	Message MessageID
	Number  int
	Block   provider.Block
}

// MessageEnd closes a message of the model.
type MessageEnd struct {
	Message    MessageID       `json:"message_id"`
	StopReason StopReason      `json:"stop_reason"`
	Raw        string          `json:"raw,omitempty"`   // the vendor's word
	Model      string          `json:"model,omitempty"` // only in logs of older builds: see By
	Served     *Served         `json:"served,omitempty"`
	Tier       string          `json:"tier,omitempty"` // the vendor's word for how it served the request; empty: it had none
	RequestID  string          `json:"request_id,omitempty"`
	Usage      provider.Usage  `json:"usage"`
	RawUsage   json.RawMessage `json:"raw_usage,omitempty"`
	State      provider.State  `json:"state,omitzero"`
	Incomplete Incomplete      `json:"incomplete,omitempty"` // empty: the message is whole
	Cited      []Cited         `json:"cited,omitempty"`

	// WarmUntil is until when the vendor keeps the prompt of the call in its cache, in Unix milliseconds; 0: it keeps nothing, or that
	// is not known. Older builds never set it.
	WarmUntil int64 `json:"warm_until,omitempty"`

	// Prompt is that of the call, for the next call to be compared with; nil: not known. Older builds never set it.
	Prompt *provider.Fingerprint `json:"prompt,omitempty"`

	// Missed says how much the call did not read from the vendor's cache; nil: it read about as much as expected, nothing was expected, or an
	// older build wrote the log.
	Missed *CacheMiss `json:"missed,omitempty"`
}

// Served says which model wrote a message: as the turn requested it, as the request named it, and as the answer named it.
type Served struct {
	Requested ModelRef `json:"requested"`             // by the turn
	Sent      string   `json:"sent"`                  // the id in the request
	Model     string   `json:"model,omitempty"`       // as the answer names it; empty: it names none
	Host      string   `json:"host,omitempty"`        // see [provider.Served]
	Other     bool     `json:"substituted,omitempty"` // Model is another model than Sent, as the catalog of that day decided
}

// By returns the model that the end of a message names, nil if it names none. Older builds stored the name alone, which was
// that of the request if the answer had none.
func (e MessageEnd) By() *Served {
	if e.Served == nil && e.Model != "" {
		return &Served{Model: e.Model}
	}
	return e.Served
}

// StopReason says why a message of the model or a turn ended: as the model says, or why it was ended.
type StopReason string

// The words of models. A message may end with each of them, a turn only with StopEndTurn, StopMaxTokens and StopRefusal.
const (
	StopEndTurn   = StopReason(provider.StopEndTurn)
	StopMaxTokens = StopReason(provider.StopMaxTokens)
	StopToolUse   = StopReason(provider.StopToolUse)
	StopRefusal   = StopReason(provider.StopRefusal)
	StopPause     = StopReason(provider.StopPause)
)

// The words for what was ended before the model did.
const (
	StopCancelled   StopReason = "cancelled"
	StopInterrupted StopReason = "interrupted" // the daemon ended
	StopError       StopReason = "error"
	StopLimit       StopReason = "limit"           // a limit or a budget of the operator was reached; TurnEnd.Limit names it
	StopModelCalls  StopReason = "max_model_calls" // the turn made as many model calls as it may
	StopMismatch    StopReason = "output_mismatch" // the answer is not the JSON that was asked for; TurnEnd.Mismatch says why
)

// Words lists all reasons.
func (StopReason) Words() []string {
	return provider.Words(StopEndTurn, StopMaxTokens, StopToolUse, StopRefusal, StopPause, StopCancelled, StopInterrupted,
		StopError, StopLimit, StopModelCalls, StopMismatch)
}

// Cited has all sources of a text, if the vendor named some of them after its end.
type Cited struct {
	Block   int                 `json:"block"` // its number
	Sources []provider.Citation `json:"sources"`
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

// Words lists all reasons.
func (Incomplete) Words() []string {
	return provider.Words(Cancelled, Interrupted, Failed, CutOff, Refused, Unsent)
}

// Retry discards sealed blocks of the open message: the call that made them failed and is made again.
type Retry struct {
	Message   MessageID      `json:"message_id"`
	Discarded []int          `json:"discarded"`
	Usage     provider.Usage `json:"usage,omitzero"` // of the call that failed
}

// Setting is a change that a user made. Absent members stay as they are. A Setting without members only stores its Seq: the number
// of the first update of an agent, if the log keeps nothing else of that update.
type Setting struct {
	Model     *ModelRef                  `json:"model,omitempty"`
	Level     *provider.Level            `json:"thinking_level,omitempty"`
	Fallback  *provider.Policy           `json:"fallback,omitempty"`
	Display   *provider.Display          `json:"display,omitempty"`
	Mode      *tool.Mode                 `json:"tool_mode,omitempty"`
	OnOther   *provider.OtherModel       `json:"on_other_model,omitempty"`
	Options   *provider.Options          `json:"options,omitempty"` // in place of all of the session's; the zero value: none
	Fallbacks *[]Link                    `json:"fallbacks,omitempty"`
	AskAbove  *provider.Money            `json:"ask_above,omitempty"`
	Title     *string                    `json:"title,omitempty"`
	Archived  *bool                      `json:"archived,omitempty"`
	OnTop     *bool                      `json:"on_top,omitempty"`
	Metadata  map[string]json.RawMessage `json:"metadata,omitempty"` // replaces members; a null removes one
	Revoke    []string                   `json:"revoke,omitempty"`   // ids of grants that end
	Pin       []MessageID                `json:"pin,omitempty"`      // later summaries keep these messages word for word
	Unpin     []MessageID                `json:"unpin,omitempty"`    // and these no more
}

// Repair is a lasting change to how the history is sent.
type Repair struct {
	API    string          `json:"api"`
	Repair provider.Repair `json:"repair"`
}

// TurnParked says that a turn that has started waits between two steps: no model call and no tool runs. TurnResumed or TurnEnd ends
// that. A crash does not: the turn is parked when its session is loaded again. A TurnParked of a turn that is parked already replaces
// the earlier one.
type TurnParked struct {
	Why     ParkReason `json:"why"`
	Since   int64      `json:"since"`           // Unix milliseconds: when the turn could not go on for the first time
	Until   int64      `json:"until,omitempty"` // Unix milliseconds: it may go on from then on; 0: nobody knows when
	Resumes Resumption `json:"resumes"`

	RanMS     int64    `json:"ran_ms,omitempty"`    // how long the turn ran so far
	Failures  int      `json:"failures,omitempty"`  // in a row, for the pause after the next one
	Restarted bool     `json:"restarted,omitempty"` // the turn resumed by itself after a restart, which it may do once
	Payer     *Payer   `json:"payer,omitempty"`     // of the call that failed; nil: none failed, or it is not known
	Error     *Failure `json:"error,omitempty"`     // why the call failed
	Asked     []Asked  `json:"asked,omitempty"`     // the open questions, for ParkedApproval

	Spending *Spending `json:"spending,omitempty"` // what a person decides on, for ParkedBudget
}

// asksPrompt reports whether a person decides on what the turn's prompt may cost.
func (p TurnParked) asksPrompt() bool { return p.Spending != nil && p.Spending.Limit == LimitPrompt }

// Spending is the question whether a call may be made that a limit has no room for, or a prompt into a cold session that may cost more
// than LimitPrompt. Money is in USD.
type Spending struct {
	Limit SpendingLimit  `json:"limit"`
	Used  provider.Money `json:"used"` // of Most: spent, and reserved by calls that run; for LimitPrompt 0
	Most  provider.Money `json:"most"`
	Next  provider.Money `json:"next"` // what the next call may cost; for LimitPrompt, what the turn may cost

	Quote *Quoted `json:"quote,omitempty"` // of the prompt, for LimitPrompt. Older builds never set it
}

// Quoted is a quote: what a prompt will cost. Members that are nil are not known.
type Quoted struct {
	Prompt  *QuotedPrompt `json:"prompt"`
	Cost    *CostRange    `json:"cost"`                    // of the turn
	Compact *CompactFirst `json:"compact_first,omitempty"` // nil: there is nothing to summarise
}

// QuotedPrompt is the prompt of the first call, in tokens.
type QuotedPrompt struct {
	Tokens  int          `json:"tokens"`
	Low     int          `json:"tokens_low"`
	High    int          `json:"tokens_high"`
	Counted bool         `json:"counted"` // by the vendor; false: estimated
	Read    *int         `json:"read"`
	Write   *int         `json:"written"`
	Paid    *int         `json:"paid"`
	Parts   []QuotedPart `json:"parts"`
}

// QuotedPart is a part of a prompt, in tokens.
type QuotedPart struct {
	Part   provider.PromptPart `json:"part"`
	Tokens int                 `json:"tokens"`
	Read   *int                `json:"read"`
	Write  *int                `json:"written"`
	Paid   *int                `json:"paid"`
}

// CostRange has the bounds of a cost, and its likely value.
type CostRange struct {
	Low    provider.Cost `json:"low"`
	Likely provider.Cost `json:"likely"`
	High   provider.Cost `json:"high"`
}

// CompactFirst says what it costs to summarise earlier turns first. Cost includes the summary.
type CompactFirst struct {
	Messages int        `json:"messages"`
	Tokens   int        `json:"tokens"` // of the prompt behind the summary
	Summary  *CostRange `json:"summary_cost"`
	Cost     *CostRange `json:"cost"`
}

// SpendingLimit is a limit at which a turn is parked. It has the name of its setting.
type SpendingLimit string

const (
	LimitDay        SpendingLimit = "max_day_cost"        // of all sessions in a day, which begins at midnight UTC
	LimitUnattended SpendingLimit = "max_cost_unattended" // of all sessions since a person last wrote or approved something
	LimitPrompt     SpendingLimit = "ask_above"           // of a prompt into a session whose cache is not known to be warm
)

// Words lists all of them.
func (SpendingLimit) Words() []string { return provider.Words(LimitDay, LimitUnattended, LimitPrompt) }

// Asked is a question about a call that waits for a person.
type Asked struct {
	Block int             `json:"block"` // the call's number in the reply
	Shown json.RawMessage `json:"shown"` // what the person sees, and what the answer decides on; only package agent reads it
}

// ParkReason says what a parked turn waits for.
type ParkReason string

const (
	ParkedQuota    ParkReason = "quota"    // the vendor takes no more calls for now
	ParkedApproval ParkReason = "approval" // a person has to answer a question
	ParkedOutage   ParkReason = "outage"   // the vendor cannot be reached, or is overloaded
	ParkedClient   ParkReason = "client"   // the prompt has a time before which it is not sent
	ParkedBudget   ParkReason = "budget"   // a person has to decide whether more may be spent
)

// Words lists all reasons.
func (ParkReason) Words() []string {
	return provider.Words(ParkedQuota, ParkedApproval, ParkedOutage, ParkedClient, ParkedBudget)
}

// Resumption says what will resume a parked turn.
type Resumption string

const (
	ResumesAlone     Resumption = "automatically"
	ResumesOnRequest Resumption = "on_request" // a client resumes it, or answers its question
)

// Words lists both.
func (Resumption) Words() []string { return provider.Words(ResumesAlone, ResumesOnRequest) }

// TurnResumed says that a parked turn goes on.
type TurnResumed struct {
	By ResumedBy `json:"by"`
}

// ResumedBy says what resumed a parked turn.
type ResumedBy string

const (
	ResumedByTime   ResumedBy = "time"
	ResumedByClient ResumedBy = "client"
	ResumedByAnswer ResumedBy = "answer" // to one of its questions
)

// Words lists all.
func (ResumedBy) Words() []string {
	return provider.Words(ResumedByTime, ResumedByClient, ResumedByAnswer)
}

// TurnEnd closes a turn, started or queued.
type TurnEnd struct {
	StopReason StopReason     `json:"stop_reason"`
	Limit      string         `json:"limit,omitempty"`
	Usage      provider.Usage `json:"usage"`
	DurationMS int64          `json:"duration_ms"`
	Error      *Failure       `json:"error,omitempty"`
	Mismatch   []string       `json:"output_errors,omitempty"` // of StopMismatch: what is wrong with the answer
	Cache      *CacheUse      `json:"cache_use,omitempty"`     // nil: nothing was expected of the vendor's cache, or an older build wrote the log
}

// CacheUse compares what the calls of a turn read from the vendor's cache with what the calls before them had left there.
type CacheUse struct {
	Expected int         `json:"expected_tokens"`
	Read     int         `json:"cached_tokens"`
	Misses   []CacheMiss `json:"misses,omitempty"`
}

// CacheMiss is a call that read less than was expected.
type CacheMiss struct {
	Cause  provider.CacheCause `json:"cause"`
	Why    string              `json:"why"`            // for people
	Tokens int                 `json:"tokens"`         // that were not read
	Cost   *provider.Cost      `json:"cost,omitempty"` // what the call cost more for that; nil: not known
}

// Failure is the reason why a turn ended with an error, in words for clients. The error code of the protocol follows from Kind.
type Failure struct {
	Kind         string `json:"kind"` // a provider.Kind, or "internal" or "store"
	Message      string `json:"message"`
	Status       int    `json:"status,omitempty"`         // HTTP
	RetryAfterMS int64  `json:"retry_after_ms,omitempty"` // as the vendor asks
	RequestID    string `json:"request_id,omitempty"`     // the vendor's
	Ref          string `json:"ref,omitempty"`            // names an internal error in the daemon's log file
}

// Steered moves a queued prompt into the running turn, after all that was said there so far. The prompt's own turn, that of the
// entry, ends when the running turn does.
type Steered struct {
	Into TurnID `json:"into"`
}

// Moved moves a queued prompt in front of another one.
type Moved struct {
	Before TurnID `json:"before,omitempty"` // empty: it goes to the end of the queue
}

// Verdict is the answer to a question about a call.
type Verdict struct {
	Confirm string `json:"confirm_id"`
	Tool    string `json:"tool"`
	Action  Action `json:"action"`
	By      string `json:"by"`

	Grant *tool.Grant `json:"grant,omitempty"` // that the answer gives. An older daemon wrote AllowSession without one, for the tool

	// Denial is the standing denial that the answer gives. It has a member of its own because an older daemon takes each Grant for an
	// approval.
	Denial *tool.Grant `json:"denial,omitempty"`
}

// NewVerdict is a verdict with the standing answer that it gives; nil: it gives none.
func NewVerdict(confirm, name string, action Action, by string, standing *tool.Grant) Verdict {
	v := Verdict{Confirm: confirm, Tool: name, Action: action, By: by}
	if standing != nil && standing.Deny {
		v.Denial = standing
	} else {
		v.Grant = standing
	}
	return v
}

// granted is the standing answer that a verdict gives, if it gives one. Its id is that of the question.
func (v Verdict) granted() (tool.Grant, bool) {
	switch {
	case v.Grant != nil:
		return *v.Grant, true
	case v.Denial != nil:
		return *v.Denial, true
	case v.Action == AllowSession:
		return tool.Grant{ID: v.Confirm, Scope: tool.ToolScope, Tool: v.Tool, Text: "All calls of " + v.Tool}, true
	}
	return tool.Grant{}, false
}

// Action is an answer to the question whether a call may run.
type Action string

const (
	AllowOnce    Action = "allow"         // this call runs
	AllowSession Action = "allow_session" // this call and all later calls of the same tool in the session run
	Deny         Action = "deny"
)

// Words lists all actions.
func (Action) Words() []string { return provider.Words(AllowOnce, AllowSession, Deny) }

// ToolStart says that a call is about to run. A call with a ToolStart is never started again.
type ToolStart struct {
	Message MessageID `json:"message_id"` // the reply that has the call
	Block   int       `json:"block"`      // the call's number in it
}

// ToolEnd is the result of a call. The results of one reply are one message of the user's, in the order of the calls.
type ToolEnd struct {
	Message    MessageID       `json:"message_id"`
	Number     int             `json:"number"` // of the result in its message
	Reply      MessageID       `json:"reply"`  // the message that has the call
	CallID     string          `json:"call_id"`
	Content    provider.Blocks `json:"content"`
	Failed     bool            `json:"is_error,omitempty"`
	DurationMS int64           `json:"duration_ms,omitempty"`
}

// Result is the block that goes to the model.
func (e ToolEnd) Result() provider.ToolResult {
	return provider.ToolResult{CallID: e.CallID, Blocks: e.Content, Failed: e.Failed}
}

// LeftOut keeps parts of the conversation from a model whose provider refused requests with them. Nothing is deleted from the log:
// people see these parts, and other models get them.
type LeftOut struct {
	Model    ModelRef    `json:"model"`
	Messages []MessageID `json:"messages,omitempty"` // not sent at all; nor are the results of their calls
	Emptied  []MessageID `json:"emptied,omitempty"`  // sent with a sentence in place of media and results of tools
	Why      string      `json:"why"`                // the provider's words
}

// Share says how much of a message a model gets.
type Share int

const (
	SentWhole Share = iota
	SentEmptied
	NotSent
)

// Share returns how much of a message a model gets, by this entry alone.
func (l LeftOut) Share(model ModelRef, id MessageID) Share {
	switch {
	case l.Model != model:
		return SentWhole
	case slices.Contains(l.Messages, id):
		return NotSent
	case slices.Contains(l.Emptied, id):
		return SentEmptied
	}
	return SentWhole
}

// Compaction replaces all messages up to Upto, with Upto, by a summary in what models are sent. The originals stay in the log for
// people. Some vendors bind thinking to everything before it, so no thinking from before the compaction is sent again.
//
// A Compaction without Upto failed: only its usage counts. If InTurn is set, the usage of its turn includes this usage, else only
// that of the session does. Older builds never set it, nor an id, the tokens and pinned messages.
type Compaction struct {
	ID      SummaryID      `json:"id,omitempty"` // empty: see Name
	Upto    MessageID      `json:"upto,omitempty"`
	Summary string         `json:"summary,omitempty"`
	Model   ModelRef       `json:"model"` // that wrote it
	Usage   provider.Usage `json:"usage"`
	InTurn  bool           `json:"in_turn,omitempty"` // the usage in the turn's end has this usage

	// Before and After are the tokens of the next call without and with the summary; 0: not known. Counted says that the vendor
	// counted most of Before. After is always an estimate.
	Before  int  `json:"tokens_before,omitempty"`
	After   int  `json:"tokens_after,omitempty"`
	Counted bool `json:"counted,omitempty"`

	// Pinned are messages up to Upto that models are still sent word for word, in order. The entry holds their content, so that later
	// pins change what models get only with the next Compaction.
	Pinned []Pinned `json:"pinned,omitempty"`
}

// Name is the id of the summary. That of older builds is the id of the last message that it replaces.
func (c Compaction) Name() SummaryID {
	if c.ID == "" {
		return SummaryID(c.Upto)
	}
	return c.ID
}

// Pinned is a message as a model is sent it although a summary replaces it: without thinking, and without what vendors sign. No
// vendor takes a call without its result, so both are one: Results are those of the calls in Content, in their order.
type Pinned struct {
	Message MessageID       `json:"message_id"`
	Role    provider.Role   `json:"role"`
	Content provider.Blocks `json:"content"`

	Answer  MessageID       `json:"answer_id,omitempty"` // the message of Results; empty: it has no calls, or no call has a result
	Results provider.Blocks `json:"results,omitempty"`
}

// Uncompaction takes the newest summary back: models are sent the messages that it replaced. What was said since then stays, but
// its thinking is not sent again, because it is bound to the summary.
type Uncompaction struct {
	Summary SummaryID `json:"summary_id"`
}

// Settled has the usage of a call that has no message.
type Settled struct {
	Usage provider.Usage `json:"usage"`
}

func (Prompt) kind() string       { return "prompt" }
func (Steered) kind() string      { return "steered" }
func (Moved) kind() string        { return "moved" }
func (Verdict) kind() string      { return "verdict" }
func (ToolStart) kind() string    { return "tool_start" }
func (ToolEnd) kind() string      { return "tool_end" }
func (TurnStart) kind() string    { return "turn_start" }
func (Sealed) kind() string       { return "block" }
func (MessageEnd) kind() string   { return "message_end" }
func (Retry) kind() string        { return "retry" }
func (Setting) kind() string      { return "setting" }
func (Repair) kind() string       { return "repair" }
func (LeftOut) kind() string      { return "left_out" }
func (Compaction) kind() string   { return "compaction" }
func (Uncompaction) kind() string { return "uncompaction" }
func (FellBack) kind() string     { return "fell_back" }
func (TurnParked) kind() string   { return "turn_parked" }
func (TurnResumed) kind() string  { return "turn_resumed" }
func (TurnEnd) kind() string      { return "turn_end" }
func (Reserved) kind() string     { return "reserved" }
func (Settled) kind() string      { return "settled" }
