package refusal

import (
	"net/http"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// Vendors name the time to wait in the text of an error, in several forms.
func TestWaitInErrorText(t *testing.T) {
	const s = time.Second
	for text, want := range map[string]time.Duration{
		"Rate limit reached. Please try again in 4s.":              4 * s,
		"Please try again in 898ms. Visit https://example.com":     898 * time.Millisecond,
		"Please try again in 1m12.5s, or upgrade":                  72*s + 500*time.Millisecond,
		"try again in 6m0s.":                                       360 * s,
		"Please retry in 39.568s.":                                 39568 * time.Millisecond,
		"Please retry after 26 seconds.":                           26 * s,
		"Please wait 2 minutes and try again":                      120 * s,
		"Please try again in 1 minute 5 seconds":                   65 * s,
		"Please try again in 2 hours. More at example.com":         2 * time.Hour,
		"Try again in 900 days":                                    24 * time.Hour,
		"Please try again later.":                                  0,
		"Please try again":                                         0,
		"Please retry after 2026-11-22":                            0,
		"Retry 3 more times":                                       0,
		"you can wait, at most 5 tries":                            0,
		"limit 8000, requested 14137, please reduce your message.": 0,
	} {
		if got := waitIn(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	read := func(header http.Header) *provider.Error {
		body := []byte(`{"error":{"message":"Please try again in 1m12.5s."}}`)
		return Read(429, header, body, func(text string) string { return text })
	}
	if e := read(http.Header{}); e.RetryAfter != 72500*time.Millisecond {
		t.Errorf("of a refusal: %v", e.RetryAfter)
	}
	if e := read(http.Header{"Retry-After": {"3"}}); e.RetryAfter != 3*s {
		t.Errorf("the header counts first: %v", e.RetryAfter)
	}
}
