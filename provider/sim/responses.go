package sim

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// responsesFace is one of the doors to the Responses API. Encrypted content is good behind the door that it came from.
type responsesFace struct {
	name    string
	azure   bool // key in a header of its own, ids of reasoning are a must
	plan    bool // ChatGPT's backend: stateless, streamed, with instructions, without limits
	copilot bool // ids change with each event, arguments come as ciphertext, reasoning is for its own model
}

// responsesFaces is what is served, by path. [docs: API reference; for the plan and Copilot, which have no public
// contract, the source of the vendors' own clients]
var responsesFaces = map[string]responsesFace{
	"/v1/responses":                {name: "openai"},
	"/openai/v1/responses":         {name: "azure", azure: true},
	"/backend-api/codex/responses": {name: "chatgpt", plan: true},
	"/responses":                   {name: "copilot", copilot: true},
	"/copilot/responses":           {name: "copilot", copilot: true}, // beside its Chat Completions here
}

// responsesLimit is the largest body that this server takes.
const responsesLimit = 64 << 20

// responsesErrorObject is a refusal as OpenAI spells it. [docs: error-codes]
func responsesErrorObject(e *Error) map[string]any {
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
	return &Error{Status: http.StatusBadRequest, Kind: "invalid_request_error", Code: code, Param: param, Text: fmt.Sprintf(format, args...)}
}

func unsupported(param, model string) error {
	return unfit(param, "unsupported_parameter", "Unsupported parameter: '%s' is not supported with this model.", param)
}

// responsesFaults is how the scripted refusals read.
var responsesFaults = map[Fault]Error{
	FaultRateLimit:  {Status: 429, Kind: "tokens", Code: "rate_limit_exceeded", Text: "Rate limit reached for this model. Please try again in 1s."},
	FaultSpendCap:   {Status: 429, Kind: "requests", Code: "slow_down", Text: "You have reached your usage limit for now."},
	FaultOverloaded: {Status: 503, Kind: "service_unavailable_error", Code: "server_is_overloaded", Text: "Our servers are currently overloaded. Please try again later."},
	FaultServer:     {Status: 500, Kind: "server_error", Code: "server_error", Text: "The server had an error while processing your request."},
	FaultTimeout:    {Status: 408, Kind: "server_error", Code: "timeout", Text: "Request timed out."},
	FaultConflict:   {Status: 409, Kind: "invalid_request_error", Code: "conflict", Text: "The request conflicts with another one."},
	FaultBadRequest: {Status: 400, Kind: "invalid_request_error", Code: "invalid_value", Text: "The simulator was asked to find this request invalid."},
	FaultAuth:       {Status: 401, Kind: "invalid_request_error", Code: "invalid_api_key", Text: "Incorrect API key provided."},
	FaultPermission: {Status: 403, Kind: "invalid_request_error", Code: "unsupported_country_region_territory", Text: "Country, region, or territory not supported."},
	FaultBilling:    {Status: 429, Kind: "insufficient_quota", Code: "insufficient_quota", Text: "You exceeded your current quota, please check your plan and billing details."},
	FaultNotFound:   {Status: 404, Kind: "invalid_request_error", Code: "model_not_found", Text: "The model does not exist or you do not have access to it."},
	FaultTooLarge:   {Status: 400, Kind: "invalid_request_error", Code: "context_length_exceeded", Param: "input", Text: "Your input exceeds the context window of this model."},
}

func init() {
	Register(Face{Name: "responses", Faults: responsesFaults, Claim: claimResponses, Serve: serveResponses, Help: responsesHelp})
}

// claimResponses claims the doors and the two lists. A list without Anthropic's header is OpenAI's.
func claimResponses(r *http.Request) Claim {
	_, door := responsesFaces[r.URL.Path]
	list := r.URL.Path == planList || r.URL.Path == "/v1/models" && r.Header.Get("anthropic-version") == ""
	if door || list && r.Method == http.MethodGet {
		return OwnClaim
	}
	return NoClaim
}

// responsesDialect is how OpenAI refuses and answers.
func responsesDialect() *Dialect {
	return &Dialect{
		Limit: responsesLimit, RetryAfter: true, NoCache: true, StreamType: "text/event-stream; charset=utf-8",
		TooLarge: Error{Status: http.StatusRequestEntityTooLarge, Kind: "invalid_request_error", Code: "request_too_large", Text: "The request is too large."},
		Spell: func(e *Error, _ Fault) (int, string, any) {
			return e.Status, e.Kind, map[string]any{"error": responsesErrorObject(e)}
		},
		Reword: rewordResponses,
		Wrong:  Error{Status: http.StatusBadRequest, Kind: "invalid_request_error"},
		Broken: Error{Status: http.StatusInternalServerError, Kind: "server_error", Code: "server_error"},
	}
}

// rewordResponses puts a wrong marker and what the strict reader found into OpenAI's words.
func rewordResponses(err error) *Error {
	if _, ok := errors.AsType[*MarkerError](err); ok {
		return &Error{Status: http.StatusBadRequest, Kind: "invalid_request_error", Code: "invalid_value", Param: "input", Text: err.Error()}
	}
	wrong, ok := errors.AsType[*strictError](err)
	if !ok {
		return nil
	}
	param, what, _ := strings.Cut(wrong.text, ": ")
	e := &Error{Status: http.StatusBadRequest, Kind: "invalid_request_error", Code: "invalid_value", Param: param, Text: "Invalid value for '" + param + "': " + what + "."}
	switch what {
	case "Extra inputs are not permitted":
		e.Code, e.Text = "unknown_parameter", "Unknown parameter: '"+param+"'."
	case "Field required":
		e.Code, e.Text = "missing_required_parameter", "Missing required parameter: '"+param+"'."
	}
	return e
}

// serveResponses answers behind one of the doors, and with the lists.
func serveResponses(ex *exchange) {
	d := responsesDialect()
	face, ok := responsesFaces[ex.r.URL.Path]
	switch {
	case ex.r.URL.Path == planList:
		servePlanModels(ex, d)
		return
	case !ok:
		serveResponsesModels(ex, d)
		return
	}
	ex.header().Set("x-request-id", ex.id)
	if ex.r.Method != http.MethodPost {
		ex.refuse(d, &Error{Status: http.StatusMethodNotAllowed, Kind: "invalid_request_error", Text: "Method not allowed."})
		return
	}
	key, err := responsesKey(ex, face)
	if err != nil {
		ex.refuse(d, err)
		return
	}
	ex.header().Set("openai-organization", "org-"+account(key))
	call, ok := Check(ex, d, func(body []byte) (*responsesCall, error) { return readResponses(ex, face, account(key), body) })
	if !ok {
		return
	}
	ex.answer(d, Generation{Ask: &call.ask, Account: call.account, Stream: call.stream, Reply: func(a Answer) Reply {
		if !face.plan || ex.r.Header.Get("Session-Id") != "" { // the name routes to the cache
			call.cached = ex.cache().automatic(call.prompt).of(call.tokens)
		}
		return call.reply(ex.sealer(), a).sent()
	}})
}

// responsesKey checks the headers.
func responsesKey(ex *exchange, face responsesFace) (string, error) {
	r := ex.r
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if face.azure && key == "" {
		key = r.Header.Get("api-key")
	}
	denied := func(text string) error {
		return &Error{Status: http.StatusUnauthorized, Kind: "invalid_request_error", Code: "invalid_api_key", Text: text}
	}
	switch {
	case key == "":
		return "", denied("You didn't provide an API key.")
	case ex.wrongKey(key):
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
func readResponses(ex *exchange, face responsesFace, account string, body []byte) (*responsesCall, error) {
	v, err := decode(body)
	if err != nil {
		return nil, unfit("", "", "We could not parse the JSON body of your request: %s", err)
	}
	call := &responsesCall{face: face, account: account, vision: ex.r.Header.Get("Copilot-Vision-Request") == "true"}
	if err := call.read(v, ex.sealer()); err != nil {
		return nil, err
	}
	call.prompt = call.prefixes(v)
	return call, nil
}
