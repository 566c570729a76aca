package sim

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// chatLimit is the largest body that is taken.
const chatLimit = 32 << 20

func chatInvalid(format string, args ...any) error {
	return &Error{Status: http.StatusBadRequest, Kind: "invalid_request_error", Text: fmt.Sprintf(format, args...)}
}

// chatFaults is how the scripted refusals read. [docs: error codes of the hosts]
var chatFaults = map[Fault]Error{
	FaultRateLimit:  {Status: 429, Kind: "rate_limit_error", Code: "rate_limit_exceeded", Text: "Rate limit reached"},
	FaultSpendCap:   {Status: 429, Kind: "rate_limit_error", Code: "rate_limit_exceeded", Text: "You have reached your usage limit"},
	FaultOverloaded: {Status: 503, Kind: "overloaded_error", Code: "overloaded_error", Text: "The server is overloaded"},
	FaultServer:     {Status: 500, Kind: "server_error", Text: "Internal server error"},
	FaultTimeout:    {Status: 504, Kind: "server_error", Text: "Request timed out"},
	FaultConflict:   {Status: 409, Kind: "conflict_error", Text: "The request conflicts with another one"},
	FaultBadRequest: {Status: 400, Kind: "invalid_request_error", Text: "The simulator was asked to find this request invalid"},
	FaultAuth:       {Status: 401, Kind: "authentication_error", Code: "invalid_api_key", Text: "Incorrect API key provided"},
	FaultPermission: {Status: 403, Kind: "permission_error", Text: "Your key has no permission for this model"},
	FaultBilling:    {Status: 402, Kind: "billing_error", Code: "insufficient_quota", Text: "Insufficient balance"},
	FaultNotFound:   {Status: 404, Kind: "not_found_error", Code: "model_not_found", Text: "Not found"},
	FaultTooLarge:   {Status: 413, Kind: "invalid_request_error", Text: "Request exceeds the maximum size"},
}

func init() {
	Register(Face{Name: "chat", Faults: chatFaults, Claim: claimChat, Serve: serveChat, Help: chatHelp})
}

// claimChat claims what lies below the name of a host, and Chat Completions without one.
func claimChat(r *http.Request) Claim {
	if host, _ := chatPath(r); host != nil {
		return PathClaim
	}
	return NoClaim
}

// chatDialect is how a host refuses and answers.
func chatDialect(ex *exchange, host *chatHost) *Dialect {
	return &Dialect{
		Limit: chatLimit, RetryAfter: true, StreamType: "text/event-stream; charset=utf-8",
		Spell: func(e *Error, _ Fault) (int, string, any) {
			status := e.Status
			if host.errors == "minimax" && status == http.StatusBadRequest {
				status = http.StatusOK // the error is in the body
			}
			return status, cmp.Or(e.Code, e.Kind), host.errorBody(e, ex.id)
		},
		Wrong:  Error{Status: http.StatusBadRequest, Kind: "invalid_request_error"},
		Broken: Error{Status: http.StatusInternalServerError, Kind: "server_error"},
	}
}

// chatPath tells which host a path belongs to: its name is the first step, and what a client adds to its base URL is
// the rest. Without a name the header X-Sim-Dialect says it, and without that it is OpenAI.
func chatPath(r *http.Request) (host *chatHost, rest string) {
	path := r.URL.Path
	for i := range chatHosts {
		if after, ok := strings.CutPrefix(path, "/"+chatHosts[i].name+"/"); ok {
			return &chatHosts[i], "/" + strings.TrimPrefix(after, "v1/")
		}
	}
	rest, ok := strings.CutPrefix(path, "/v1")
	if !ok {
		rest = path
	}
	named := r.Header.Get("X-Sim-Dialect")
	if rest != "/chat/completions" && (rest != "/models" || named == "") {
		return nil, ""
	}
	name := cmp.Or(named, "openai")
	i := slices.IndexFunc(chatHosts, func(h chatHost) bool { return h.name == name })
	if i < 0 {
		return nil, ""
	}
	return &chatHosts[i], rest
}

// serveChat answers whatever belongs to a host of Chat Completions.
func serveChat(ex *exchange) {
	host, path := chatPath(ex.r)
	d := chatDialect(ex, host)
	ex.header().Set("x-request-id", ex.id)
	key, err := chatKey(ex, host)
	switch {
	case err != nil:
		ex.refuse(d, err)
	case path == "/chat/completions" && ex.r.Method == http.MethodPost:
		serveCompletion(ex, d, host, account(key))
	case path == "/models" && ex.r.Method == http.MethodGet:
		ex.sendJSON(http.StatusOK, map[string]any{"object": "list", "data": host.listing(ex)})
	case ex.r.Method == http.MethodGet && host.native(path) != nil:
		ex.sendJSON(http.StatusOK, host.native(path))
	case path == "/chat/completions" || path == "/models":
		ex.refuse(d, &Error{Status: http.StatusMethodNotAllowed, Kind: "invalid_request_error", Text: "Method not allowed"})
	default:
		ex.refuse(d, &Error{Status: http.StatusNotFound, Kind: "not_found_error", Text: "Not found"})
	}
}

func chatKey(ex *exchange, host *chatHost) (string, error) {
	key, ok := strings.CutPrefix(ex.r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !ok && host.local:
		return "", nil
	case !ok || key == "":
		return "", &Error{Status: http.StatusUnauthorized, Kind: "authentication_error", Code: "invalid_api_key", Text: "Missing Authentication header"}
	case ex.wrongKey(key):
		return "", &Error{Status: http.StatusUnauthorized, Kind: "authentication_error", Code: "invalid_api_key", Text: "Incorrect API key provided"}
	}
	return key, nil
}

// serveCompletion answers POST /chat/completions.
func serveCompletion(ex *exchange, d *Dialect, host *chatHost, account string) {
	call, ok := Check(ex, d, func(body []byte) (*chatCall, error) {
		v, err := decode(body)
		if err != nil {
			return nil, chatInvalid("We could not parse the JSON body of your request: %s", err)
		}
		call := &chatCall{host: host, account: account, header: ex.r.Header}
		return call, call.read(v, ex.sealer())
	})
	if !ok {
		return
	}
	ex.answer(d, Generation{Ask: &call.ask, Account: account, Stream: call.stream, Reply: func(a Answer) Reply {
		return call.reply(ex.sealer(), a).sent(ex.id)
	}})
}

// errorBody is an error in the host's own form.
func (h *chatHost) errorBody(e *Error, id string) any {
	var code any
	if e.Code != "" {
		code = e.Code
	}
	switch h.errors {
	case "flat":
		return map[string]any{"object": "error", "message": e.Text, "type": "BadRequestError", "param": nil, "code": e.Status}
	case "vllm":
		return map[string]any{"error": map[string]any{"message": e.Text, "type": "BadRequestError", "param": nil, "code": e.Status}}
	case "llamacpp":
		return map[string]any{"error": map[string]any{"code": e.Status, "message": e.Text, "type": e.Kind}}
	case "mistral":
		if e.Status == http.StatusUnprocessableEntity {
			return map[string]any{"detail": []any{map[string]any{"type": "extra_forbidden", "msg": e.Text}}}
		}
		return map[string]any{"object": "error", "message": e.Text, "type": e.Kind, "code": "1000"}
	case "zai":
		return map[string]any{"error": map[string]any{"code": "1210", "message": e.Text}}
	case "minimax":
		if e.Status == http.StatusBadRequest {
			return map[string]any{"base_resp": map[string]any{"status_code": 2013, "status_msg": e.Text}}
		}
	case "xai":
		return map[string]any{"code": cmp.Or(e.Code, e.Kind), "error": e.Text}
	case "openrouter":
		return map[string]any{"error": map[string]any{"code": e.Status, "message": "Provider returned error", "metadata": map[string]any{"raw": e.Text, "provider_name": "Simulator"}}}
	case "gemini":
		return []any{map[string]any{"error": map[string]any{"code": e.Status, "message": e.Text, "status": "INVALID_ARGUMENT"}}}
	case "dashscope":
		if e.Status == http.StatusBadRequest && e.Code == "" {
			code = "invalid_parameter_error"
		}
		return map[string]any{"error": map[string]any{"message": e.Text, "type": e.Kind, "code": code}, "request_id": id}
	}
	return map[string]any{"error": map[string]any{"message": e.Text, "type": e.Kind, "param": nil, "code": code}}
}
