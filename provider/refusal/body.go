package refusal

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// said is what the body of an error states. A zero member was not stated.
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
	s.code = cmp.Or(object.Get("code").Str, object.Get("type").Str, object.Get("status").Str, object.Get("error_type").Str, amazonCode(object.Get("__type").Str))
	message := object.Get("message")
	if !message.Exists() {
		message = object.Get("Message") // Amazon, of some errors
	}
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

// amazonCode is the name of an error without the name space or the address that Amazon adds: "com.amazon.coral.service#ThrottlingException",
// "ThrottlingException:http://internal.amazon.com/…".
func amazonCode(name string) string {
	name = name[strings.LastIndexByte(name, '#')+1:]
	name, _, _ = strings.Cut(name, ":")
	return name
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

// googleDetails reads what Google says about trying again, which stands in the details of its error and not in a
// header: how long to wait (google.rpc.RetryInfo), and whether a quota of the day is used up (google.rpc.QuotaFailure),
// which no waiting within a turn brings back.
func googleDetails(details gjson.Result) (wait time.Duration, daily bool) {
	for _, d := range details.Array() {
		switch kind := d.Get(`\@type`).Str; {
		case strings.HasSuffix(kind, "google.rpc.RetryInfo"):
			if text := d.Get("retryDelay").Str; text != "" {
				if n, err := time.ParseDuration(text); err == nil {
					wait = max(n, 0)
				}
			}
		case strings.HasSuffix(kind, "google.rpc.QuotaFailure"):
			for _, v := range d.Get("violations").Array() {
				daily = daily || strings.Contains(v.Get("quotaId").Str, "PerDay")
			}
		}
	}
	return wait, daily
}
