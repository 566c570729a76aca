// Package conformance tests the conformance suite: the daemon passes each check, and for each check there is a faulty server that does not.
package conformance

import (
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

func TestMain(m *testing.M) { proof.Main(m) }
