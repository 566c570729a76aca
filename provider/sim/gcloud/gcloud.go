// Package gcloud reads the addresses and the tokens of requests to Google Cloud, where several faces serve models.
package gcloud

import (
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider/sim"
)

// Place is what an address names.
type Place struct {
	Publisher string // google, anthropic; openapi: the endpoint with the form of OpenAI
	Model     string // empty for openapi
	Verb      string // after the model's colon; for openapi the rest of the path
}

var (
	models = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^/v1(?:beta1)?/projects/[^/]+/locations/[^/]+/publishers/([a-z]+)/models/([^/:]+):([A-Za-z]+)$`)
	})
	openapi = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^/v1(?:beta1)?/projects/[^/]+/locations/[^/]+/endpoints/openapi(/.+)$`)
	})
)

// At returns the place of a request; false: it is none of Google Cloud. [docs: aiplatform.googleapis.com REST reference]
func At(r *http.Request) (Place, bool) {
	if m := models().FindStringSubmatch(r.URL.Path); m != nil {
		return Place{m[1], m[2], m[3]}, true
	}
	if m := openapi().FindStringSubmatch(r.URL.Path); m != nil {
		return Place{Publisher: "openapi", Verb: m[1]}, true
	}
	return Place{}, false
}

// Token returns the token of a request. Google Cloud takes nothing but a token of an identity: a key of the vendor is refused.
func Token(ex *sim.Exchange) (string, error) {
	h := ex.Request.Header
	token, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	if !ok || token == "" || ex.WrongKey(token) || h.Get("x-api-key") != "" || h.Get("x-goog-api-key") != "" {
		return "", &sim.Error{Status: http.StatusUnauthorized, Kind: "UNAUTHENTICATED",
			Text: "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential."}
	}
	return token, nil
}

// Refusal is the body of an error of Google Cloud itself, before a model's own API is reached.
func Refusal(e *sim.Error) map[string]any {
	return map[string]any{"error": map[string]any{"code": e.Status, "message": e.Text, "status": e.Kind}}
}
