package chat

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// bodyLimit is the largest body that is taken.
const bodyLimit = 32 << 20

func invalid(format string, args ...any) error {
	return &sim.Error{Status: http.StatusBadRequest, Kind: "invalid_request_error", Text: fmt.Sprintf(format, args...)}
}

// faults is how the scripted refusals read. [docs: error codes of the hosts]
var faults = map[sim.Fault]sim.Error{
	sim.FaultRateLimit:  {Status: 429, Kind: "rate_limit_error", Code: "rate_limit_exceeded", Text: "Rate limit reached"},
	sim.FaultSpendCap:   {Status: 429, Kind: "rate_limit_error", Code: "rate_limit_exceeded", Text: "You have reached your usage limit"},
	sim.FaultOverloaded: {Status: 503, Kind: "overloaded_error", Code: "overloaded_error", Text: "The server is overloaded"},
	sim.FaultServer:     {Status: 500, Kind: "server_error", Text: "Internal server error"},
	sim.FaultTimeout:    {Status: 504, Kind: "server_error", Text: "Request timed out"},
	sim.FaultConflict:   {Status: 409, Kind: "conflict_error", Text: "The request conflicts with another one"},
	sim.FaultBadRequest: {Status: 400, Kind: "invalid_request_error", Text: "The simulator was asked to find this request invalid"},
	sim.FaultAuth:       {Status: 401, Kind: "authentication_error", Code: "invalid_api_key", Text: "Incorrect API key provided"},
	sim.FaultPermission: {Status: 403, Kind: "permission_error", Text: "Your key has no permission for this model"},
	sim.FaultBilling:    {Status: 402, Kind: "billing_error", Code: "insufficient_quota", Text: "Insufficient balance"},
	sim.FaultNotFound:   {Status: 404, Kind: "not_found_error", Code: "model_not_found", Text: "Not found"},
	sim.FaultTooLarge:   {Status: 413, Kind: "invalid_request_error", Text: "Request exceeds the maximum size"},
}

func init() {
	sim.Register(sim.Face{Name: "chat", Faults: faults, Claim: claim, Serve: serve, Help: help})
}

// claim claims what lies below the name of a host, and Chat Completions without one.
func claim(r *http.Request) sim.Claim {
	if host, _ := hostFor(r); host != nil {
		return sim.PathClaim
	}
	return sim.NoClaim
}

// newDialect is how a host refuses and answers.
func newDialect(ex *sim.Exchange, host *hostRules) *sim.Dialect {
	return &sim.Dialect{
		Limit: bodyLimit, RetryAfter: true, StreamType: "text/event-stream; charset=utf-8",
		Spell: func(e *sim.Error, _ sim.Fault) (int, string, any) {
			status := e.Status
			if host.errors == "minimax" && status == http.StatusBadRequest {
				status = http.StatusOK // the error is in the body
			}
			return status, cmp.Or(e.Code, e.Kind), host.errorBody(e, ex.ID)
		},
		Wrong:  sim.Error{Status: http.StatusBadRequest, Kind: "invalid_request_error"},
		Broken: sim.Error{Status: http.StatusInternalServerError, Kind: "server_error"},
	}
}

// hostFor tells which host a path belongs to: its name is the first step, and what a client adds to its base URL is
// the rest. Without a name the header X-Sim-Dialect says it, and without that it is OpenAI.
func hostFor(r *http.Request) (host *hostRules, rest string) {
	path := r.URL.Path
	for i := range hosts {
		if after, ok := strings.CutPrefix(path, "/"+hosts[i].name+"/"); ok {
			return &hosts[i], "/" + strings.TrimPrefix(after, "v1/")
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
	i := slices.IndexFunc(hosts, func(h hostRules) bool { return h.name == name })
	if i < 0 {
		return nil, ""
	}
	return &hosts[i], rest
}

// serve answers whatever belongs to a host of Chat Completions.
func serve(ex *sim.Exchange) {
	host, path := hostFor(ex.Request)
	d := newDialect(ex, host)
	ex.Header().Set("x-request-id", ex.ID)
	key, err := checkKey(ex, host)
	switch {
	case err != nil:
		ex.Refuse(d, err)
	case path == "/chat/completions" && ex.Request.Method == http.MethodPost:
		serveCompletion(ex, d, host, sim.Account(key))
	case path == "/models" && ex.Request.Method == http.MethodGet:
		ex.SendJSON(http.StatusOK, map[string]any{"object": "list", "data": host.listing(ex)})
	case ex.Request.Method == http.MethodGet && host.native(path) != nil:
		ex.SendJSON(http.StatusOK, host.native(path))
	case path == "/chat/completions" || path == "/models":
		ex.Refuse(d, &sim.Error{Status: http.StatusMethodNotAllowed, Kind: "invalid_request_error", Text: "Method not allowed"})
	default:
		ex.Refuse(d, &sim.Error{Status: http.StatusNotFound, Kind: "not_found_error", Text: "Not found"})
	}
}

func checkKey(ex *sim.Exchange, host *hostRules) (string, error) {
	key, ok := strings.CutPrefix(ex.Request.Header.Get("Authorization"), "Bearer ")
	switch {
	case !ok && host.local:
		return "", nil
	case !ok || key == "":
		return "", &sim.Error{Status: http.StatusUnauthorized, Kind: "authentication_error", Code: "invalid_api_key", Text: "Missing Authentication header"}
	case ex.WrongKey(key):
		return "", &sim.Error{Status: http.StatusUnauthorized, Kind: "authentication_error", Code: "invalid_api_key", Text: "Incorrect API key provided"}
	}
	return key, nil
}

// serveCompletion answers POST /chat/completions.
func serveCompletion(ex *sim.Exchange, d *sim.Dialect, host *hostRules, account string) {
	call, ok := sim.Check(ex, d, func(body []byte) (*call, error) {
		v, err := strict.Decode(body)
		if err != nil {
			return nil, invalid("We could not parse the JSON body of your request: %s", err)
		}
		call := &call{host: host, account: account, header: ex.Request.Header}
		return call, call.read(v, ex.Sealer())
	})
	if !ok {
		return
	}
	ex.Answer(d, sim.Generation{Ask: &call.ask, Account: account, Stream: call.stream, Reply: func(a sim.Answer) sim.Reply {
		return call.reply(ex.Sealer(), a).sent(ex.ID)
	}})
}

// errorBody is an error in the host's own form.
func (h *hostRules) errorBody(e *sim.Error, id string) any {
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
