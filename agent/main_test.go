package agent

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/thinkd/thinkd/provider/testgo"
)

// TestMain leads 15 random sessions in each property test instead of rapid's 100. With the race detector these tests take most of
// the package's time, and on a busy machine they once brought it close to the limit of go test. The flag -rapid.checks sets another
// number.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "15"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	testgo.OneProcessor()
	goleak.VerifyTestMain(m)
}
