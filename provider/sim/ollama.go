package sim

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// ollamaLimit is the largest body that is taken here.
const ollamaLimit = 64 << 20

// ollamaWindow is what a model gets where nobody asks for more, on a machine with little memory. [docs: context-length]
const ollamaWindow = 4096

// ollamaError is a refusal as Ollama tells it: a text.
type ollamaError struct {
	status int
	text   string
}

func (e *ollamaError) Error() string { return e.text }

func ollamaInvalid(format string, args ...any) error {
	return &ollamaError{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// ollamaFaults is how the scripted refusals read. In mid-stream the status is lost.
var ollamaFaults = map[Fault]ollamaError{
	FaultRateLimit:  {429, "too many requests"},
	FaultSpendCap:   {429, "you have reached your usage limit"},
	FaultOverloaded: {503, "server busy, please try again.  maximum pending requests exceeded"},
	FaultServer:     {500, "llama runner process has terminated: exit status 2"},
	FaultTimeout:    {504, "timed out waiting for llama runner to start"},
	FaultConflict:   {409, "conflict"},
	FaultBadRequest: {400, "invalid request: the simulator was asked to find it so"},
	FaultAuth:       {401, "unauthorized"},
	FaultPermission: {403, "ollama cloud is disabled"},
	FaultBilling:    {402, "payment required"},
	FaultNotFound:   {404, "model not found"},
	FaultTooLarge:   {413, "request body too large"},
}

// isOllama reports whether a path belongs to Ollama's own API.
func isOllama(path string) bool { return strings.HasPrefix(path, "/api/") }

// serveOllama answers whatever belongs to Ollama's own API. No key is asked for, unless the server has one.
func (s *Server) serveOllama(ex *exchange) {
	key := strings.TrimPrefix(ex.r.Header.Get("Authorization"), "Bearer ")
	if s.config.Key != "" && key != s.config.Key {
		ex.refuseOllama(&ollamaError{http.StatusUnauthorized, "unauthorized"})
		return
	}
	switch ex.r.Method + " " + ex.r.URL.Path {
	case "POST /api/chat":
		ex.serveChat(account(key))
	case "GET /api/tags":
		ex.serveTags()
	case "POST /api/show":
		ex.serveShow()
	case "GET /api/ps":
		ex.sendJSON(http.StatusOK, map[string]any{"models": []any{}})
	case "GET /api/version":
		ex.sendJSON(http.StatusOK, map[string]any{"version": "0.30.0"})
	default:
		ex.refuseOllama(&ollamaError{http.StatusNotFound, "404 page not found"})
	}
}

// serveChat answers POST /api/chat.
func (ex *exchange) serveChat(account string) {
	call, err := ex.readOllama()
	if err != nil {
		ex.refuseOllama(err)
		return
	}
	marked, prompt, err := marker(call.ask.prompt)
	if err == nil && marked.Stop != "" && marked.Stop != "max_tokens" {
		err = ollamaInvalid("sim: this API knows no %s", marked.Stop)
	}
	if err != nil {
		ex.refuseOllama(ollamaInvalid("%s", err))
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
		e := ollamaFaults[a.Fault]
		ex.sendJSON(e.status, e.body())
		return
	}
	if a.Fault == FaultJSON {
		e := ollamaFaults[FaultServer]
		ex.sendJSON(http.StatusOK, e.body())
		return
	}
	if a.Fault == FaultGzip {
		defer ex.zipped(p)()
	}
	reply := call.reply(a)
	if call.stream && a.Fault != FaultWhole {
		ex.streamOllama(reply, p)
	} else {
		ex.wholeOllama(reply, p)
	}
}

// readOllama reads and checks a request.
func (ex *exchange) readOllama() (*ollamaCall, error) {
	body, err := ex.body(ollamaLimit)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		e := ollamaFaults[FaultTooLarge]
		return nil, &e
	}
	if err != nil {
		return nil, ollamaInvalid("%s", err)
	}
	call := &ollamaCall{}
	return call, call.read(body)
}

// refuseOllama answers with a refusal of the server's own.
func (ex *exchange) refuseOllama(err error) {
	e, ok := errors.AsType[*ollamaError](err)
	if !ok {
		e = &ollamaError{http.StatusInternalServerError, err.Error()}
	}
	ex.refused(e.status, "error", e.text)
	ex.sendJSON(e.status, e.body())
}

func (e *ollamaError) body() map[string]any { return map[string]any{"error": e.text} }
