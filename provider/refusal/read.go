package refusal

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// notFoundHelp is added to a 404 that may be about the model or the address.
const notFoundHelp = " (is the model's id right, and base_url?)"

// Read returns what an error of a vendor means. body is that of the answer, or an event of a stream, with an error object
// in any of the forms that vendors use. status is the status of the answer, or the one that the vendor's word stands for.
// The vendor's words refine what the status says, because vendors send the same refusal with many statuses.
//
// scrub takes secrets out of a text. Read calls it before it cuts a text, so that no part of a secret remains. The caller
// sets API and Provider of the result.
func Read(status int, header http.Header, body []byte, scrub func(string) string) *provider.Error {
	said := errorObject(body)
	said.code = cmp.Or(said.code, amazonCode(header.Get("X-Amzn-Errortype")))
	e := &provider.Error{
		Status: status, Code: Clean(scrub(said.code), maxWord),
		RetryAfter: retryAfter(header, VendorTime(header)), Hint: hint(header),
		RequestID: cmp.Or(RequestID(header, scrub), Clean(scrub(said.requestID), maxWord)),
		Message:   Clean(scrub(said.message), MaxText),
	}
	text := strings.Join(strings.Fields(said.message), " ")
	classify(e, text)
	if e.Subject == provider.SubjectParameter {
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
		e.Kind, e.Hint = provider.KindQuota, provider.HintFinal
	}
	switch {
	case status/100 == 3:
		e.Message = "redirects are not followed: give the address itself as base_url"
		if to, err := url.Parse(header.Get("Location")); err == nil && to.Host != "" {
			e.Message += ", which may be at " + scrub(Clean(to.Host, 200))
		}
	case e.Message == "":
		e.Message, e.Bare = http.StatusText(status), true
	}
	if e.Code == "content_filter" {
		if names := Filters(gjson.ParseBytes(body)); names != "" {
			e.Message += " (content filter: " + scrub(names) + ")"
		}
	}
	if status == http.StatusNotFound && e.Subject == provider.SubjectModel {
		e.Message += notFoundHelp
	}
	return e
}

// RequestID is the vendor's name for an exchange, empty if the header has none. A vendor may repeat a secret there, so it
// is scrubbed.
func RequestID(header http.Header, scrub func(string) string) string {
	return Clean(scrub(cmp.Or(header.Get("request-id"), header.Get("x-request-id"), header.Get("x-amzn-requestid"), header.Get("x-debug-trace-id"))), maxWord)
}

func hint(header http.Header) provider.Hint {
	switch header.Get("x-should-retry") {
	case "true":
		return provider.HintRetry
	case "false":
		return provider.HintFinal
	}
	return provider.HintNone
}
