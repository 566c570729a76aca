package aws_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/thinkd/thinkd/provider/sim"
	simaws "github.com/thinkd/thinkd/provider/sim/aws"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("internal/poll.runtime_pollWait"))
}

// A face that only checks who calls, and answers with the caller's id.
func init() {
	refusals := map[sim.Fault]sim.Error{}
	for _, f := range []sim.Fault{sim.FaultRateLimit, sim.FaultSpendCap, sim.FaultOverloaded, sim.FaultServer, sim.FaultTimeout, sim.FaultConflict, sim.FaultBadRequest,
		sim.FaultAuth, sim.FaultPermission, sim.FaultBilling, sim.FaultNotFound, sim.FaultTooLarge} {
		refusals[f] = sim.Error{Status: http.StatusBadRequest}
	}
	sim.Register(sim.Face{Name: "signed", Faults: refusals, Claim: func(r *http.Request) sim.Claim {
		if strings.HasPrefix(r.URL.Path, "/signed/") {
			return sim.OwnClaim
		}
		return sim.NoClaim
	}, Serve: func(ex *sim.Exchange) {
		body, err := io.ReadAll(ex.Request.Body)
		if err == nil {
			var caller string
			if caller, err = simaws.Authenticate(ex, body, "bedrock"); err == nil {
				ex.SendJSON(http.StatusOK, map[string]string{"caller": caller})
				return
			}
		}
		refused, ok := err.(*sim.Error)
		if !ok {
			refused = &sim.Error{Status: http.StatusInternalServerError, Text: err.Error()}
		}
		ex.SendJSON(refused.Status, map[string]string{"__type": refused.Kind, "message": refused.Text})
	}})
}
