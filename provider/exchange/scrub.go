package exchange

import (
	"net/http"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/refusal"
)

// Refusal is [refusal.Read] for an answer of this address.
func (c *Caller) Refusal(status int, header http.Header, body []byte) *provider.Error {
	e := refusal.Read(status, header, body, c.scrub)
	e.API, e.Provider = c.API, c.Provider
	return e
}

// RequestID is [refusal.RequestID], without the secrets of c.
func (c *Caller) RequestID(header http.Header) string { return refusal.RequestID(header, c.scrub) }

// Text is a foreign text as it may be shown and logged: scrubbed before it is cut, so that no half of a secret is left.
func (c *Caller) Text(foreign string) string { return refusal.Clean(c.scrub(foreign), refusal.MaxText) }

// scrub takes out the key and the configured headers' values, which may be keys as well.
func (c *Caller) scrub(text string) string {
	text = c.Key.Scrub(text)
	for _, value := range c.Headers {
		for word := range strings.FieldsSeq(value) {
			if len(word) >= 8 {
				text = provider.NewSecret(word).Scrub(text)
			}
		}
	}
	return text
}
