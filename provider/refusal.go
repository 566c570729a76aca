package provider

import (
	"bytes"
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/tidwall/gjson"
)

// maxMessage is how much of a vendor's error text is kept, in bytes.
const maxMessage = 2 << 10

// notFoundHelp goes with every 404.
const notFoundHelp = " (is the model's id right, and base_url?)"

// Refusal says what an error means: body is the answer's body, or the event of a stream, with an error object in one
// of the shapes that the vendors use. status is that of the answer, or what the vendor's word stands for. The vendor's
// word refines what the status says.
func (c *Caller) Refusal(status int, header http.Header, body []byte) *Error {
	said := errorObject(body)
	e := &Error{
		API: c.API, Provider: c.Provider, Status: status,
		Kind: kindOf(status, said), Code: clean(c.scrub(said.code), 100),
		RetryAfter: retryAfter(header, VendorTime(header)), Hint: hint(header),
		RequestID: cmp.Or(c.RequestID(header), clean(c.scrub(said.requestID), 100)),
		Message:   c.Text(said.message),
	}
	if e.RetryAfter == 0 && said.resetsAt > 0 {
		e.RetryAfter = max(time.Unix(said.resetsAt, 0).Sub(VendorTime(header)), 0)
	}
	if e.RetryAfter == 0 {
		e.RetryAfter = said.wait
	}
	if e.RetryAfter == 0 {
		e.RetryAfter = waitIn(said.message)
	}
	if said.daily {
		e.Kind, e.Hint = KindQuota, HintFinal
	}
	switch {
	case status/100 == 3:
		e.Message = "redirects are not followed: give the address itself as base_url"
		if to, err := url.Parse(header.Get("Location")); err == nil && to.Host != "" {
			e.Message += ", which may be at " + c.scrub(clean(to.Host, 200))
		}
	case e.Message == "":
		e.Message = http.StatusText(status)
	}
	if status == http.StatusNotFound {
		e.Message += notFoundHelp
	}
	return e
}

type said struct {
	code, message, requestID string
	resetsAt                 int64         // when a quota is filled again, in seconds since 1970; 0: not said
	wait                     time.Duration // 0: not said
	daily                    bool          // a quota of the day is used up
}

// errorObject reads {"error":{"type","message"}} (Anthropic), {"error":{"code","type","message"}} (OpenAI),
// {"error":{"code":400,"status","message"}} and the same in a list (Google), {"error":"text"} (Ollama),
// {"message"} and {"detail"}, or takes the text as it is.
func errorObject(body []byte) said {
	if !gjson.ValidBytes(body) {
		text := bytes.TrimSpace(body)
		if bytes.HasPrefix(text, []byte("<")) {
			return said{message: "an HTML page in place of an error"}
		}
		return said{message: string(text)}
	}
	root := gjson.ParseBytes(body)
	if root.IsArray() {
		root = root.Get("0")
	}
	s := said{requestID: root.Get("request_id").String()}
	object := root.Get("error")
	switch {
	case object.Type == gjson.String:
		s.message = object.Str
		if at := root.Get("signin_url").Str; at != "" { // Ollama: of models that run in its cloud
			s.message += ": sign in at " + at
		}
		return s
	case !object.IsObject():
		object = root
	}
	s.resetsAt = object.Get("resets_at").Int() // of OpenAI's plans, which have no Retry-After
	s.wait, s.daily = googleDetails(object.Get("details"))
	s.code = cmp.Or(object.Get("code").Str, object.Get("type").Str, object.Get("status").Str)
	s.message = cmp.Or(object.Get("message").Str, object.Get("detail").Str, object.Raw)
	if raw := object.Get("metadata.raw").Str; raw != "" { // OpenRouter: what the host behind it said
		s.message += ": " + raw
	}
	return s
}

func kindOf(status int, s said) Kind {
	switch s.code {
	case "authentication_error", "permission_error", "invalid_api_key":
		return KindAuth
	case "billing_error", "insufficient_quota":
		return KindQuota
	case "rate_limit_error", "rate_limit_exceeded":
		return KindRateLimit
	case "overloaded_error":
		return KindOverloaded
	case "request_too_large", "context_length_exceeded":
		return KindTooLong
	}
	switch status {
	case 400, 422:
		text := strings.ToLower(s.message)
		if strings.Contains(text, "prompt is too long") || strings.Contains(text, "maximum context length") {
			return KindTooLong
		}
	case 401, 403:
		return KindAuth
	case 402:
		return KindQuota
	case 413:
		return KindTooLong
	case 408, 409:
		return KindTransport
	case 429:
		return KindRateLimit
	case 503, 529:
		return KindOverloaded
	}
	if status >= 500 {
		return KindTransport
	}
	return KindBadRequest
}

// RequestID is the vendor's name for an exchange, without a secret that it may have been told.
func (c *Caller) RequestID(header http.Header) string {
	return clean(c.scrub(cmp.Or(header.Get("request-id"), header.Get("x-request-id"))), 100)
}

// retryAfter reads retry-after-ms, which the official clients prefer, and Retry-After in seconds or as a date
// (RFC 9110, section 10.2.3).
func retryAfter(header http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("retry-after-ms"), 64); err == nil {
		return span(ms, time.Millisecond)
	}
	value := header.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		return span(s, time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// span keeps what a float can say within a day: above lies what no duration holds.
func span(n float64, unit time.Duration) time.Duration {
	const day = 24 * time.Hour
	if !(n > 0) {
		return 0
	}
	if n > float64(day/unit) {
		return day
	}
	return time.Duration(n * float64(unit))
}

// VendorTime is the time of an answer by the clock of who gave it, where it says so (RFC 9110, section 6.6.1): what it says
// of other times is said by that clock, and the one here may be a day off.
func VendorTime(header http.Header) time.Time {
	if at, err := http.ParseTime(header.Get("Date")); err == nil {
		return at
	}
	return time.Now()
}

func hint(header http.Header) Hint {
	switch header.Get("x-should-retry") {
	case "true":
		return HintRetry
	case "false":
		return HintFinal
	}
	return HintNone
}

// Text is a foreign text as it may be shown and logged: scrubbed before it is cut, so that no half of a secret is left.
func (c *Caller) Text(foreign string) string { return clean(c.scrub(foreign), maxMessage) }

// scrub takes out the key and the configured headers' values, which may be keys as well.
func (c *Caller) scrub(text string) string {
	text = c.Key.Scrub(text)
	for _, value := range c.Headers {
		for word := range strings.FieldsSeq(value) {
			if len(word) >= 8 {
				text = NewSecret(word).Scrub(text)
			}
		}
	}
	return text
}

// clean makes control characters spaces and cuts at a whole character.
func clean(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.TrimSpace(text)
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
