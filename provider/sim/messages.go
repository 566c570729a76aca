package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// messagesLimit is the largest body that the API takes. [docs: API overview]
const messagesLimit = 32 << 20

// messagesInvalid is the refusal of a request that breaks a rule.
func messagesInvalid(format string, args ...any) error {
	return &Error{Status: http.StatusBadRequest, Kind: "invalid_request_error", Text: fmt.Sprintf(format, args...)}
}

// messagesFaults is how the scripted refusals read.
var messagesFaults = map[Fault]Error{
	FaultRateLimit:  {Status: 429, Kind: "rate_limit_error", Text: "This request would exceed your account's rate limit. Please try again later."},
	FaultSpendCap:   {Status: 429, Kind: "rate_limit_error", Text: "You have reached your specified API usage limits."},
	FaultOverloaded: {Status: 529, Kind: "overloaded_error", Text: "Overloaded"},
	FaultServer:     {Status: 500, Kind: "api_error", Text: "Internal server error"},
	FaultTimeout:    {Status: 504, Kind: "timeout_error", Text: "Request timed out"},
	FaultConflict:   {Status: 409, Kind: "conflict_error", Text: "The request conflicts with another one"},
	FaultBadRequest: {Status: 400, Kind: "invalid_request_error", Text: "The simulator was asked to find this request invalid"},
	FaultAuth:       {Status: 401, Kind: "authentication_error", Text: "invalid x-api-key"},
	FaultPermission: {Status: 403, Kind: "permission_error", Text: "Your API key does not have permission to use the specified resource"},
	FaultBilling:    {Status: 402, Kind: "billing_error", Text: "Your credit balance is too low to access the API"},
	FaultNotFound:   {Status: 404, Kind: "not_found_error", Text: "Not found"},
	FaultTooLarge:   {Status: 413, Kind: "request_too_large", Text: "Request exceeds the maximum size"},
}

func init() {
	Register(Face{Name: "messages", Faults: messagesFaults, Claim: claimMessages, Serve: serveMessages, Help: messagesHelp, Listed: copilotListing})
}

// claimMessages claims what Copilot's clients send here, and every path that no other API knows.
func claimMessages(r *http.Request) Claim {
	if copilotMessages(r) {
		return OwnClaim
	}
	return LastClaim
}

// messagesDialect is how Anthropic refuses and answers. [docs: errors]
func messagesDialect(ex *exchange) *Dialect {
	return &Dialect{
		Limit: messagesLimit, RetryAfter: true, NoCache: true, StreamType: "text/event-stream; charset=utf-8",
		Spell: func(e *Error, _ Fault) (int, string, any) {
			return e.Status, e.Kind, map[string]any{"type": "error", "error": messagesErrorObject(e), "request_id": ex.id}
		},
		Wrong:  Error{Status: http.StatusBadRequest, Kind: "invalid_request_error"},
		Broken: Error{Status: http.StatusInternalServerError, Kind: "api_error"},
	}
}

func messagesErrorObject(e *Error) map[string]any {
	return map[string]any{"type": e.Kind, "message": e.Text}
}

// serveMessages answers whatever belongs to the Messages API.
func serveMessages(ex *exchange) {
	d := messagesDialect(ex)
	if copilotMessages(ex.r) {
		serveCopilotMessages(ex, d)
		return
	}
	ex.header().Set("request-id", ex.id)
	key, err := messagesKey(ex)
	if err != nil {
		ex.refuse(d, err)
		return
	}
	ex.header().Set("anthropic-organization-id", account(key))
	path, method := ex.r.URL.Path, ex.r.Method
	id, isModel := strings.CutPrefix(path, "/v1/models/")
	switch {
	case path == "/v1/messages" && method == http.MethodPost:
		serveCreate(ex, d, account(key))
	case path == "/v1/messages/count_tokens" && method == http.MethodPost:
		serveCount(ex, d, account(key))
	case path == "/v1/models" && method == http.MethodGet:
		serveMessagesModels(ex, d)
	case isModel && method == http.MethodGet:
		serveMessagesModel(ex, d, id)
	case path == "/v1/messages" || path == "/v1/messages/count_tokens" || path == "/v1/models" || isModel:
		ex.refuse(d, &Error{Status: http.StatusMethodNotAllowed, Kind: "invalid_request_error", Text: "Method Not Allowed"})
	default:
		ex.refuse(d, &Error{Status: http.StatusNotFound, Kind: "not_found_error", Text: "Not found"})
	}
}

// messagesKey checks the headers that every request needs. A bearer token stands for a key where its beta is named,
// and never beside one. [docs: API overview]
func messagesKey(ex *exchange) (string, error) {
	r := ex.r
	denied := func(text string) error {
		return &Error{Status: http.StatusUnauthorized, Kind: "authentication_error", Text: text}
	}
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
	case ex.wrongKey(key):
		return "", denied("invalid x-api-key")
	}
	switch version := r.Header.Get("anthropic-version"); version {
	case "2023-06-01":
		return key, nil
	case "":
		return "", messagesInvalid("anthropic-version: header is required")
	default:
		return "", messagesInvalid("anthropic-version: %q is not a valid version", version)
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
			return messagesInvalid("Unexpected value(s) `%s` for the `anthropic-beta` header.", name)
		}
	}
	return nil
}

// serveCount answers count_tokens: the checks of create, then the number.
func serveCount(ex *exchange, d *Dialect, account string) {
	if call, ok := readCall(ex, d, account, true); ok {
		ex.sendJSON(http.StatusOK, map[string]any{"input_tokens": call.tokens})
	}
}

// serveCreate answers POST /v1/messages.
func serveCreate(ex *exchange, d *Dialect, account string) {
	call, ok := readCall(ex, d, account, false)
	if !ok {
		return
	}
	ex.answer(d, Generation{Ask: &call.ask, Account: account, Stream: call.stream, Reply: func(a Answer) Reply {
		call.cached = ex.cache().marked(call.prompt, call.model.cacheable()).of(call.tokens)
		return call.reply(ex.sealer(), a).sent()
	}})
}

// readCall reads and checks a request; false: it is answered.
func readCall(ex *exchange, d *Dialect, account string, count bool) (*messagesCall, bool) {
	b, copilot := newBetas(ex.r.Header), copilotMessages(ex.r)
	var err error
	if copilot {
		err = b.copilot()
	}
	if err == nil {
		err = b.check()
	}
	if err != nil {
		ex.refuse(d, err)
		return nil, false
	}
	return Check(ex, d, func(body []byte) (*messagesCall, error) {
		v, err := decode(body)
		if err != nil {
			return nil, messagesInvalid("The request body is not valid JSON: %s", err)
		}
		call := &messagesCall{
			betas: b, count: count, account: account,
			user: ex.r.Header.Get("anthropic-user-profile-id"), copilot: copilot,
		}
		if err := call.read(v, ex.sealer()); err != nil {
			return nil, err
		}
		if copilot && call.pictured() && ex.r.Header.Get("Copilot-Vision-Request") != "true" {
			return nil, messagesInvalid("missing required Copilot-Vision-Request header for vision requests")
		}
		call.prompt = call.prefixes(v)
		return call, nil
	})
}
