package messages

import (
	"fmt"
	"net/http"

	"github.com/thinkd/thinkd/provider/sim"
)

// invalid returns the refusal of a request that breaks a rule.
func invalid(format string, args ...any) error {
	return &sim.Error{Status: http.StatusBadRequest, Kind: "invalid_request_error", Text: fmt.Sprintf(format, args...)}
}

// bodyLimit is the largest body that the API accepts, in bytes. [docs: API overview]
const bodyLimit = 32 << 20

// newDialect returns the form of Anthropic's refusals and answers. [docs: errors]
func newDialect(ex *sim.Exchange) *sim.Dialect {
	return &sim.Dialect{
		Limit: bodyLimit, RetryAfter: true, NoCache: true, StreamType: "text/event-stream; charset=utf-8",
		Spell: func(e *sim.Error, _ sim.Fault) (int, string, any) {
			return e.Status, e.Kind, map[string]any{"type": "error", "error": errorObject(e), "request_id": ex.ID}
		},
		Wrong:  sim.Error{Status: http.StatusBadRequest, Kind: "invalid_request_error"},
		Broken: sim.Error{Status: http.StatusInternalServerError, Kind: "api_error"},
	}
}

// faults are the scripted refusals in Anthropic's words.
var faults = map[sim.Fault]sim.Error{
	sim.FaultRateLimit:  {Status: 429, Kind: "rate_limit_error", Text: "This request would exceed your account's rate limit. Please try again later."},
	sim.FaultSpendCap:   {Status: 429, Kind: "rate_limit_error", Text: "You have reached your specified API usage limits."},
	sim.FaultOverloaded: {Status: 529, Kind: "overloaded_error", Text: "Overloaded"},
	sim.FaultServer:     {Status: 500, Kind: "api_error", Text: "Internal server error"},
	sim.FaultTimeout:    {Status: 504, Kind: "timeout_error", Text: "Request timed out"},
	sim.FaultConflict:   {Status: 409, Kind: "conflict_error", Text: "The request conflicts with another one"},
	sim.FaultBadRequest: {Status: 400, Kind: "invalid_request_error", Text: "The simulator was configured to refuse this request"},
	sim.FaultAuth:       {Status: 401, Kind: "authentication_error", Text: "invalid x-api-key"},
	sim.FaultPermission: {Status: 403, Kind: "permission_error", Text: "Your API key does not have permission to use the specified resource"},
	sim.FaultBilling:    {Status: 402, Kind: "billing_error", Text: "Your credit balance is too low to access the API"},
	sim.FaultNotFound:   {Status: 404, Kind: "not_found_error", Text: "Not found"},
	sim.FaultTooLarge:   {Status: 413, Kind: "request_too_large", Text: "Request exceeds the maximum size"},
}

func errorObject(e *sim.Error) map[string]any {
	return map[string]any{"type": e.Kind, "message": e.Text}
}
