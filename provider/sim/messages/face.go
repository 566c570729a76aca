package messages

import (
	"net/http"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// bodyLimit is the largest body that the API accepts, in bytes. [docs: API overview]
const bodyLimit = 32 << 20

func init() {
	sim.Register(sim.Face{Name: "messages", Faults: faults, Claim: claim, Serve: serve, Help: help, Listed: copilotListing})
}

// claim claims the requests of Copilot's clients for this API, and every path that no other face claims.
func claim(r *http.Request) sim.Claim {
	if copilotMessages(r) {
		return sim.OwnClaim
	}
	return sim.LastClaim
}

// newDialect returns the form of Anthropic's refusals and answers. [docs: errors]
func newDialect(ex *sim.Exchange) *sim.Dialect {
	return &sim.Dialect{
		Limit: bodyLimit, RetryAfter: true, NoCache: true, StreamType: "text/event-stream; charset=utf-8",
		Spell: func(e *sim.Error, _ sim.Fault) (int, string, any) {
			return e.Status, e.Kind, map[string]any{"type": "error", "error": errorObject(e), "request_id": ex.ID}
		},
		Wrong:  sim.Error{Status: http.StatusBadRequest, Kind: "invalid_request_error"},
		Broken: sim.Error{Status: http.StatusInternalServerError, Kind: "api_error"},
	}
}

// serve answers the requests of the Messages API.
func serve(ex *sim.Exchange) {
	d := newDialect(ex)
	if copilotMessages(ex.Request) {
		serveCopilot(ex, d)
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
		serveModels(ex, d)
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
		call.cached = ex.Cache().CountMarked(call.prompt, call.model.cacheable()).Within(call.tokens)
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
