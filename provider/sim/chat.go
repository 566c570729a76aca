package sim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// chatLimit is the largest body that is taken.
const chatLimit = 32 << 20

// chatError is a refusal before it has the form of a host.
type chatError struct {
	status int
	kind   string
	code   string
	text   string
}

func (e *chatError) Error() string { return e.text }

func chatInvalid(format string, args ...any) error {
	return &chatError{http.StatusBadRequest, "invalid_request_error", "", fmt.Sprintf(format, args...)}
}

// chatFaults is how the scripted refusals read. [docs: error codes of the hosts]
var chatFaults = map[Fault]chatError{
	FaultRateLimit:  {429, "rate_limit_error", "rate_limit_exceeded", "Rate limit reached"},
	FaultSpendCap:   {429, "rate_limit_error", "rate_limit_exceeded", "You have reached your usage limit"},
	FaultOverloaded: {503, "overloaded_error", "overloaded_error", "The server is overloaded"},
	FaultServer:     {500, "server_error", "", "Internal server error"},
	FaultTimeout:    {504, "server_error", "", "Request timed out"},
	FaultConflict:   {409, "conflict_error", "", "The request conflicts with another one"},
	FaultBadRequest: {400, "invalid_request_error", "", "The simulator was asked to find this request invalid"},
	FaultAuth:       {401, "authentication_error", "invalid_api_key", "Incorrect API key provided"},
	FaultPermission: {403, "permission_error", "", "Your key has no permission for this model"},
	FaultBilling:    {402, "billing_error", "insufficient_quota", "Insufficient balance"},
	FaultNotFound:   {404, "not_found_error", "model_not_found", "Not found"},
	FaultTooLarge:   {413, "invalid_request_error", "", "Request exceeds the maximum size"},
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
func (s *Server) serveChat(ex *exchange, host *chatHost, path string) {
	ex.w.Header().Set("x-request-id", ex.id)
	key, err := s.chatKey(ex.r, host)
	switch {
	case err != nil:
		ex.refuseChat(host, err)
	case path == "/chat/completions" && ex.r.Method == http.MethodPost:
		ex.serveCompletion(host, account(key))
	case path == "/models" && ex.r.Method == http.MethodGet:
		ex.sendJSON(http.StatusOK, map[string]any{"object": "list", "data": host.listing()})
	case ex.r.Method == http.MethodGet && host.native(path) != nil:
		ex.sendJSON(http.StatusOK, host.native(path))
	case path == "/chat/completions" || path == "/models":
		ex.refuseChat(host, &chatError{http.StatusMethodNotAllowed, "invalid_request_error", "", "Method not allowed"})
	default:
		ex.refuseChat(host, &chatError{http.StatusNotFound, "not_found_error", "", "Not found"})
	}
}

func (s *Server) chatKey(r *http.Request, host *chatHost) (string, error) {
	key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !ok && host.local:
		return "", nil
	case !ok || key == "":
		return "", &chatError{http.StatusUnauthorized, "authentication_error", "invalid_api_key", "Missing Authentication header"}
	case s.config.Key != "" && key != s.config.Key:
		return "", &chatError{http.StatusUnauthorized, "authentication_error", "invalid_api_key", "Incorrect API key provided"}
	}
	return key, nil
}

// serveCompletion answers POST /chat/completions.
func (ex *exchange) serveCompletion(host *chatHost, account string) {
	call, err := ex.readChat(host, account)
	if err != nil {
		ex.refuseChat(host, err)
		return
	}
	marked, prompt, err := marker(call.ask.prompt)
	if err != nil {
		ex.refuseChat(host, chatInvalid("%s", err))
		return
	}
	a := ex.server.scripts.next(*ex.entry, marked, account, call.ask.prompt)
	call.ask.prompt = prompt
	for name, values := range a.Head {
		ex.w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	p := ex.player(a)
	if ex.noAnswer(a, p) {
		return
	}
	if a.Fault.refuses() && (a.After == nil || !call.stream) {
		e := chatFaults[a.Fault]
		if a.Fault == FaultRateLimit && ex.w.Header().Get("Retry-After") == "" {
			ex.w.Header().Set("Retry-After", "1")
		}
		ex.sendChatError(host, &e)
		return
	}
	if a.Fault == FaultJSON {
		e := chatFaults[FaultServer]
		ex.sendJSON(http.StatusOK, host.errorBody(&e, ex.id))
		return
	}
	if a.Fault == FaultGzip {
		defer ex.zipped(p)()
	}
	reply := call.reply(ex.server.sealer, a)
	if call.stream && a.Fault != FaultWhole {
		ex.streamChat(reply, p)
	} else {
		ex.wholeChat(reply, p)
	}
}

// readChat reads and checks a request.
func (ex *exchange) readChat(host *chatHost, account string) (*chatCall, error) {
	body, err := ex.body(chatLimit)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, &chatError{http.StatusRequestEntityTooLarge, "invalid_request_error", "", "Request exceeds the maximum size"}
	}
	if err != nil {
		return nil, chatInvalid("The request body could not be read: %s", err)
	}
	v, err := decode(body)
	if err != nil {
		return nil, chatInvalid("We could not parse the JSON body of your request: %s", err)
	}
	call := &chatCall{host: host, account: account, header: ex.r.Header}
	return call, call.read(v, ex.server.sealer)
}

// refuseChat answers with a refusal of the server's own.
func (ex *exchange) refuseChat(host *chatHost, err error) {
	e, ok := errors.AsType[*chatError](err)
	if !ok {
		e = &chatError{http.StatusInternalServerError, "server_error", "", err.Error()}
		if m, ok := errors.AsType[*messagesError](err); ok { // of the checks that both APIs share
			e.status, e.kind = m.status, m.kind
		}
	}
	ex.refused(e.status, cmp.Or(e.code, e.kind), e.text)
	ex.sendChatError(host, e)
}

func (ex *exchange) sendChatError(host *chatHost, e *chatError) {
	status := e.status
	if host.errors == "minimax" && status == http.StatusBadRequest {
		status = http.StatusOK // the error is in the body
	}
	ex.sendJSON(status, host.errorBody(e, ex.id))
}

// errorBody is an error in the host's own form.
func (h *chatHost) errorBody(e *chatError, id string) any {
	var code any
	if e.code != "" {
		code = e.code
	}
	switch h.errors {
	case "flat":
		return map[string]any{"object": "error", "message": e.text, "type": "BadRequestError", "param": nil, "code": e.status}
	case "vllm":
		return map[string]any{"error": map[string]any{"message": e.text, "type": "BadRequestError", "param": nil, "code": e.status}}
	case "llamacpp":
		return map[string]any{"error": map[string]any{"code": e.status, "message": e.text, "type": e.kind}}
	case "mistral":
		if e.status == http.StatusUnprocessableEntity {
			return map[string]any{"detail": []any{map[string]any{"type": "extra_forbidden", "msg": e.text}}}
		}
		return map[string]any{"object": "error", "message": e.text, "type": e.kind, "code": "1000"}
	case "zai":
		return map[string]any{"error": map[string]any{"code": "1210", "message": e.text}}
	case "minimax":
		if e.status == http.StatusBadRequest {
			return map[string]any{"base_resp": map[string]any{"status_code": 2013, "status_msg": e.text}}
		}
	case "xai":
		return map[string]any{"code": cmp.Or(e.code, e.kind), "error": e.text}
	case "openrouter":
		return map[string]any{"error": map[string]any{"code": e.status, "message": "Provider returned error", "metadata": map[string]any{"raw": e.text, "provider_name": "Simulator"}}}
	case "gemini":
		return []any{map[string]any{"error": map[string]any{"code": e.status, "message": e.text, "status": "INVALID_ARGUMENT"}}}
	case "dashscope":
		if e.status == http.StatusBadRequest && e.code == "" {
			code = "invalid_parameter_error"
		}
		return map[string]any{"error": map[string]any{"message": e.text, "type": e.kind, "code": code}, "request_id": id}
	}
	return map[string]any{"error": map[string]any{"message": e.text, "type": e.kind, "param": nil, "code": code}}
}

// mustJSON is v as JSON.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // built here from strings, numbers and checked JSON
	}
	return b
}
