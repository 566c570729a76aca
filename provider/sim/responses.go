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

// responsesError is a refusal as OpenAI tells it. [docs: error-codes]
type responsesError struct {
	status int
	kind   string
	code   string
	param  string
	text   string
}

func (e *responsesError) Error() string { return e.text }

func (e *responsesError) object() map[string]any {
	null := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return map[string]any{"message": e.text, "type": e.kind, "param": null(e.param), "code": null(e.code)}
}

// unfit is the refusal of a request that breaks a rule.
func unfit(param, code, format string, args ...any) error {
	return &responsesError{http.StatusBadRequest, "invalid_request_error", code, param, fmt.Sprintf(format, args...)}
}

func unsupported(param, model string) error {
	return unfit(param, "unsupported_parameter", "Unsupported parameter: '%s' is not supported with this model.", param)
}

// responsesFaults is how the scripted refusals read.
var responsesFaults = map[Fault]responsesError{
	FaultRateLimit:  {429, "tokens", "rate_limit_exceeded", "", "Rate limit reached for this model. Please try again in 1s."},
	FaultSpendCap:   {429, "requests", "slow_down", "", "You have reached your usage limit for now."},
	FaultOverloaded: {503, "service_unavailable_error", "server_is_overloaded", "", "Our servers are currently overloaded. Please try again later."},
	FaultServer:     {500, "server_error", "server_error", "", "The server had an error while processing your request."},
	FaultTimeout:    {408, "server_error", "timeout", "", "Request timed out."},
	FaultConflict:   {409, "invalid_request_error", "conflict", "", "The request conflicts with another one."},
	FaultBadRequest: {400, "invalid_request_error", "invalid_value", "", "The simulator was asked to find this request invalid."},
	FaultAuth:       {401, "invalid_request_error", "invalid_api_key", "", "Incorrect API key provided."},
	FaultPermission: {403, "invalid_request_error", "unsupported_country_region_territory", "", "Country, region, or territory not supported."},
	FaultBilling:    {429, "insufficient_quota", "insufficient_quota", "", "You exceeded your current quota, please check your plan and billing details."},
	FaultNotFound:   {404, "invalid_request_error", "model_not_found", "", "The model does not exist or you do not have access to it."},
	FaultTooLarge:   {400, "invalid_request_error", "context_length_exceeded", "input", "Your input exceeds the context window of this model."},
}

// serveResponses answers POST behind one of the doors.
func (s *Server) serveResponses(ex *exchange, face responsesFace) {
	ex.w.Header().Set("x-request-id", ex.id)
	if ex.r.Method != http.MethodPost {
		ex.refuseResponses(&responsesError{http.StatusMethodNotAllowed, "invalid_request_error", "", "", "Method not allowed."})
		return
	}
	key, err := s.responsesKey(ex.r, face)
	if err != nil {
		ex.refuseResponses(err)
		return
	}
	ex.w.Header().Set("openai-organization", "org-"+account(key))
	call, err := ex.readResponses(face, account(key))
	if err != nil {
		ex.refuseResponses(err)
		return
	}
	marked, prompt, err := marker(call.ask.prompt)
	if err != nil {
		ex.refuseResponses(unfit("input", "invalid_value", "%s", err))
		return
	}
	a := s.scripts.next(*ex.entry, marked, call.account, call.ask.prompt)
	call.ask.prompt = prompt
	for name, values := range a.Head {
		ex.w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	ex.answerResponses(call, a)
}

func (ex *exchange) answerResponses(call *responsesCall, a Answer) {
	p := ex.player(a)
	if ex.noAnswer(a, p) {
		return
	}
	if a.Fault.refuses() && (a.After == nil || !call.stream) {
		e := responsesFaults[a.Fault]
		if a.Fault == FaultRateLimit && ex.w.Header().Get("Retry-After") == "" {
			ex.w.Header().Set("Retry-After", "1")
		}
		ex.sendJSON(e.status, map[string]any{"error": e.object()})
		return
	}
	if a.Fault == FaultJSON {
		e := responsesFaults[FaultServer]
		ex.sendJSON(http.StatusOK, map[string]any{"error": e.object()})
		return
	}
	if a.Fault == FaultGzip {
		defer ex.zipped(p)()
	}
	if !call.face.plan || ex.r.Header.Get("Session-Id") != "" { // the name routes to the cache
		call.cached = ex.server.cache.automatic(call.prompt).of(call.tokens)
	}
	reply := call.reply(ex.server.sealer, a)
	if call.stream && a.Fault != FaultWhole {
		ex.streamResponses(reply, p)
	} else {
		ex.wholeResponses(reply, p)
	}
}

// responsesKey checks the headers.
func (s *Server) responsesKey(r *http.Request, face responsesFace) (string, error) {
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if face.azure && key == "" {
		key = r.Header.Get("api-key")
	}
	denied := func(text string) error {
		return &responsesError{http.StatusUnauthorized, "invalid_request_error", "invalid_api_key", "", text}
	}
	switch {
	case key == "":
		return "", denied("You didn't provide an API key.")
	case s.config.Key != "" && key != s.config.Key:
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
func (ex *exchange) readResponses(face responsesFace, account string) (*responsesCall, error) {
	body, err := ex.body(responsesLimit)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, &responsesError{http.StatusRequestEntityTooLarge, "invalid_request_error", "request_too_large", "", "The request is too large."}
	}
	if err != nil {
		return nil, unfit("", "", "The request body could not be read: %s", err)
	}
	v, err := decode(body)
	if err != nil {
		return nil, unfit("", "", "We could not parse the JSON body of your request: %s", err)
	}
	call := &responsesCall{face: face, account: account, vision: ex.r.Header.Get("Copilot-Vision-Request") == "true"}
	if err := call.read(v, ex.server.sealer); err != nil {
		return nil, err
	}
	call.prompt = call.prefixes(v)
	return call, nil
}

// refuseResponses answers with a refusal of the server's own. What the checks of single members found is put into
// OpenAI's words.
func (ex *exchange) refuseResponses(err error) {
	e, ok := errors.AsType[*responsesError](err)
	if plain, found := errors.AsType[*messagesError](err); found {
		param, what, _ := strings.Cut(plain.text, ": ")
		e = &responsesError{http.StatusBadRequest, "invalid_request_error", "invalid_value", param, "Invalid value for '" + param + "': " + what + "."}
		switch what {
		case "Extra inputs are not permitted":
			e.code, e.text = "unknown_parameter", "Unknown parameter: '"+param+"'."
		case "Field required":
			e.code, e.text = "missing_required_parameter", "Missing required parameter: '"+param+"'."
		}
	} else if !ok {
		e = &responsesError{http.StatusInternalServerError, "server_error", "server_error", "", err.Error()}
	}
	ex.refused(e.status, e.kind, e.text)
	ex.sendJSON(e.status, map[string]any{"error": e.object()})
}
