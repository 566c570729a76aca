package cohere

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// obj and arr write JSON by hand.
type (
	obj = map[string]any
	arr = []any
)
