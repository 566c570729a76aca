package faces_test

import (
	"testing"

	"go.uber.org/goleak"

	_ "github.com/thinkd/thinkd/provider/sim/faces"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// obj and arr write JSON by hand.
type (
	obj = map[string]any
	arr = []any
)
