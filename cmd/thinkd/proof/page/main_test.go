package page

import (
	"flag"
	"os"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

func TestMain(m *testing.M) {
	// A story is a chain of processes that wait for each other, so that as many stories as processors would leave these idle.
	if err := flag.Set("test.parallel", "4"); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	proof.Main(m)
}
