package talk

import (
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// TestTalk runs web/test/talk/*.test.mjs: what a user does within a conversation on the page.
func TestTalk(t *testing.T) {
	t.Parallel()
	proof.Stories(t, "talk")
}
