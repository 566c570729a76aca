package gemini

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// continues is the finish reason at the limit of one request (docs: get-started-with-gemini-4).
const continues = "CONTINUATION"

// ending is how a request's answer ended, as far as it is known.
type ending struct {
	reason     string // finishReason
	message    string // finishMessage
	blocked    string // promptFeedback.blockReason: there will be no candidates
	responseID string
}

// over reports whether the end of the body is the end of the answer.
func (e *ending) over() bool { return e.reason != "" || e.blocked != "" }

func (e *ending) block(word, message string) { e.blocked, e.message = word, message }

// failures are the finish reasons by which the vendor says that there is no usable answer: the model tried to call a
// tool or to answer in a form, and failed (docs: troubleshooting; SDK: FinishReason).
var failures = []string{"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE", "TOO_MANY_TOOL_CALLS"}

// vague are the finish reasons that say nothing of what was wrong.
var vague = []string{"OTHER", "IMAGE_OTHER", "NO_IMAGE"}

// failed reports whether the answer is a failure that may go well the next time. A vague reason is one only where there
// is no answer. Calls that came before it stand.
func (e *ending) failed(said bool, calls int) bool {
	return calls == 0 && (slices.Contains(failures, e.reason) || slices.Contains(vague, e.reason) && !said)
}

// refusals are the finish reasons by which the vendor withholds an answer (SDK: FinishReason).
var refusals = []string{"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
	"IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"}

// stopReason is ours for the vendor's. Calls are known by their parts: the vendor has no word for them.
func (e *ending) stopReason(calls int) provider.StopReason {
	switch {
	case e.blocked != "", slices.Contains(refusals, e.reason):
		return provider.StopRefusal
	case e.reason == "MAX_TOKENS", e.reason == continues: // cut at a limit, and not to be continued
		return provider.StopMaxTokens
	case calls > 0:
		return provider.StopToolUse
	}
	return provider.StopEndTurn // STOP, OTHER behind an answer, and words that this build does not know
}

// usage sums the requests of an answer: within one, each report is the total so far.
type usage struct {
	raw  json.RawMessage // the last report
	last provider.Usage
	sum  provider.Usage

	prompt int // tokens of the first request's prompt
}

func (u *usage) report(object gjson.Result) {
	if !object.IsObject() {
		return
	}
	u.raw = json.RawMessage(object.Raw)
	count := func(name string) int { return provider.Tokens(object.Get(name).Int()) }
	u.last = provider.Usage{
		Input:  count("promptTokenCount") + count("toolUsePromptTokenCount"),
		Output: count("candidatesTokenCount"), // without thoughts (SDK: UsageMetadata)
		Cached: count("cachedContentTokenCount"),
	}
	if n := object.Get("thoughtsTokenCount"); n.Type == gjson.Number {
		thought := count("thoughtsTokenCount")
		u.last.Reasoning = &thought
		u.last.Output += thought
	}
}

// hop ends a request: each is billed by its own prompt. The window holds the first prompt and all that was answered; the
// prompts of later requests have the same again (initialPromptTokenCount says no more).
func (u *usage) hop() {
	switch {
	case u.last.Input == 0 && u.last.Output == 0:
		return
	case u.sum.Input == 0 && u.sum.Output == 0:
		u.sum, u.prompt = u.last, u.last.Input
	default:
		u.sum = u.sum.With(u.last)
		u.sum.Context = &provider.Context{Used: u.prompt + u.sum.Output}
	}
	u.last = provider.Usage{}
}
