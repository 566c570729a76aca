package responses

import (
	"errors"
	"net/http"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// bodyLimit is the largest body that is accepted, in bytes.
const bodyLimit = 64 << 20

func init() {
	sim.Register(sim.Face{Name: "responses", Faults: faults, Claim: claim, Serve: serve, Help: help})
}

// claim claims the doors and the two lists of models. A request for a list without Anthropic's header is for OpenAI's.
func claim(r *http.Request) sim.Claim {
	_, door := doors[r.URL.Path]
	list := r.URL.Path == planList || r.URL.Path == "/v1/models" && r.Header.Get("anthropic-version") == "" && !r.URL.Query().Has("endpoint") // which only Cohere has
	if door || list && r.Method == http.MethodGet {
		return sim.OwnClaim
	}
	return sim.NoClaim
}

// newDialect returns the form of OpenAI's refusals and answers.
func newDialect() *sim.Dialect {
	return &sim.Dialect{
		Limit: bodyLimit, RetryAfter: true, NoCache: true, StreamType: "text/event-stream; charset=utf-8",
		TooLarge: sim.Error{Status: http.StatusRequestEntityTooLarge, Kind: "invalid_request_error", Code: "request_too_large", Text: "The request is too large."},
		Spell: func(e *sim.Error, _ sim.Fault) (int, string, any) {
			return e.Status, e.Kind, map[string]any{"error": errorObject(e)}
		},
		Reword: reword,
		Wrong:  sim.Error{Status: http.StatusBadRequest, Kind: "invalid_request_error"},
		Broken: sim.Error{Status: http.StatusInternalServerError, Kind: "server_error", Code: "server_error"},
	}
}

// reword returns OpenAI's refusal for a wrong marker, or for an error of the strict reader.
func reword(err error) *sim.Error {
	if _, ok := errors.AsType[*sim.MarkerError](err); ok {
		return &sim.Error{Status: http.StatusBadRequest, Kind: "invalid_request_error", Code: "invalid_value", Param: "input", Text: err.Error()}
	}
	wrong, ok := errors.AsType[*strict.Error](err)
	if !ok {
		return nil
	}
	param, what, _ := strings.Cut(wrong.Text, ": ")
	e := &sim.Error{Status: http.StatusBadRequest, Kind: "invalid_request_error", Code: "invalid_value", Param: param, Text: "Invalid value for '" + param + "': " + what + "."}
	switch what {
	case "Extra inputs are not permitted":
		e.Code, e.Text = "unknown_parameter", "Unknown parameter: '"+param+"'."
	case "Field required":
		e.Code, e.Text = "missing_required_parameter", "Missing required parameter: '"+param+"'."
	}
	return e
}

// serve answers the requests to the doors and for the lists.
func serve(ex *sim.Exchange) {
	d := newDialect()
	face, ok := doors[ex.Request.URL.Path]
	switch {
	case ex.Request.URL.Path == planList:
		servePlanModels(ex, d)
		return
	case !ok:
		serveModels(ex, d)
		return
	}
	ex.Header().Set("x-request-id", ex.ID)
	if ex.Request.Method != http.MethodPost {
		ex.Refuse(d, &sim.Error{Status: http.StatusMethodNotAllowed, Kind: "invalid_request_error", Text: "Method not allowed."})
		return
	}
	key, err := checkKey(ex, face)
	if err != nil {
		ex.Refuse(d, err)
		return
	}
	ex.Header().Set("openai-organization", "org-"+sim.Account(key))
	call, ok := sim.Check(ex, d, func(body []byte) (*call, error) { return readResponses(ex, face, sim.Account(key), body) })
	if !ok {
		return
	}
	ex.Answer(d, sim.Generation{Ask: &call.ask, Account: call.account, Stream: call.stream, Reply: func(a sim.Answer) sim.Reply {
		if !face.plan || ex.Request.Header.Get("Session-Id") != "" { // this header selects the cache
			call.cached = ex.CountAutomatic(call.prompt, leastCached).Within(call.tokens)
		}
		return call.reply(ex.Sealer(), a).sent()
	}})
}

// readResponses reads and checks a request.
func readResponses(ex *sim.Exchange, face door, account string, body []byte) (*call, error) {
	v, err := strict.Decode(body)
	if err != nil {
		return nil, unfit("", "", "We could not parse the JSON body of your request: %s", err)
	}
	call := &call{door: face, account: account, vision: ex.Request.Header.Get("Copilot-Vision-Request") == "true"}
	if err := call.read(v, ex.Sealer()); err != nil {
		return nil, err
	}
	if err := mediaRules.Check(v); err != nil {
		return nil, unfit("input", "invalid_value", "%v", err)
	}
	call.prompt = call.prefixes(v)
	return call, nil
}
