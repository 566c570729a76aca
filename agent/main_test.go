package agent

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain halves the number of random sessions in each property test: with the race detector they take most of this
// package's time. The flag -rapid.checks still sets another number.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "50"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	goleak.VerifyTestMain(m)
}
