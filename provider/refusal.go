package provider

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/tidwall/gjson"
)

// maxMessage is how much of a vendor's error text is kept, in bytes.
const maxMessage = 2 << 10

// notFoundHelp goes with a 404 that may be about the model or the address.
const notFoundHelp = " (is the model's id right, and base_url?)"

// Refusal says what an error means: body is the answer's body, or the event of a stream, with an error object in one
// of the shapes that the vendors use. status is that of the answer, or what the vendor's word stands for. The vendor's
// words refine what the status says: the same refusal comes with many of them.
func (c *Caller) Refusal(status int, header http.Header, body []byte) *Error {
	said := errorObject(body)
	e := &Error{
		API: c.API, Provider: c.Provider, Status: status, Code: clean(c.scrub(said.code), 100),
		RetryAfter: retryAfter(header, VendorTime(header)), Hint: hint(header),
		RequestID: cmp.Or(c.RequestID(header), clean(c.scrub(said.requestID), 100)),
		Message:   c.Text(said.message),
	}
	text := strings.Join(strings.Fields(said.message), " ")
	e.classify(text)
	if e.Subject == SubjectParameter {
		e.Param = cmp.Or(paramOf(text), said.param)
	}
	switch {
	case e.RetryAfter > 0:
	case said.resetsAt > 0:
		e.RetryAfter = max(time.Unix(said.resetsAt, 0).Sub(VendorTime(header)), 0)
	case said.wait > 0:
		e.RetryAfter = said.wait
	default:
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
		e.Message, e.Bare = http.StatusText(status), true
	}
	if status == http.StatusNotFound && e.Subject == SubjectModel {
		e.Message += notFoundHelp
	}
	return e
}

type said struct {
	code, message, requestID, param string
	resetsAt                        int64         // when a quota is filled again, in seconds since 1970; 0: not said
	wait                            time.Duration // 0: not said
	daily                           bool          // a quota of the day is used up
}

// errorObject reads the body of an error, whatever its form:
//
//	{"error":{"type","message"}}, {"error":{"code","type","message"}}, {"error":{"code":400,"status","message"}}
//	the same in a list (Google)
//	{"error":"text"} (Ollama), {"code":"word","error":"text"} (xAI), {"code","message"}, {"object","message","code"}
//	{"detail":"text"}, {"detail":[{"loc","msg"}]}, {"message":{"detail":[…]}} (Mistral), a bare list of {"loc","msg"}
//	JSON with text before or after it, JSON in the text of JSON (gateways), plain text, HTML, nothing
func errorObject(body []byte) said {
	text := strings.TrimSpace(string(body))
	if value, ok := firstValue(text); ok {
		if s := errorValue(value, 0); s.message != "" || s.code != "" {
			return s
		}
		return said{message: value.Raw}
	}
	if strings.HasPrefix(text, "<") && !strings.HasPrefix(text, "<4") && !strings.HasPrefix(text, "<5") { // <400> is DashScope's
		return said{message: "an HTML page in place of an error"}
	}
	s := said{message: text}
	s.within(text, 0)
	return s
}

// firstValue is the JSON object or list that a text begins with.
func firstValue(text string) (gjson.Result, bool) {
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return gjson.Result{}, false
	}
	var raw json.RawMessage
	if json.NewDecoder(strings.NewReader(text)).Decode(&raw) != nil {
		return gjson.Result{}, false
	}
	return gjson.ParseBytes(raw), true
}

// nested bounds how deep errors are looked for in the texts of errors.
const nested = 4

func errorValue(root gjson.Result, depth int) said {
	if root.IsArray() {
		if first := root.Get("0"); first.Get("error").Exists() {
			root = first
		} else if text := details(root); text != "" {
			return said{message: text}
		}
	}
	s := said{requestID: root.Get("request_id").String()}
	object := root.Get("error")
	switch {
	case object.Type == gjson.String:
		s.message = object.Str
		if code := root.Get("code").Str; !strings.Contains(code, " ") { // xAI: a word, or a sentence that says no more
			s.code = code
		}
		if at := root.Get("signin_url").Str; at != "" { // Ollama: of models that run in its cloud
			s.message += ": sign in at " + at
		}
		s.within(s.message, depth)
		return s
	case !object.IsObject():
		object = root
	}
	s.resetsAt = object.Get("resets_at").Int() // of OpenAI's plans, which have no Retry-After
	s.wait, s.daily = googleDetails(object.Get("details"))
	if n := object.Get("resets_in_seconds"); n.Type == gjson.Number && s.wait == 0 {
		s.wait = span(n.Num, time.Second)
	}
	s.param = object.Get("param").Str
	s.code = cmp.Or(object.Get("code").Str, object.Get("type").Str, object.Get("status").Str)
	message := object.Get("message")
	if message.IsObject() && message.Get("detail").IsArray() {
		message = message.Get("detail")
	}
	s.message = cmp.Or(message.Str, details(message), object.Get("detail").Str, details(object.Get("detail")), object.Raw)
	if raw := object.Get("metadata.raw").Str; raw != "" { // OpenRouter: what the host behind it said
		s.message += ": " + raw
	}
	s.within(s.message, depth)
	return s
}

// within takes the code of an error that a gateway has put into the text of its own. The text stays whole.
func (s *said) within(text string, depth int) {
	at := strings.IndexByte(text, '{')
	if at < 0 || depth >= nested {
		return
	}
	value, ok := firstValue(text[at:])
	if !ok || !value.Get("error").Exists() && !value.Get("message").Exists() && !value.Get("detail").Exists() {
		return
	}
	inner := errorValue(value, depth+1)
	s.code = cmp.Or(inner.code, s.code)
	if at == 0 && inner.message != "" {
		s.message = inner.message
	}
	s.param = cmp.Or(s.param, inner.param)
	s.resetsAt, s.wait, s.daily = cmp.Or(s.resetsAt, inner.resetsAt), cmp.Or(s.wait, inner.wait), s.daily || inner.daily
}

// details joins a list of {"loc":["body","messages",0],"msg":"text"}, or of texts.
func details(list gjson.Result) string {
	if !list.IsArray() {
		return ""
	}
	var all []string
	for _, d := range list.Array() {
		text := cmp.Or(d.Get("msg").Str, d.Get("message").Str, d.Str)
		var path []string
		for _, step := range d.Get("loc").Array() {
			path = append(path, step.String())
		}
		if at := strings.Join(path, "."); at != "" {
			text = at + ": " + text
		}
		if text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}

// classify sets what the code, the text and the status of a refusal mean together.
func (e *Error) classify(text string) {
	text = strings.ToLower(text)
	e.Kind = e.kindOf(text)
	switch e.Kind {
	case KindTooLong:
		e.Subject = SubjectSize
	case KindAuth, KindQuota, KindRateLimit:
		e.Subject = SubjectAccount
	case KindRefused:
		e.Subject = SubjectHistory
	case KindBadRequest:
		e.Subject = e.subject(text)
	case KindTransport:
		switch subject := subjectOf(text); {
		case e.Status < 500:
		case subject == SubjectOutput:
			e.Subject = subject
		case template(text): // of a local server: the same request fails for ever
			e.Kind, e.Subject = KindBadRequest, SubjectHistory
		}
	}
	if e.Subject == SubjectOutput && e.Hint == HintNone {
		e.Hint = HintRetry
	}
}

func (e *Error) subject(text string) Subject {
	switch e.Code {
	case "model_not_found", "model_not_supported", "unsupported_api_for_model", "OperationNotSupported":
		return SubjectModel
	case "invalid_function_parameters":
		return SubjectTools
	case "tool_use_failed":
		return SubjectOutput
	case "invalid_reasoning_effort", "unsupported_value", "unsupported_parameter", "unknown_parameter":
		if s := subjectOf(text); s != SubjectUnknown {
			return s
		}
		return SubjectParameter
	case "invalid_encrypted_content", "previous_response_not_found", "sanitizer_server_error", "image_dimensions_too_large":
		return SubjectHistory
	}
	s := subjectOf(text)
	if e.Status == http.StatusNotFound && s != SubjectHistory || e.Status == http.StatusMethodNotAllowed {
		return SubjectModel
	}
	if s == SubjectUnknown && e.Code == "1210" { // Z.ai: mostly arguments of a call that are no JSON
		return SubjectHistory
	}
	return s
}

// template reports whether a server of local models says that its template cannot write the conversation.
func template(text string) bool {
	for _, words := range []string{"item pairs", "jinja", "template", "roles must alternate", "unsupported role", "unknown role"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

func (e *Error) kindOf(text string) Kind {
	says := func(fragments ...string) bool {
		return slices.ContainsFunc(fragments, func(f string) bool { return strings.Contains(text, f) })
	}
	switch e.Code {
	case "authentication_error", "permission_error", "invalid_api_key":
		return KindAuth
	case "billing_error", "insufficient_quota", "usage_limit_reached", "contract_spend_limit_reached":
		return KindQuota
	case "overloaded_error":
		return KindOverloaded
	case "request_too_large", "context_length_exceeded", "exceed_context_size_error", "model_max_prompt_tokens_exceeded", "1261": // 1261: Z.ai
		return KindTooLong
	case "content_filter", "invalid_prompt":
		return KindRefused
	case "tool_use_failed":
		return KindBadRequest
	}
	switch {
	case e.Status == 401 || e.Status == 402 || e.Status == 403:
	case oversized(text):
		return KindTooLong
	case says("out of extra usage"):
		return KindQuota
	case says("too many tokens") && says("wait", "throttl", "rate"): // Bedrock
		return KindRateLimit
	case e.Code == "rate_limit_error", e.Code == "rate_limit_exceeded":
		return KindRateLimit
	case Overflowed(text):
		return KindTooLong
	case says("content exists risk", "content management policy"):
		return KindRefused
	}
	switch e.Status {
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
	if e.Status >= 500 {
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
