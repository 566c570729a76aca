package gemini

import (
	"fmt"
	"net/http"

	"github.com/thinkd/thinkd/provider/sim"
)

// invalid returns the refusal of a request that breaks a rule.
func invalid(format string, args ...any) error {
	return &sim.Error{Status: http.StatusBadRequest, Kind: "INVALID_ARGUMENT", Text: fmt.Sprintf(format, args...)}
}

// faults are the scripted refusals in Google's words.
var faults = map[sim.Fault]sim.Error{
	sim.FaultRateLimit:  {Status: 429, Kind: "RESOURCE_EXHAUSTED", Text: "Resource has been exhausted (e.g. check quota)."},
	sim.FaultSpendCap:   {Status: 429, Kind: "RESOURCE_EXHAUSTED", Text: "You exceeded your current quota, please check your plan and billing details."},
	sim.FaultOverloaded: {Status: 503, Kind: "UNAVAILABLE", Text: "The model is overloaded. Please try again later."},
	sim.FaultServer:     {Status: 500, Kind: "INTERNAL", Text: "An internal error has occurred. Please retry."},
	sim.FaultTimeout:    {Status: 504, Kind: "DEADLINE_EXCEEDED", Text: "Deadline expired before operation could complete."},
	sim.FaultConflict:   {Status: 409, Kind: "ABORTED", Text: "The operation was aborted."},
	sim.FaultBadRequest: {Status: 400, Kind: "INVALID_ARGUMENT", Text: "The simulator was configured to refuse this request"},
	sim.FaultAuth:       {Status: 401, Kind: "UNAUTHENTICATED", Text: "Request had invalid authentication credentials."},
	sim.FaultPermission: {Status: 403, Kind: "PERMISSION_DENIED", Text: "The caller does not have permission"},
	sim.FaultBilling:    {Status: 402, Kind: "FAILED_PRECONDITION", Text: "Your prepaid credit is exhausted."},
	sim.FaultNotFound:   {Status: 404, Kind: "NOT_FOUND", Text: "Requested entity was not found."},
	sim.FaultTooLarge:   {Status: 413, Kind: "INVALID_ARGUMENT", Text: "Request payload size exceeds the limit"},
}

// errorBody returns the object of an error. The time to wait is in its details, not in a header.
func errorBody(e *sim.Error, fault sim.Fault) map[string]any {
	details := []any{}
	switch fault {
	case sim.FaultRateLimit:
		details = append(details,
			map[string]any{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []any{map[string]any{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}}},
			map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.5s"})
	case sim.FaultSpendCap:
		details = append(details,
			map[string]any{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []any{map[string]any{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}}})
	}
	return map[string]any{"error": map[string]any{"code": e.Status, "status": e.Kind, "message": e.Text, "details": details}}
}
