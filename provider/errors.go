package provider

import (
	"fmt"
	"strings"
	"time"
)

// Kind says what kind of failure it is, for clients: a stable word, `data.kind` in the protocol.
type Kind string

const (
	KindAuth       Kind = "auth"             // no key, or one that is not taken
	KindRateLimit  Kind = "rate_limit"       // too many calls
	KindQuota      Kind = "quota"            // nothing left to spend
	KindOverloaded Kind = "overloaded"       // the vendor has too much to do
	KindTooLong    Kind = "context_too_long" // the conversation does not fit
	KindRefused    Kind = "refused"          // the vendor will not do this
	KindBadRequest Kind = "bad_request"      // the call is wrong, or the answer is none
	KindTransport  Kind = "transport"        // the connection or the vendor's service broke
	KindStalled    Kind = "stalled"          // nothing came for too long
	KindEmpty      Kind = "empty_answer"     // the answer has neither text nor a tool call
	KindOther      Kind = "other_model"      // another model answered than the one that was asked for, and the session takes no other
	KindEgress     Kind = "egress"           // the session may not send anything to this provider, and no call was made
)

// Words lists all kinds.
func (Kind) Words() []string {
	return Words(KindAuth, KindRateLimit, KindQuota, KindOverloaded, KindTooLong, KindRefused, KindBadRequest, KindTransport,
		KindStalled, KindEmpty, KindOther, KindEgress)
}

// Hint says whether the vendor asks for a retry, or against one.
type Hint string

const (
	HintNone  Hint = ""
	HintRetry Hint = "retry"
	HintFinal Hint = "final"
)

// Error is a failed exchange. Its text names the provider, the status and the request id, and holds no secret.
type Error struct {
	API        string
	Provider   string // the configured provider's id
	Kind       Kind
	Status     int           // HTTP; 0: no answer came
	Code       string        // the vendor's word for the error
	RetryAfter time.Duration // as the vendor asks; 0: it said nothing
	Hint       Hint
	Subject    Subject // what a refusal is about
	Param      string  // the member of the body that it names; empty: none
	RequestID  string
	Repair     Repair   // empty: none is known
	Learned    *Learned // what the refusal says of the model; nil: nothing
	Message    string   // for people: cut and scrubbed
	Bare       bool     // the answer had no text: Message is that of the status
	Err        error    // the cause, nil if the message says it all
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Provider)
	if e.Status >= 300 || e.Status != 0 && e.Err == nil { // the status of an answer that broke off explains nothing
		fmt.Fprintf(&b, ": status %d", e.Status)
	}
	if e.Code != "" {
		fmt.Fprintf(&b, ": %s", e.Code)
	}
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", e.Message)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.RequestID != "" {
		fmt.Fprintf(&b, " (request %s)", e.RequestID)
	}
	return strings.TrimPrefix(b.String(), ": ")
}

func (e *Error) Unwrap() error { return e.Err }

// Passing reports whether the same call may succeed a moment later, judged by its status. An error inside an answer has the status
// that it would have had as a response. If no answer came, or it broke off, the status is 0 or below 300, and Passing returns true.
func (e *Error) Passing() bool {
	switch e.Status {
	case 408, 409, 429, 500, 502, 503, 504, 529:
		return true
	}
	return e.Status < 300
}

// Subject is the part of a request that a refusal is about, as far as its text tells.
type Subject string

const (
	SubjectUnknown   Subject = ""          // the text names nothing
	SubjectHistory   Subject = "history"   // a message: its role, order, content, media, ids, thinking
	SubjectTools     Subject = "tools"     // the definition of a tool
	SubjectParameter Subject = "parameter" // thinking, sampling, limits, betas, or a member that the host does not know
	SubjectModel     Subject = "model"     // the model or the endpoint
	SubjectAccount   Subject = "account"   // the key, the plan, the organisation
	SubjectSize      Subject = "size"      // the whole does not fit
	SubjectOutput    Subject = "output"    // what the model wrote could not be read; the same request may go well
)
