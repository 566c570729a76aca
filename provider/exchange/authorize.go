package exchange

import (
	"context"
	"net/http"

	"github.com/thinkd/thinkd/provider"
)

// Authorizer adds the credentials to each request where a key is not enough: a token that is renewed, or a signature over the request. It
// is for all calls of a provider, and safe for concurrent use.
type Authorizer interface {
	// Authorize completes a request directly before it is sent. body is what the request sends. It may call the issuer of the
	// credentials, until ctx ends. An error says what to do about it.
	Authorize(ctx context.Context, req *http.Request, body []byte) error

	// Refused is called when the host answered 401 or 403. It reports whether the next Authorize has other credentials, so that the
	// request is worth one more try.
	Refused(e *provider.Error) bool

	// Scrub takes the secrets of the credentials out of a text.
	Scrub(text string) string
}
