package provider

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"time"
)

// Provider is a model API at one address with one key. It is safe for concurrent use.
type Provider interface {
	// Stream sends req and yields the reply as it arrives. Blocks open with Begin, grow by Delta and close with End;
	// End carries the whole block with its State. The last pair is either a Stop or an error, never both; an error
	// is an *Error, or ctx's cause when ctx ended the exchange. Ending the loop or ctx ends the exchange; when the
	// loop has ended, nothing of the call is left running. The sequence can be used once.
	Stream(ctx context.Context, req *Request) iter.Seq2[Event, error]

	// Wire is the part of the body that the decision on thinking puts there: pure, and used by Stream itself.
	Wire(req *Request) (json.RawMessage, error)
}

// Request is one call: everything that it depends on.
type Request struct {
	Model    Model  // the row; Known false: there is none
	Key      string // the name of the provider's key that pays; empty: its first
	System   string
	Messages []Message
	Tools    []Tool
	Decision Decision
	Repairs  []Repair // of this session, in the order they were made

	// Opening is the effort that the conversation began with on this model, if the model takes changes of it inside of
	// the conversation ([Capability.InPlace]) and the decision names an effort. It stays where the decision's effort
	// would go, and each change is said in front of the message that has it as its Effort: so the vendor's cache of all
	// before is of use. Empty: the decision's effort goes where it always does. Changed says that there is such a change,
	// the last of which is to the decision's effort.
	Opening Level
	Changed bool

	// NoTools says that the model is not to call a tool, though Tools names them: their definitions are part of the prompt, and without
	// them the vendor's cache of the conversation would be of no use. A message at the end of the request asks for it as well. An
	// adapter says it in the request only if that leaves the cached prompt as it is:
	//
	//	responses   tool_choice "none": the cache's key has the tools, and not the choice
	//	chat        tool_choice "none" to OpenAI; nothing to other hosts, because some leave out the tools for it
	//	messages    nothing: another tool_choice ends the cache of all messages
	//	gemini      nothing: the mode NONE is the same as a request without declarations
	//	ollama      nothing: the API has no such member; converse as well
	//	cohere      nothing: newer models refuse it
	NoTools bool

	// Opaque says that thinking is kept without readable text. The decision's display is omitted. If text comes nevertheless, the
	// block ends without a State, because its vendor would not take the State back without the text.
	Opaque bool

	Whole bool // the vendor is not to shorten what it is sent, whatever the operator has it do: a summary is of all of it

	// Input is about how many tokens the request has; 0: not known. Counted says that the vendor counted most of them, and
	// that only messages after that count are estimated.
	Input   int
	Counted bool

	KeepAlive KeepAlive // of the session; empty: as the server does

	// Sent is called with what was sent, before the Stop of an answer, on the goroutine of the call; nil: nobody wants to know. An
	// adapter that is no Outliner does not call it.
	Sent func(Outline) `json:"-"`

	// Joins says that growth of one block which arrives together may come as one Delta of up to JoinMost bytes.
	Joins bool `json:"-"`

	// Pace returns how long what a vendor sends may collect before it is read on, on the goroutine of the call; nil: not at all.
	Pace func() time.Duration `json:"-"`

	// Options are what [OptionDecision] let through: an adapter sends them as they are. Where MaxOutput is 0, the limit is what the
	// adapter's API and the row suggest. An empty Cache is as the provider's configuration has it.
	Options Options
}

// JoinMost is the most bytes in a Delta that joins several. A limit on the length of an answer is therefore exceeded by at most this much.
const JoinMost = 256

// MostOutput is the largest number of tokens for an answer that a request asks for, in addition to a budget for thinking. It is enough for
// a large file in one call.
const MostOutput = 64_000

// answerRoom is for the answer after a budget for thinking, in tokens, if the limit of the model is not known.
const answerRoom = 8_192

// OutputLimit is the limit on thinking and answer together that the request gets, in tokens, before an adapter lowers it to what the
// window leaves. It is 0 if neither the options nor the model's row say anything.
func (r *Request) OutputLimit() int {
	row, want := r.Model.MaxOutput, r.Decision.Control
	switch {
	case r.Options.MaxOutput > 0:
		return r.Options.MaxOutput
	case want.Mode == ModeBudget && row > want.Budget:
		return min(want.Budget+MostOutput, row)
	case want.Mode == ModeBudget:
		return want.Budget + answerRoom
	}
	return min(row, MostOutput)
}

// Initiator says who caused the request: `user` if the last message has content from a person, otherwise `agent`. Results of tools,
// with their images, the continuation of an answer, and a summary are the agent's own. Copilot bills requests that a person caused as
// premium requests.
func (r *Request) Initiator() string {
	if len(r.Messages) == 0 {
		return "user"
	}
	last := r.Messages[len(r.Messages)-1]
	if !r.Whole && last.Role == User && slices.ContainsFunc(last.Blocks, func(b Block) bool { return KindOf(b) != KindToolResult }) {
		return "user"
	}
	return "agent"
}

// Thinks reports whether the model thinks in this call, as far as its row says so.
func (r *Request) Thinks() bool {
	c := r.Decision.Control
	return c.Thinking() || c.Mode == ModeOmit && r.Model.Thinking.OnByDefault()
}

// RefusesSampling reports whether the model's row says that temperature, top_p and top_k are refused in this call.
func (r *Request) RefusesSampling() bool {
	rule := r.Model.Sampling
	return rule == SamplingNever || rule == SamplingNotInThinking && r.Thinks()
}

// Tool is what a model learns about a tool.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
}

// Repair is a lasting change to how a session's history is sent, named by an adapter in an [Error] and understood by
// that adapter alone. The agent stores it, sets it on later requests, and tries the refused call once more.
type Repair string

// OptionsWirer is a [Provider] that shows the part of the body that the options put there. It is pure; of req it needs the model, the
// decision, the options and the tools.
type OptionsWirer interface {
	OptionsWire(req *Request) (json.RawMessage, error)
}

// OptionsWireOf asks p if it is an OptionsWirer; otherwise it returns nil.
func OptionsWireOf(p Provider, req *Request) (json.RawMessage, error) {
	if w, ok := p.(OptionsWirer); ok {
		return w.OptionsWire(req)
	}
	return nil, nil
}

// CacheOf asks p, if it is a Cacher.
func CacheOf(p Provider, before json.RawMessage, req *Request) (CacheState, string) {
	if c, ok := p.(Cacher); ok {
		return c.Cache(before, req)
	}
	return CacheUnknown, CacheUndocumented
}

// Cacher is a Provider that knows what its vendor's prompt cache is bound to.
type Cacher interface {
	// Cache compares a call with one before it, of the same model in the same conversation, whose Decision.Wire was
	// before. The text says why, for people; it is empty for CacheKept. It is pure; of req it needs what Wire needs.
	Cache(before json.RawMessage, req *Request) (CacheState, string)
}
