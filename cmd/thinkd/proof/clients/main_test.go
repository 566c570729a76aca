// Package clients tests the client libraries: each example of each library against the program.
package clients

import (
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

func TestMain(m *testing.M) { proof.Main(m) }
