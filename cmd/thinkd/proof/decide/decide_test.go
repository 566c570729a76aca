package decide

import (
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// TestDecide runs web/test/decide/*.test.mjs: what a user decides on the page. These are approvals, what a turn may cost, which model
// answers, and what the model gets.
func TestDecide(t *testing.T) {
	t.Parallel()
	proof.Stories(t, "decide")
}
