package ollama

import (
	"fmt"
	"net/http"

	"github.com/thinkd/thinkd/provider/sim"
)

// invalid returns the refusal of a request that breaks a rule.
func invalid(format string, args ...any) error {
	return &sim.Error{Status: http.StatusBadRequest, Text: fmt.Sprintf(format, args...)}
}

// faults are the scripted refusals in Ollama's words. In mid-stream the status is lost.
var faults = map[sim.Fault]sim.Error{
	sim.FaultRateLimit:  {Status: 429, Text: "too many requests"},
	sim.FaultSpendCap:   {Status: 429, Text: "you have reached your usage limit"},
	sim.FaultOverloaded: {Status: 503, Text: "server busy, please try again.  maximum pending requests exceeded"},
	sim.FaultServer:     {Status: 500, Text: "llama runner process has terminated: exit status 2"},
	sim.FaultTimeout:    {Status: 504, Text: "timed out waiting for llama runner to start"},
	sim.FaultConflict:   {Status: 409, Text: "conflict"},
	sim.FaultBadRequest: {Status: 400, Text: "invalid request: the simulator was asked to find it so"},
	sim.FaultAuth:       {Status: 401, Text: "unauthorized"},
	sim.FaultPermission: {Status: 403, Text: "ollama cloud is disabled"},
	sim.FaultBilling:    {Status: 402, Text: "payment required"},
	sim.FaultNotFound:   {Status: 404, Text: "model not found"},
	sim.FaultTooLarge:   {Status: 413, Text: "request body too large"},
}

func errorBody(e *sim.Error) map[string]any { return map[string]any{"error": e.Text} }
