package bolt

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/storetest"
)

func TestMain(m *testing.M) {
	if childMain() {
		return
	}
	goleak.VerifyTestMain(m)
}

func TestBolt(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) session.Store { return openTest(t, t.TempDir()) })
}

// openTest opens a store that is closed and checked at the end of the test.
func openTest(t testing.TB, dir string) *Store {
	t.Helper()
	b, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil && !errors.Is(err, session.ErrClosed) {
			t.Errorf("close: %v", err)
		}
		report, err := CheckFile(context.Background(), b.path)
		if err != nil || len(report.Damaged) != 0 {
			t.Errorf("check at the end: %v, damaged %v", err, report.Damaged)
		}
	})
	return b
}
