package gemini

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/gcloud"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// bodyLimit is the largest body that is accepted, in bytes: the vendor's 20 MB of inline data and room for the rest.
const bodyLimit = 32 << 20

func init() {
	sim.Register(sim.Face{Name: "gemini", Faults: faults, Claim: claim, Serve: serve, Help: help})
}

// claim claims the paths of generateContent, at Google's own address and on Google Cloud.
func claim(r *http.Request) sim.Claim {
	if place, ok := gcloud.At(r); ok && place.Publisher == "google" {
		return sim.OwnClaim
	}
	if r.URL.Path == "/v1beta/models" || strings.HasPrefix(r.URL.Path, "/v1beta/models/") {
		return sim.PathClaim
	}
	return sim.NoClaim
}

// newDialect returns the form of Google's refusals and answers: events, or a list if the request has no alt=sse.
// [docs: troubleshooting]
func newDialect(ex *sim.Exchange) *sim.Dialect {
	d := &sim.Dialect{
		Limit: bodyLimit, StreamType: "application/json; charset=UTF-8", WholeType: "application/json; charset=UTF-8",
		Spell:  func(e *sim.Error, f sim.Fault) (int, string, any) { return e.Status, e.Kind, errorBody(e, f) },
		Wrong:  sim.Error{Status: http.StatusBadRequest, Kind: "INVALID_ARGUMENT"},
		Broken: sim.Error{Status: http.StatusInternalServerError, Kind: "INTERNAL"},
	}
	if inEvents(ex) {
		d.StreamType = "text/event-stream"
	}
	return d
}

func inEvents(ex *sim.Exchange) bool { return ex.Request.URL.Query().Get("alt") == "sse" }

// serve answers the requests of generateContent.
func serve(ex *sim.Exchange) {
	d := newDialect(ex)
	if place, ok := gcloud.At(ex.Request); ok {
		serveCloud(ex, d, place)
		return
	}
	key, err := checkKey(ex)
	if err != nil {
		ex.Refuse(d, err)
		return
	}
	path, method := strings.TrimPrefix(ex.Request.URL.Path, "/v1beta/models"), ex.Request.Method
	id, verb, calls := strings.Cut(strings.TrimPrefix(path, "/"), ":")
	switch {
	case path == "" && method == http.MethodGet:
		serveModels(ex, d)
	case !calls && method == http.MethodGet:
		serveModel(ex, d, id)
	case method == http.MethodPost && (verb == "generateContent" || verb == "streamGenerateContent" || verb == "countTokens"):
		serveGenerate(ex, d, id, verb, sim.Account(key))
	default:
		ex.Refuse(d, &sim.Error{Status: http.StatusNotFound, Kind: "NOT_FOUND", Text: "Not found"})
	}
}

// serveCloud answers the requests of Google Cloud, which has no such list of models.
func serveCloud(ex *sim.Exchange, d *sim.Dialect, place gcloud.Place) {
	token, err := gcloud.Token(ex)
	switch {
	case err != nil:
		ex.Refuse(d, err)
	case ex.Request.Method == http.MethodPost && (place.Verb == "generateContent" || place.Verb == "streamGenerateContent" || place.Verb == "countTokens"):
		serveGenerate(ex, d, place.Model, place.Verb, sim.Account(token))
	default:
		ex.Refuse(d, &sim.Error{Status: http.StatusNotFound, Kind: "NOT_FOUND", Text: "Not found"})
	}
}

// checkKey checks the key. For this vendor a wrong key is an invalid argument. [docs: api-key]
func checkKey(ex *sim.Exchange) (string, error) {
	r := ex.Request
	key := r.Header.Get("x-goog-api-key")
	if key == "" {
		key = r.URL.Query().Get("key")
	}
	switch {
	case key == "":
		return "", &sim.Error{Status: http.StatusForbidden, Kind: "PERMISSION_DENIED", Text: "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API."}
	case ex.WrongKey(key):
		return "", &sim.Error{Status: http.StatusBadRequest, Kind: "INVALID_ARGUMENT", Text: "API key not valid. Please pass a valid API key."}
	}
	return key, nil
}

// serveGenerate answers the three verbs of a model.
func serveGenerate(ex *sim.Exchange, d *sim.Dialect, id, verb, account string) {
	model := modelAt(id, ex.Now())
	if model == nil {
		ex.Refuse(d, &sim.Error{Status: http.StatusNotFound, Kind: "NOT_FOUND", Text: "models/" + id + " is not found for API version v1beta, or is not supported for generateContent."})
		return
	}
	call, ok := sim.Check(ex, d, func(body []byte) (*call, error) {
		v, err := strict.Decode(body)
		if err != nil {
			return nil, invalid("Invalid JSON payload received. %s", err)
		}
		_, cloud := gcloud.At(ex.Request)
		call := &call{model: model, sealer: ex.Sealer(), cloud: cloud}
		if err := call.read(v); err != nil {
			return nil, err
		}
		if err := mediaRules.Check(v); err != nil {
			return nil, invalid("%v", err)
		}
		call.prompt = call.prefixes(account, v)
		return call, nil
	})
	if !ok {
		return
	}
	if verb == "countTokens" {
		ex.SendJSON(http.StatusOK, map[string]any{"totalTokens": call.tokens})
		return
	}
	ex.Answer(d, sim.Generation{Ask: &call.ask, Account: account, Stream: verb == "streamGenerateContent",
		Takes: func(marked sim.Answer) error {
			if marked.Stop == "pause_turn" && !model.continues {
				return fmt.Errorf("sim: %s does not pause", model.id)
			}
			return nil
		},
		Reply: func(a sim.Answer) sim.Reply {
			call.cached = ex.CountAutomatic(call.prompt, call.model.cacheable()).Within(call.tokens).Read
			return call.reply(ex.Sealer(), a).sent(inEvents(ex))
		},
	})
}
