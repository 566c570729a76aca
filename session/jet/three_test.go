//go:build long

package jet_test

import (
	"testing"

	"github.com/thinkd/thinkd/provider/testgo"
)

// TestThreeServers is the contract of every store, with three servers, each of which has a replica of each stream. Elections take seconds
// of real time, while the clock of these tests jumps: on a busy machine a request could seem to have waited too long.
func TestThreeServers(t *testing.T) {
	testgo.Cost(t)
	suite(t, 3, 1)
}
