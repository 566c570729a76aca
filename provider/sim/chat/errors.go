package chat

import (
	"fmt"
	"net/http"

	"github.com/thinkd/thinkd/provider/sim"
)

// invalid returns the refusal of a request that breaks a rule.
func invalid(format string, args ...any) error {
	return &sim.Error{Status: http.StatusBadRequest, Kind: "invalid_request_error", Text: fmt.Sprintf(format, args...)}
}

// faults are the scripted refusals in the words of most hosts. [docs: error codes of the hosts]
var faults = map[sim.Fault]sim.Error{
	sim.FaultRateLimit:  {Status: 429, Kind: "rate_limit_error", Code: "rate_limit_exceeded", Text: "Rate limit reached"},
	sim.FaultSpendCap:   {Status: 429, Kind: "rate_limit_error", Code: "rate_limit_exceeded", Text: "You have reached your usage limit"},
	sim.FaultOverloaded: {Status: 503, Kind: "overloaded_error", Code: "overloaded_error", Text: "The server is overloaded"},
	sim.FaultServer:     {Status: 500, Kind: "server_error", Text: "Internal server error"},
	sim.FaultTimeout:    {Status: 504, Kind: "server_error", Text: "Request timed out"},
	sim.FaultConflict:   {Status: 409, Kind: "conflict_error", Text: "The request conflicts with another one"},
	sim.FaultBadRequest: {Status: 400, Kind: "invalid_request_error", Text: "The simulator was configured to refuse this request"},
	sim.FaultAuth:       {Status: 401, Kind: "authentication_error", Code: "invalid_api_key", Text: "Incorrect API key provided"},
	sim.FaultPermission: {Status: 403, Kind: "permission_error", Text: "Your key has no permission for this model"},
	sim.FaultBilling:    {Status: 402, Kind: "billing_error", Code: "insufficient_quota", Text: "Insufficient balance"},
	sim.FaultNotFound:   {Status: 404, Kind: "not_found_error", Code: "model_not_found", Text: "Not found"},
	sim.FaultTooLarge:   {Status: 413, Kind: "invalid_request_error", Text: "Request exceeds the maximum size"},
}
