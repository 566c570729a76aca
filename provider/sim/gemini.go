package sim

import (
	"errors"
	"net/http"
	"strings"
)

// geminiLimit is the largest body that is taken here: the vendor's 20 MB of inline data and room for the rest.
const geminiLimit = 32 << 20

// geminiError is a refusal as Google tells it. [docs: troubleshooting]
type geminiError struct {
	code   int
	status string
	text   string
}

func (e *geminiError) Error() string { return e.text }

// geminiFaults is how the scripted refusals read.
var geminiFaults = map[Fault]geminiError{
	FaultRateLimit:  {429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."},
	FaultSpendCap:   {429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details."},
	FaultOverloaded: {503, "UNAVAILABLE", "The model is overloaded. Please try again later."},
	FaultServer:     {500, "INTERNAL", "An internal error has occurred. Please retry."},
	FaultTimeout:    {504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete."},
	FaultConflict:   {409, "ABORTED", "The operation was aborted."},
	FaultBadRequest: {400, "INVALID_ARGUMENT", "The simulator was asked to find this request invalid"},
	FaultAuth:       {401, "UNAUTHENTICATED", "Request had invalid authentication credentials."},
	FaultPermission: {403, "PERMISSION_DENIED", "The caller does not have permission"},
	FaultBilling:    {402, "FAILED_PRECONDITION", "Your prepaid credit is exhausted."},
	FaultNotFound:   {404, "NOT_FOUND", "Requested entity was not found."},
	FaultTooLarge:   {413, "INVALID_ARGUMENT", "Request payload size exceeds the limit"},
}

// isGemini reports whether a path belongs to generateContent.
func isGemini(path string) bool {
	return path == "/v1beta/models" || strings.HasPrefix(path, "/v1beta/models/")
}

// serveGemini answers whatever belongs to generateContent.
func (s *Server) serveGemini(ex *exchange) {
	key, err := s.geminiKey(ex.r)
	if err != nil {
		ex.refuseGemini(err)
		return
	}
	path, method := strings.TrimPrefix(ex.r.URL.Path, "/v1beta/models"), ex.r.Method
	id, verb, calls := strings.Cut(strings.TrimPrefix(path, "/"), ":")
	switch {
	case path == "" && method == http.MethodGet:
		ex.serveGeminiModels()
	case !calls && method == http.MethodGet:
		ex.serveGeminiModel(id)
	case method != http.MethodPost:
		ex.refuseGemini(&geminiError{http.StatusNotFound, "NOT_FOUND", "Not found"})
	case verb == "generateContent" || verb == "streamGenerateContent" || verb == "countTokens":
		ex.serveGenerate(id, verb, account(key))
	default:
		ex.refuseGemini(&geminiError{http.StatusNotFound, "NOT_FOUND", "Not found"})
	}
}

// geminiKey checks who calls. A wrong key is an invalid argument to this vendor. [docs: api-key]
func (s *Server) geminiKey(r *http.Request) (string, error) {
	key := r.Header.Get("x-goog-api-key")
	if key == "" {
		key = r.URL.Query().Get("key")
	}
	switch {
	case key == "":
		return "", &geminiError{http.StatusForbidden, "PERMISSION_DENIED", "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API."}
	case s.config.Key != "" && key != s.config.Key:
		return "", &geminiError{http.StatusBadRequest, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."}
	}
	return key, nil
}

// serveGenerate answers the three verbs of a model.
func (ex *exchange) serveGenerate(id, verb, account string) {
	call, err := ex.readGemini(id)
	if err != nil {
		ex.refuseGemini(err)
		return
	}
	if verb == "countTokens" {
		ex.sendJSON(http.StatusOK, map[string]any{"totalTokens": call.tokens})
		return
	}
	marked, prompt, err := marker(call.ask.prompt)
	if err == nil && marked.Stop == "pause_turn" && !call.model.continues {
		err = invalid("sim: %s does not pause", call.model.id)
	}
	if err != nil {
		ex.refuseGemini(invalid("%s", err))
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
	stream := verb == "streamGenerateContent"
	if a.Fault.refuses() && (a.After == nil || !stream) {
		e := geminiFaults[a.Fault]
		ex.sendJSON(e.code, e.body(a.Fault))
		return
	}
	if a.Fault == FaultJSON {
		e := geminiFaults[FaultServer]
		ex.sendJSON(http.StatusOK, e.body(""))
		return
	}
	if a.Fault == FaultGzip {
		defer ex.zipped(p)()
	}
	reply := call.reply(ex.server.sealer, a)
	if stream && a.Fault != FaultWhole {
		ex.streamGemini(reply, p, ex.r.URL.Query().Get("alt") == "sse")
	} else {
		ex.wholeGemini(reply, p)
	}
}

// readGemini reads and checks a request.
func (ex *exchange) readGemini(id string) (*geminiCall, error) {
	call := &geminiCall{model: geminiModelAt(id, ex.server.config.Now()), sealer: ex.server.sealer}
	if call.model == nil {
		return nil, &geminiError{http.StatusNotFound, "NOT_FOUND", "models/" + id + " is not found for API version v1beta, or is not supported for generateContent."}
	}
	body, err := ex.body(geminiLimit)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		e := geminiFaults[FaultTooLarge]
		return nil, &e
	}
	if err != nil {
		return nil, invalid("The request body could not be read: %s", err)
	}
	v, err := decode(body)
	if err != nil {
		return nil, invalid("Invalid JSON payload received. %s", err)
	}
	return call, call.read(v)
}

// refuseGemini answers with a refusal of the server's own.
func (ex *exchange) refuseGemini(err error) {
	e, ok := errors.AsType[*geminiError](err)
	if m, other := errors.AsType[*messagesError](err); other {
		e, ok = &geminiError{m.status, "INVALID_ARGUMENT", m.text}, true // fields speak so
	}
	if !ok {
		e = &geminiError{http.StatusInternalServerError, "INTERNAL", err.Error()}
	}
	ex.refused(e.code, e.status, e.text)
	ex.sendJSON(e.code, e.body(""))
}

// body is an error's object. What to wait for stands in its details, not in a header.
func (e *geminiError) body(fault Fault) map[string]any {
	details := []any{}
	switch fault {
	case FaultRateLimit:
		details = append(details,
			map[string]any{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []any{map[string]any{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}}},
			map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.5s"})
	case FaultSpendCap:
		details = append(details,
			map[string]any{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []any{map[string]any{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}}})
	}
	return map[string]any{"error": map[string]any{"code": e.code, "status": e.status, "message": e.text, "details": details}}
}
