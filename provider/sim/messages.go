package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// messagesLimit is the largest body that the API takes. [docs: API overview]
const messagesLimit = 32 << 20

// messagesError is a refusal as Anthropic tells it. [docs: errors]
type messagesError struct {
	status int
	kind   string
	text   string
}

func (e *messagesError) Error() string { return e.text }

// invalid is the refusal of a request that breaks a rule.
func invalid(format string, args ...any) error {
	return &messagesError{http.StatusBadRequest, "invalid_request_error", fmt.Sprintf(format, args...)}
}

// messagesFaults is how the scripted refusals read.
var messagesFaults = map[Fault]messagesError{
	FaultRateLimit:  {429, "rate_limit_error", "This request would exceed your account's rate limit. Please try again later."},
	FaultSpendCap:   {429, "rate_limit_error", "You have reached your specified API usage limits."},
	FaultOverloaded: {529, "overloaded_error", "Overloaded"},
	FaultServer:     {500, "api_error", "Internal server error"},
	FaultTimeout:    {504, "timeout_error", "Request timed out"},
	FaultConflict:   {409, "conflict_error", "The request conflicts with another one"},
	FaultBadRequest: {400, "invalid_request_error", "The simulator was asked to find this request invalid"},
	FaultAuth:       {401, "authentication_error", "invalid x-api-key"},
	FaultPermission: {403, "permission_error", "Your API key does not have permission to use the specified resource"},
	FaultBilling:    {402, "billing_error", "Your credit balance is too low to access the API"},
	FaultNotFound:   {404, "not_found_error", "Not found"},
	FaultTooLarge:   {413, "request_too_large", "Request exceeds the maximum size"},
}

// serveMessages answers whatever belongs to the Messages API.
func (s *Server) serveMessages(ex *exchange) {
	ex.w.Header().Set("request-id", ex.id)
	key, err := s.messagesKey(ex.r)
	if err != nil {
		ex.refuseMessages(err)
		return
	}
	ex.w.Header().Set("anthropic-organization-id", account(key))
	path, method := ex.r.URL.Path, ex.r.Method
	id, isModel := strings.CutPrefix(path, "/v1/models/")
	switch {
	case path == "/v1/messages" && method == http.MethodPost:
		ex.serveCreate(account(key))
	case path == "/v1/messages/count_tokens" && method == http.MethodPost:
		ex.serveCount(account(key))
	case path == "/v1/models" && method == http.MethodGet:
		ex.serveMessagesModels()
	case isModel && method == http.MethodGet:
		ex.serveMessagesModel(id)
	case path == "/v1/messages" || path == "/v1/messages/count_tokens" || path == "/v1/models" || isModel:
		ex.refuseMessages(&messagesError{http.StatusMethodNotAllowed, "invalid_request_error", "Method Not Allowed"})
	default:
		ex.refuseMessages(&messagesError{http.StatusNotFound, "not_found_error", "Not found"})
	}
}

// messagesKey checks the headers that every request needs. A bearer token stands for a key where its beta is named,
// and never beside one. [docs: API overview]
func (s *Server) messagesKey(r *http.Request) (string, error) {
	denied := func(text string) error { return &messagesError{http.StatusUnauthorized, "authentication_error", text} }
	key := r.Header.Get("x-api-key")
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		switch {
		case key != "":
			return "", denied("x-api-key and Authorization: Bearer are never sent together")
		case !newBetas(r.Header)["oauth-2025-04-20"]:
			return "", denied("OAuth authentication needs the beta oauth-2025-04-20")
		}
		key = bearer
	}
	switch {
	case key == "":
		return "", denied("x-api-key header is required")
	case s.config.Key != "" && key != s.config.Key:
		return "", denied("invalid x-api-key")
	}
	switch version := r.Header.Get("anthropic-version"); version {
	case "2023-06-01":
		return key, nil
	case "":
		return "", invalid("anthropic-version: header is required")
	default:
		return "", invalid("anthropic-version: %q is not a valid version", version)
	}
}

// betas are the beta features that a request names.
type betas map[string]bool

func newBetas(h http.Header) betas {
	b := betas{}
	for _, line := range h.Values("anthropic-beta") {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.TrimSpace(name); name != "" {
				b[name] = true
			}
		}
	}
	return b
}

const (
	betaInterleaved = "interleaved-thinking-2025-05-14"
	betaBinding     = "thinking-binding-controls-2026-08-01"
	betaTurnEffort  = "mid-conversation-output-config-2026-07-01"
	betaTokenCount  = "thinking-token-count-2026-05-13"
	betaUpdates     = "thinking-display-updates-2026-08-18"
)

// betasKnown is every name that the API takes, as far as its documentation lists them. One more is a typing error
// until proven otherwise, and is refused. [docs: api/beta-headers]
var betasKnown = []string{
	betaInterleaved, betaBinding, betaTurnEffort, betaTokenCount, betaUpdates,
	"oauth-2025-04-20", betaEdits, betaCompact, betaCompactLater,
	"server-side-fallback-2026-06-01", "server-side-fallback-2026-07-01",
	"mid-conversation-system-clear-at-2026-08-21", "mid-conversation-tool-changes-2026-07-01",
	"inline-tools-2026-09-15", "task-budgets-2026-03-13", "fast-mode-2026-02-01", "fallback-credit-2026-06-01",
	"output-300k-2026-03-24", "dev-full-thinking-2025-05-14",
	// Older ones, by now without effect.
	"prompt-caching-2024-07-31", "extended-cache-ttl-2025-04-11", "token-efficient-tools-2025-02-19",
	"output-128k-2025-02-19", "context-1m-2025-08-07", "fine-grained-tool-streaming-2025-05-14",
	"effort-2025-11-24", "structured-outputs-2025-11-13", "files-api-2025-04-14", "mcp-client-2025-11-20",
}

func (b betas) check() error {
	for name := range b {
		if !slices.Contains(betasKnown, name) {
			return invalid("Unexpected value(s) `%s` for the `anthropic-beta` header.", name)
		}
	}
	return nil
}

// serveCount answers count_tokens: the checks of create, then the number.
func (ex *exchange) serveCount(account string) {
	call, err := ex.readCall(account, true)
	if err != nil {
		ex.refuseMessages(err)
		return
	}
	ex.sendJSON(http.StatusOK, map[string]any{"input_tokens": call.tokens})
}

// serveCreate answers POST /v1/messages.
func (ex *exchange) serveCreate(account string) {
	call, err := ex.readCall(account, false)
	if err != nil {
		ex.refuseMessages(err)
		return
	}
	marked, prompt, err := marker(call.ask.prompt)
	if err != nil {
		ex.refuseMessages(invalid("%s", err))
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
		e := messagesFaults[a.Fault]
		if a.Fault == FaultRateLimit && ex.w.Header().Get("Retry-After") == "" {
			ex.w.Header().Set("Retry-After", "1")
		}
		ex.sendJSON(e.status, ex.errorBody(&e))
		return
	}
	if a.Fault == FaultJSON {
		ex.sendJSON(http.StatusOK, ex.errorBody(&messagesError{0, "api_error", "Internal server error"}))
		return
	}
	if a.Fault == FaultGzip {
		defer ex.zipped(p)()
	}
	call.cached = ex.server.cache.marked(call.prompt, call.model.cacheable()).of(call.tokens)
	reply := call.reply(ex.server.sealer, a)
	if call.stream && a.Fault != FaultWhole {
		ex.streamReply(reply, p)
	} else {
		ex.wholeReply(reply, p)
	}
}

// readCall reads and checks a request.
func (ex *exchange) readCall(account string, count bool) (*messagesCall, error) {
	b, copilot := newBetas(ex.r.Header), copilotMessages(ex.r)
	if copilot {
		if err := b.copilot(); err != nil {
			return nil, err
		}
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	body, err := ex.body(messagesLimit)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, &messagesError{http.StatusRequestEntityTooLarge, "request_too_large", "Request exceeds the maximum size"}
	}
	if err != nil {
		return nil, invalid("The request body could not be read: %s", err)
	}
	v, err := decode(body)
	if err != nil {
		return nil, invalid("The request body is not valid JSON: %s", err)
	}
	call := &messagesCall{
		betas: b, count: count, account: account,
		user: ex.r.Header.Get("anthropic-user-profile-id"), copilot: copilot,
	}
	if err := call.read(v, ex.server.sealer); err != nil {
		return nil, err
	}
	if copilot && call.pictured() && ex.r.Header.Get("Copilot-Vision-Request") != "true" {
		return nil, invalid("missing required Copilot-Vision-Request header for vision requests")
	}
	call.prompt = call.prefixes(v)
	return call, nil
}

// refuseMessages answers with a refusal of the server's own.
func (ex *exchange) refuseMessages(err error) {
	e, ok := errors.AsType[*messagesError](err)
	if !ok {
		e = &messagesError{http.StatusInternalServerError, "api_error", err.Error()}
	}
	ex.refused(e.status, e.kind, e.text)
	ex.sendJSON(e.status, ex.errorBody(e))
}

func (ex *exchange) errorBody(e *messagesError) map[string]any {
	return map[string]any{
		"type":       "error",
		"error":      map[string]any{"type": e.kind, "message": e.text},
		"request_id": ex.id,
	}
}

func (ex *exchange) sendJSON(status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // built here from strings, numbers and checked JSON
	}
	ex.w.Header().Set("Content-Type", "application/json")
	ex.w.WriteHeader(status)
	ex.w.Write(b) // a client that has gone needs no answer
}
