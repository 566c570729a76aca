package connect

import (
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// TestConnect runs web/test/connect/*.test.mjs: how a user signs in, and what happens when the page loses the connection or the daemon
// loses the provider.
func TestConnect(t *testing.T) {
	t.Parallel()
	proof.Stories(t, "connect")
}
