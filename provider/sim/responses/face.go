package responses

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// door is one of the doors to the Responses API. Encrypted content is good behind the door that it came from.
type door struct {
	name    string
	azure   bool // key in a header of its own, ids of reasoning are a must
	plan    bool // ChatGPT's backend: stateless, streamed, with instructions, without limits
	copilot bool // ids change with each event, arguments come as ciphertext, reasoning is for its own model
}

// doors is what is served, by path. [docs: API reference; for the plan and Copilot, which have no public
// contract, the source of the vendors' own clients]
var doors = map[string]door{
	"/v1/responses":                {name: "openai"},
	"/openai/v1/responses":         {name: "azure", azure: true},
	"/backend-api/codex/responses": {name: "chatgpt", plan: true},
	"/responses":                   {name: "copilot", copilot: true},
	"/copilot/responses":           {name: "copilot", copilot: true}, // beside its Chat Completions here
}

// bodyLimit is the largest body that this server takes.
const bodyLimit = 64 << 20

// errorObject is a refusal as OpenAI spells it. [docs: error-codes]
func errorObject(e *sim.Error) map[string]any {
	null := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return map[string]any{"message": e.Text, "type": e.Kind, "param": null(e.Param), "code": null(e.Code)}
}

// unfit is the refusal of a request that breaks a rule.
func unfit(param, code, format string, args ...any) error {
	return &sim.Error{Status: http.StatusBadRequest, Kind: "invalid_request_error", Code: code, Param: param, Text: fmt.Sprintf(format, args...)}
}

func unsupported(param, model string) error {
	return unfit(param, "unsupported_parameter", "Unsupported parameter: '%s' is not supported with this model.", param)
}

// faults is how the scripted refusals read.
var faults = map[sim.Fault]sim.Error{
	sim.FaultRateLimit:  {Status: 429, Kind: "tokens", Code: "rate_limit_exceeded", Text: "Rate limit reached for this model. Please try again in 1s."},
	sim.FaultSpendCap:   {Status: 429, Kind: "requests", Code: "slow_down", Text: "You have reached your usage limit for now."},
	sim.FaultOverloaded: {Status: 503, Kind: "service_unavailable_error", Code: "server_is_overloaded", Text: "Our servers are currently overloaded. Please try again later."},
	sim.FaultServer:     {Status: 500, Kind: "server_error", Code: "server_error", Text: "The server had an error while processing your request."},
	sim.FaultTimeout:    {Status: 408, Kind: "server_error", Code: "timeout", Text: "Request timed out."},
	sim.FaultConflict:   {Status: 409, Kind: "invalid_request_error", Code: "conflict", Text: "The request conflicts with another one."},
	sim.FaultBadRequest: {Status: 400, Kind: "invalid_request_error", Code: "invalid_value", Text: "The simulator was asked to find this request invalid."},
	sim.FaultAuth:       {Status: 401, Kind: "invalid_request_error", Code: "invalid_api_key", Text: "Incorrect API key provided."},
	sim.FaultPermission: {Status: 403, Kind: "invalid_request_error", Code: "unsupported_country_region_territory", Text: "Country, region, or territory not supported."},
	sim.FaultBilling:    {Status: 429, Kind: "insufficient_quota", Code: "insufficient_quota", Text: "You exceeded your current quota, please check your plan and billing details."},
	sim.FaultNotFound:   {Status: 404, Kind: "invalid_request_error", Code: "model_not_found", Text: "The model does not exist or you do not have access to it."},
	sim.FaultTooLarge:   {Status: 400, Kind: "invalid_request_error", Code: "context_length_exceeded", Param: "input", Text: "Your input exceeds the context window of this model."},
}

func init() {
	sim.Register(sim.Face{Name: "responses", Faults: faults, Claim: claim, Serve: serve, Help: help})
}

// claim claims the doors and the two lists. A list without Anthropic's header is OpenAI's.
func claim(r *http.Request) sim.Claim {
	_, door := doors[r.URL.Path]
	list := r.URL.Path == planList || r.URL.Path == "/v1/models" && r.Header.Get("anthropic-version") == ""
	if door || list && r.Method == http.MethodGet {
		return sim.OwnClaim
	}
	return sim.NoClaim
}

// newDialect is how OpenAI refuses and answers.
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

// reword puts a wrong marker and what the strict reader found into OpenAI's words.
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

// serve answers behind one of the doors, and with the lists.
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
		if !face.plan || ex.Request.Header.Get("Session-Id") != "" { // the name routes to the cache
			call.cached = ex.Cache().CountAutomatic(call.prompt).Within(call.tokens)
		}
		return call.reply(ex.Sealer(), a).sent()
	}})
}

// checkKey checks the headers.
func checkKey(ex *sim.Exchange, face door) (string, error) {
	r := ex.Request
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if face.azure && key == "" {
		key = r.Header.Get("api-key")
	}
	denied := func(text string) error {
		return &sim.Error{Status: http.StatusUnauthorized, Kind: "invalid_request_error", Code: "invalid_api_key", Text: text}
	}
	switch {
	case key == "":
		return "", denied("You didn't provide an API key.")
	case ex.WrongKey(key):
		return "", denied("Incorrect API key provided.")
	case face.plan && r.Header.Get("ChatGPT-Account-ID") == "":
		return "", denied("The header ChatGPT-Account-ID is missing.")
	case face.plan && (len(r.Header["Session_id"]) > 0 || len(r.Header["Thread_id"]) > 0): // as some proxies answer
		return "", unfit("", "", "Invalid header name: underscores are not allowed.")
	case face.plan && r.Header.Get("Session-Id") != r.Header.Get("Thread-Id"):
		return "", unfit("", "", "session-id and thread-id name two conversations.")
	case face.copilot && r.Header.Get("Editor-Version") == "":
		return "", unfit("", "", "bad request: missing Editor-Version header for IDE auth")
	}
	return key, nil
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
	call.prompt = call.prefixes(v)
	return call, nil
}
