package converse

import (
	"fmt"
	"net/http"

	"github.com/thinkd/thinkd/provider/sim"
)

// invalid returns the refusal of a request that breaks a rule.
func invalid(format string, args ...any) error {
	return &sim.Error{Status: http.StatusBadRequest, Kind: "ValidationException", Text: fmt.Sprintf(format, args...)}
}

// returned is a refusal of the model's own host, which the API wraps.
func returned(format string, args ...any) error {
	return invalid("The model returned the following errors: "+format, args...)
}

// faults are the scripted refusals in Amazon's words.
var faults = map[sim.Fault]sim.Error{
	sim.FaultRateLimit:  {Status: 429, Kind: "ThrottlingException", Text: "Too many tokens, please wait before trying again."},
	sim.FaultSpendCap:   {Status: 429, Kind: "ThrottlingException", Text: "Too many tokens per day, please wait before trying again."},
	sim.FaultOverloaded: {Status: 503, Kind: "ServiceUnavailableException", Text: "Bedrock is unable to process your request."},
	sim.FaultServer:     {Status: 500, Kind: "InternalServerException", Text: "The system encountered an unexpected error during processing. Try your request again."},
	sim.FaultTimeout:    {Status: 408, Kind: "ModelTimeoutException", Text: "Model has timed out in processing the request. Try your request again."},
	sim.FaultConflict:   {Status: 424, Kind: "ModelErrorException", Text: "The system encountered an unexpected error during processing. Try your request again."},
	sim.FaultBadRequest: {Status: 400, Kind: "ValidationException", Text: "The simulator was configured to refuse this request"},
	sim.FaultAuth:       {Status: 403, Kind: "UnrecognizedClientException", Text: "The security token included in the request is invalid."},
	sim.FaultPermission: {Status: 403, Kind: "AccessDeniedException", Text: "You don't have access to the model with the specified model ID."},
	sim.FaultBilling:    {Status: 400, Kind: "ServiceQuotaExceededException", Text: "Your request exceeds the service quota for your account."},
	sim.FaultNotFound:   {Status: 404, Kind: "ResourceNotFoundException", Text: "The provided model identifier is not found."},
	sim.FaultTooLarge:   {Status: 400, Kind: "ValidationException", Text: "Input is too long for requested model."},
}
