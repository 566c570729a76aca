package sim

import (
	"fmt"
	"net/http"
	"strings"
)

// ollamaLimit is the largest body that is taken here.
const ollamaLimit = 64 << 20

// ollamaWindow is what a model gets where nobody asks for more, on a machine with little memory. [docs: context-length]
const ollamaWindow = 4096

func ollamaInvalid(format string, args ...any) error {
	return &Error{Status: http.StatusBadRequest, Text: fmt.Sprintf(format, args...)}
}

// ollamaFaults is how the scripted refusals read. In mid-stream the status is lost.
var ollamaFaults = map[Fault]Error{
	FaultRateLimit:  {Status: 429, Text: "too many requests"},
	FaultSpendCap:   {Status: 429, Text: "you have reached your usage limit"},
	FaultOverloaded: {Status: 503, Text: "server busy, please try again.  maximum pending requests exceeded"},
	FaultServer:     {Status: 500, Text: "llama runner process has terminated: exit status 2"},
	FaultTimeout:    {Status: 504, Text: "timed out waiting for llama runner to start"},
	FaultConflict:   {Status: 409, Text: "conflict"},
	FaultBadRequest: {Status: 400, Text: "invalid request: the simulator was asked to find it so"},
	FaultAuth:       {Status: 401, Text: "unauthorized"},
	FaultPermission: {Status: 403, Text: "ollama cloud is disabled"},
	FaultBilling:    {Status: 402, Text: "payment required"},
	FaultNotFound:   {Status: 404, Text: "model not found"},
	FaultTooLarge:   {Status: 413, Text: "request body too large"},
}

func init() {
	Register(Face{Name: "ollama", Faults: ollamaFaults, Claim: claimOllama, Serve: serveOllama, Help: ollamaHelp})
}

// claimOllama claims the paths of Ollama's own API.
func claimOllama(r *http.Request) Claim {
	if strings.HasPrefix(r.URL.Path, "/api/") {
		return PathClaim
	}
	return NoClaim
}

// ollamaDialect is how Ollama refuses, with a text, and answers, with one object a line.
var ollamaDialect = Dialect{
	Limit: ollamaLimit, StreamType: "application/x-ndjson", WholeType: "application/json; charset=utf-8",
	Spell:  func(e *Error, _ Fault) (int, string, any) { return e.Status, "error", ollamaErrorBody(e) },
	Wrong:  Error{Status: http.StatusBadRequest},
	Broken: Error{Status: http.StatusInternalServerError},
}

func ollamaErrorBody(e *Error) map[string]any { return map[string]any{"error": e.Text} }

// serveOllama answers whatever belongs to Ollama's own API. No key is asked for, unless the server has one.
func serveOllama(ex *exchange) {
	d := &ollamaDialect
	key := strings.TrimPrefix(ex.r.Header.Get("Authorization"), "Bearer ")
	if ex.wrongKey(key) {
		ex.refuse(d, &Error{Status: http.StatusUnauthorized, Text: "unauthorized"})
		return
	}
	switch ex.r.Method + " " + ex.r.URL.Path {
	case "POST /api/chat":
		serveOllamaChat(ex, d, account(key))
	case "GET /api/tags":
		serveTags(ex)
	case "POST /api/show":
		serveShow(ex, d)
	case "GET /api/ps":
		ex.sendJSON(http.StatusOK, map[string]any{"models": []any{}})
	case "GET /api/version":
		ex.sendJSON(http.StatusOK, map[string]any{"version": "0.30.0"})
	default:
		ex.refuse(d, &Error{Status: http.StatusNotFound, Text: "404 page not found"})
	}
}

// serveOllamaChat answers POST /api/chat.
func serveOllamaChat(ex *exchange, d *Dialect, account string) {
	call, ok := Check(ex, d, func(body []byte) (*ollamaCall, error) {
		call := &ollamaCall{}
		return call, call.read(body)
	})
	if !ok {
		return
	}
	ex.answer(d, Generation{Ask: &call.ask, Account: account, Stream: call.stream,
		Takes: func(marked Answer) error {
			if marked.Stop != "" && marked.Stop != "max_tokens" {
				return fmt.Errorf("sim: this API knows no %s", marked.Stop)
			}
			return nil
		},
		Reply: func(a Answer) Reply { return call.reply(a).sent() },
	})
}
