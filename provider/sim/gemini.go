package sim

import (
	"fmt"
	"net/http"
	"strings"
)

// geminiLimit is the largest body that is taken here: the vendor's 20 MB of inline data and room for the rest.
const geminiLimit = 32 << 20

// geminiInvalid is the refusal of a request that breaks a rule.
func geminiInvalid(format string, args ...any) error {
	return &Error{Status: http.StatusBadRequest, Kind: "INVALID_ARGUMENT", Text: fmt.Sprintf(format, args...)}
}

// geminiFaults is how the scripted refusals read.
var geminiFaults = map[Fault]Error{
	FaultRateLimit:  {Status: 429, Kind: "RESOURCE_EXHAUSTED", Text: "Resource has been exhausted (e.g. check quota)."},
	FaultSpendCap:   {Status: 429, Kind: "RESOURCE_EXHAUSTED", Text: "You exceeded your current quota, please check your plan and billing details."},
	FaultOverloaded: {Status: 503, Kind: "UNAVAILABLE", Text: "The model is overloaded. Please try again later."},
	FaultServer:     {Status: 500, Kind: "INTERNAL", Text: "An internal error has occurred. Please retry."},
	FaultTimeout:    {Status: 504, Kind: "DEADLINE_EXCEEDED", Text: "Deadline expired before operation could complete."},
	FaultConflict:   {Status: 409, Kind: "ABORTED", Text: "The operation was aborted."},
	FaultBadRequest: {Status: 400, Kind: "INVALID_ARGUMENT", Text: "The simulator was asked to find this request invalid"},
	FaultAuth:       {Status: 401, Kind: "UNAUTHENTICATED", Text: "Request had invalid authentication credentials."},
	FaultPermission: {Status: 403, Kind: "PERMISSION_DENIED", Text: "The caller does not have permission"},
	FaultBilling:    {Status: 402, Kind: "FAILED_PRECONDITION", Text: "Your prepaid credit is exhausted."},
	FaultNotFound:   {Status: 404, Kind: "NOT_FOUND", Text: "Requested entity was not found."},
	FaultTooLarge:   {Status: 413, Kind: "INVALID_ARGUMENT", Text: "Request payload size exceeds the limit"},
}

func init() {
	Register(Face{Name: "gemini", Faults: geminiFaults, Claim: claimGemini, Serve: serveGemini, Help: geminiHelp})
}

// claimGemini claims the paths of generateContent.
func claimGemini(r *http.Request) Claim {
	if r.URL.Path == "/v1beta/models" || strings.HasPrefix(r.URL.Path, "/v1beta/models/") {
		return PathClaim
	}
	return NoClaim
}

// geminiDialect is how Google refuses and answers: with events, or with a list where alt=sse was left out.
// [docs: troubleshooting]
func geminiDialect(ex *exchange) *Dialect {
	d := &Dialect{
		Limit: geminiLimit, StreamType: "application/json; charset=UTF-8", WholeType: "application/json; charset=UTF-8",
		Spell:  func(e *Error, f Fault) (int, string, any) { return e.Status, e.Kind, geminiErrorBody(e, f) },
		Wrong:  Error{Status: http.StatusBadRequest, Kind: "INVALID_ARGUMENT"},
		Broken: Error{Status: http.StatusInternalServerError, Kind: "INTERNAL"},
	}
	if inEvents(ex) {
		d.StreamType = "text/event-stream"
	}
	return d
}

func inEvents(ex *exchange) bool { return ex.r.URL.Query().Get("alt") == "sse" }

// serveGemini answers whatever belongs to generateContent.
func serveGemini(ex *exchange) {
	d := geminiDialect(ex)
	key, err := geminiKey(ex)
	if err != nil {
		ex.refuse(d, err)
		return
	}
	path, method := strings.TrimPrefix(ex.r.URL.Path, "/v1beta/models"), ex.r.Method
	id, verb, calls := strings.Cut(strings.TrimPrefix(path, "/"), ":")
	switch {
	case path == "" && method == http.MethodGet:
		serveGeminiModels(ex, d)
	case !calls && method == http.MethodGet:
		serveGeminiModel(ex, d, id)
	case method == http.MethodPost && (verb == "generateContent" || verb == "streamGenerateContent" || verb == "countTokens"):
		serveGenerate(ex, d, id, verb, account(key))
	default:
		ex.refuse(d, &Error{Status: http.StatusNotFound, Kind: "NOT_FOUND", Text: "Not found"})
	}
}

// geminiKey checks who calls. A wrong key is an invalid argument to this vendor. [docs: api-key]
func geminiKey(ex *exchange) (string, error) {
	r := ex.r
	key := r.Header.Get("x-goog-api-key")
	if key == "" {
		key = r.URL.Query().Get("key")
	}
	switch {
	case key == "":
		return "", &Error{Status: http.StatusForbidden, Kind: "PERMISSION_DENIED", Text: "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API."}
	case ex.wrongKey(key):
		return "", &Error{Status: http.StatusBadRequest, Kind: "INVALID_ARGUMENT", Text: "API key not valid. Please pass a valid API key."}
	}
	return key, nil
}

// serveGenerate answers the three verbs of a model.
func serveGenerate(ex *exchange, d *Dialect, id, verb, account string) {
	model := geminiModelAt(id, ex.now())
	if model == nil {
		ex.refuse(d, &Error{Status: http.StatusNotFound, Kind: "NOT_FOUND", Text: "models/" + id + " is not found for API version v1beta, or is not supported for generateContent."})
		return
	}
	call, ok := Check(ex, d, func(body []byte) (*geminiCall, error) {
		v, err := decode(body)
		if err != nil {
			return nil, geminiInvalid("Invalid JSON payload received. %s", err)
		}
		call := &geminiCall{model: model, sealer: ex.sealer()}
		return call, call.read(v)
	})
	if !ok {
		return
	}
	if verb == "countTokens" {
		ex.sendJSON(http.StatusOK, map[string]any{"totalTokens": call.tokens})
		return
	}
	ex.answer(d, Generation{Ask: &call.ask, Account: account, Stream: verb == "streamGenerateContent",
		Takes: func(marked Answer) error {
			if marked.Stop == "pause_turn" && !model.continues {
				return fmt.Errorf("sim: %s does not pause", model.id)
			}
			return nil
		},
		Reply: func(a Answer) Reply { return call.reply(ex.sealer(), a).sent(inEvents(ex)) },
	})
}

// geminiErrorBody is an error's object. What to wait for stands in its details, not in a header.
func geminiErrorBody(e *Error, fault Fault) map[string]any {
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
	return map[string]any{"error": map[string]any{"code": e.Status, "status": e.Kind, "message": e.Text, "details": details}}
}
