package page

import (
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// TestPage runs web/test/*.test.mjs: how a user comes to the page, finds sessions, loses the connection, and what the page withstands.
func TestPage(t *testing.T) {
	t.Parallel()
	proof.Stories(t, "")
}
