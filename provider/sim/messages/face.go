package messages

import (
	"net/http"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/gcloud"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

func init() {
	sim.Register(sim.Face{Name: "messages", Faults: faults, Claim: claim, Serve: serve, Help: help, Listed: copilotListing})
}

// claim claims the requests of Copilot's clients for this API, those to Amazon's hosts and to Google Cloud, and every path that no other face
// claims.
func claim(r *http.Request) sim.Claim {
	if place, ok := gcloud.At(r); copilotMessages(r) || bedrockMessages(r) || ok && place.Publisher == "anthropic" {
		return sim.OwnClaim
	}
	return sim.LastClaim
}

// serve answers the requests of the Messages API.
func serve(ex *sim.Exchange) {
	if bedrockMessages(ex.Request) {
		serveBedrock(ex)
		return
	}
	d := newDialect(ex)
	if copilotMessages(ex.Request) {
		serveCopilot(ex, d)
		return
	}
	if place, ok := gcloud.At(ex.Request); ok && place.Publisher == "anthropic" {
		serveCloud(ex, d, place)
		return
	}
	ex.Header().Set("request-id", ex.ID)
	key, err := checkKey(ex)
	if err != nil {
		ex.Refuse(d, err)
		return
	}
	ex.Header().Set("anthropic-organization-id", sim.Account(key))
	path, method := ex.Request.URL.Path, ex.Request.Method
	id, isModel := strings.CutPrefix(path, "/v1/models/")
	switch {
	case path == "/v1/messages" && method == http.MethodPost:
		serveCreate(ex, d, sim.Account(key))
	case path == "/v1/messages/count_tokens" && method == http.MethodPost:
		serveCount(ex, d, sim.Account(key))
	case path == "/v1/models" && method == http.MethodGet:
		serveModels(ex, d, "")
	case isModel && method == http.MethodGet:
		serveModel(ex, d, id)
	case path == "/v1/messages" || path == "/v1/messages/count_tokens" || path == "/v1/models" || isModel:
		ex.Refuse(d, &sim.Error{Status: http.StatusMethodNotAllowed, Kind: "invalid_request_error", Text: "Method Not Allowed"})
	default:
		ex.Refuse(d, &sim.Error{Status: http.StatusNotFound, Kind: "not_found_error", Text: "Not found"})
	}
}

// checkKey checks the headers that every request needs. A bearer token replaces a key if the request names its beta. A
// request must not have both. [docs: API overview]
func checkKey(ex *sim.Exchange) (string, error) {
	r := ex.Request
	denied := func(text string) error {
		return &sim.Error{Status: http.StatusUnauthorized, Kind: "authentication_error", Text: text}
	}
	key := r.Header.Get("x-api-key")
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		switch {
		case key != "":
			return "", denied("x-api-key and Authorization: Bearer are never sent together")
		case !newBetas(r.Header)["oauth-2025-04-20"]:
			return "", denied("OAuth authentication needs the beta oauth-2025-04-20")
		}
		key = bearer
	}
	switch {
	case key == "":
		return "", denied("x-api-key header is required")
	case ex.WrongKey(key):
		return "", denied("invalid x-api-key")
	}
	switch version := r.Header.Get("anthropic-version"); version {
	case "2023-06-01":
		return key, nil
	case "":
		return "", invalid("anthropic-version: header is required")
	default:
		return "", invalid("anthropic-version: %q is not a valid version", version)
	}
}

// serveCount answers count_tokens after the checks of a request for a message.
func serveCount(ex *sim.Exchange, d *sim.Dialect, account string) {
	if call, ok := readCall(ex, d, account, true); ok {
		ex.SendJSON(http.StatusOK, map[string]any{"input_tokens": call.tokens})
	}
}

// serveCreate answers POST /v1/messages.
func serveCreate(ex *sim.Exchange, d *sim.Dialect, account string) {
	call, ok := readCall(ex, d, account, false)
	if !ok {
		return
	}
	ex.Answer(d, sim.Generation{Ask: &call.ask, Account: account, Stream: call.stream, Reply: func(a sim.Answer) sim.Reply {
		call.cached = ex.CountMarked(call.prompt, call.model.cacheable()).Within(call.tokens)
		return call.reply(ex.Sealer(), a).sent()
	}})
}

// readCall reads and checks a request. If it is refused, readCall answers it and returns false.
func readCall(ex *sim.Exchange, d *sim.Dialect, account string, count bool) (*call, bool) {
	b, copilot := newBetas(ex.Request.Header), copilotMessages(ex.Request)
	var err error
	if copilot {
		err = b.copilot()
	}
	if err == nil {
		err = b.check()
	}
	if err != nil {
		ex.Refuse(d, err)
		return nil, false
	}
	return sim.Check(ex, d, func(body []byte) (*call, error) {
		v, err := strict.Decode(body)
		if err != nil {
			return nil, invalid("The request body is not valid JSON: %s", err)
		}
		if err := onCloud(ex.Request, v); err != nil {
			return nil, err
		}
		call := &call{
			betas: b, count: count, account: account,
			user: ex.Request.Header.Get("anthropic-user-profile-id"), copilot: copilot,
		}
		if err := call.read(v, ex.Sealer()); err != nil {
			return nil, err
		}
		if err := mediaRules(call.model).Check(v); err != nil {
			return nil, invalid("%v", err)
		}
		if copilot && call.pictured() && ex.Request.Header.Get("Copilot-Vision-Request") != "true" {
			return nil, invalid("missing required Copilot-Vision-Request header for vision requests")
		}
		call.prompt = call.prefixes(v)
		return call, nil
	})
}

// serveCopilot answers requests to Copilot.
func serveCopilot(ex *sim.Exchange, d *sim.Dialect) {
	ex.Header().Set("x-request-id", ex.ID)
	key, _ := strings.CutPrefix(ex.Request.Header.Get("Authorization"), "Bearer ")
	var err error
	switch {
	case ex.Request.Method != http.MethodPost:
		err = &sim.Error{Status: http.StatusMethodNotAllowed, Kind: "invalid_request_error", Text: "Method Not Allowed"}
	case key == "" || ex.WrongKey(key):
		err = &sim.Error{Status: http.StatusUnauthorized, Kind: "authentication_error", Text: "unauthorized: token expired"}
	case ex.Request.Header.Get("x-api-key") != "":
		err = invalid("bad request: x-api-key is not taken here")
	case ex.Request.Header.Get("Editor-Version") == "":
		err = invalid("bad request: missing Editor-Version header for IDE auth")
	case !slices.Contains([]string{"user", "agent"}, ex.Request.Header.Get("X-Initiator")):
		err = invalid("bad request: X-Initiator is user or agent")
	}
	if err != nil {
		ex.Refuse(d, err)
		return
	}
	serveCreate(ex, d, sim.Account(key))
}

// serveCloud answers requests to Google Cloud.
func serveCloud(ex *sim.Exchange, d *sim.Dialect, place gcloud.Place) {
	ex.Header().Set("request-id", ex.ID)
	token, err := gcloud.Token(ex)
	if err != nil {
		own := *d // Google's own refusal, since the request does not reach the model
		own.Spell = func(e *sim.Error, _ sim.Fault) (int, string, any) { return e.Status, e.Kind, gcloud.Refusal(e) }
		ex.Refuse(&own, err)
		return
	}
	switch {
	case ex.Request.Method != http.MethodPost:
		ex.Refuse(d, &sim.Error{Status: http.StatusMethodNotAllowed, Kind: "invalid_request_error", Text: "Method Not Allowed"})
	case ex.Request.Header.Get("anthropic-version") != "":
		ex.Refuse(d, invalid("anthropic-version: the version belongs to the body"))
	case place.Model == "count-tokens" && place.Verb == "rawPredict":
		serveCount(ex, d, sim.Account(token))
	case place.Verb == "rawPredict" || place.Verb == "streamRawPredict":
		serveCreate(ex, d, sim.Account(token))
	default:
		ex.Refuse(d, &sim.Error{Status: http.StatusNotFound, Kind: "not_found_error", Text: "Not found"})
	}
}
