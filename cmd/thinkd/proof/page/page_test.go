package page

import (
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// TestPage runs web/test/*.test.mjs: a first visit, how a user finds sessions, and what the page withstands.
func TestPage(t *testing.T) {
	t.Parallel()
	proof.Stories(t, "")
}
