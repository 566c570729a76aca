package responses

import (
	"fmt"
	"net/http"

	"github.com/thinkd/thinkd/provider/sim"
)

// unfit returns the refusal of a request that breaks a rule.
func unfit(param, code, format string, args ...any) error {
	return &sim.Error{Status: http.StatusBadRequest, Kind: "invalid_request_error", Code: code, Param: param, Text: fmt.Sprintf(format, args...)}
}

// unsupported returns the refusal of a parameter that the model does not have.
func unsupported(param, model string) error {
	return unfit(param, "unsupported_parameter", "Unsupported parameter: '%s' is not supported with this model.", param)
}

// faults are the scripted refusals in OpenAI's words.
var faults = map[sim.Fault]sim.Error{
	sim.FaultRateLimit:  {Status: 429, Kind: "tokens", Code: "rate_limit_exceeded", Text: "Rate limit reached for this model. Please try again in 1s."},
	sim.FaultSpendCap:   {Status: 429, Kind: "requests", Code: "slow_down", Text: "You have reached your usage limit for now."},
	sim.FaultOverloaded: {Status: 503, Kind: "service_unavailable_error", Code: "server_is_overloaded", Text: "Our servers are currently overloaded. Please try again later."},
	sim.FaultServer:     {Status: 500, Kind: "server_error", Code: "server_error", Text: "The server had an error while processing your request."},
	sim.FaultTimeout:    {Status: 408, Kind: "server_error", Code: "timeout", Text: "Request timed out."},
	sim.FaultConflict:   {Status: 409, Kind: "invalid_request_error", Code: "conflict", Text: "The request conflicts with another one."},
	sim.FaultBadRequest: {Status: 400, Kind: "invalid_request_error", Code: "invalid_value", Text: "The simulator was configured to refuse this request."},
	sim.FaultAuth:       {Status: 401, Kind: "invalid_request_error", Code: "invalid_api_key", Text: "Incorrect API key provided."},
	sim.FaultPermission: {Status: 403, Kind: "invalid_request_error", Code: "unsupported_country_region_territory", Text: "Country, region, or territory not supported."},
	sim.FaultBilling:    {Status: 429, Kind: "insufficient_quota", Code: "insufficient_quota", Text: "You exceeded your current quota, please check your plan and billing details."},
	sim.FaultNotFound:   {Status: 404, Kind: "invalid_request_error", Code: "model_not_found", Text: "The model does not exist or you do not have access to it."},
	sim.FaultTooLarge:   {Status: 400, Kind: "invalid_request_error", Code: "context_length_exceeded", Param: "input", Text: "Your input exceeds the context window of this model."},
}

// errorObject returns a refusal in OpenAI's form. [docs: error-codes]
func errorObject(e *sim.Error) map[string]any {
	null := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return map[string]any{"message": e.Text, "type": e.Kind, "param": null(e.Param), "code": null(e.Code)}
}

// unresolved returns the refusal of an id instead of an item: this server stores no items.
func unresolved(id string) error {
	return &sim.Error{Status: 404, Kind: "invalid_request_error", Param: "input", Text: fmt.Sprintf("Item with id '%s' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", id)}
}
