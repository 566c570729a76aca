package cohere

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// invalid returns the refusal of a request that breaks a rule.
func invalid(format string, args ...any) error {
	return &sim.Error{Status: http.StatusBadRequest, Text: fmt.Sprintf(format, args...)}
}

// tooLong is the code of a refusal of a conversation that does not fit.
const tooLong = "TOO_MANY_TOKENS"

// reword returns the refusal of a member that nobody knows.
func reword(err error) *sim.Error {
	e, ok := err.(*strict.Error)
	if !ok {
		return nil
	}
	path, found := strings.CutSuffix(e.Text, ": Extra inputs are not permitted")
	if !found {
		return nil
	}
	return &sim.Error{Status: http.StatusUnprocessableEntity,
		Text: fmt.Sprintf("unknown field: parameter '%s' is not a valid field. For proper usage, please refer to https://docs.cohere.com/reference/chat", path[strings.LastIndexByte(path, '.')+1:])}
}

// faults are the scripted refusals in Cohere's words. [docs: reference/errors]
var faults = map[sim.Fault]sim.Error{
	sim.FaultRateLimit:  {Status: 429, Text: "You are past the per minute request limit, please wait and try again later."},
	sim.FaultSpendCap:   {Status: 429, Text: "You are using a Trial key, which is limited to 1000 API calls / month. You can continue to use the Trial key for free or upgrade to a Production key with higher rate limits at 'https://dashboard.cohere.com/api-keys'."},
	sim.FaultOverloaded: {Status: 503, Text: "service temporarily unavailable"},
	sim.FaultServer:     {Status: 500, Text: "internal server error, this has been reported to our developers"},
	sim.FaultTimeout:    {Status: 504, Text: "the request timed out"},
	sim.FaultConflict:   {Status: 409, Text: "conflict"},
	sim.FaultBadRequest: {Status: 400, Text: "invalid request: the simulator was asked to find it so"},
	sim.FaultAuth:       {Status: 401, Text: "Incorrect API key provided. You can find your API key at https://dashboard.cohere.com/api-keys."},
	sim.FaultPermission: {Status: 403, Text: "your organization does not have access to this model"},
	sim.FaultBilling:    {Status: 402, Text: "Please add or update your payment method at https://dashboard.cohere.com/billing?tab=payment to continue"},
	sim.FaultNotFound:   {Status: 404, Text: "model 'xyz' not found, make sure the correct model ID was used and that you have access to the model."},
	sim.FaultTooLarge:   {Status: 400, Code: tooLong, Text: "too many tokens: size limit exceeded by 25836 tokens. Try using shorter or fewer inputs. The limit for this model is 288000 tokens."},
}
