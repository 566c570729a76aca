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
	storetest.RunLocal(t, func(t *testing.T) session.Local { return openTest(t, t.TempDir()) })
}

// operators is a store, with the methods of the operator's sessions.
type operators struct {
	*Store
	session.Sessions
}

func openStore(dir string, opt Options) (operators, error) {
	b, err := Open(dir, opt)
	if err != nil {
		return operators{}, err
	}
	return operators{b, b.For(session.Operator)}, nil
}

// openTest opens a store that is closed and checked at the end of the test.
func openTest(t testing.TB, dir string) operators {
	t.Helper()
	b, err := openStore(dir, Options{})
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

// writes has the methods of the journal, for the operator's sessions.
func (o operators) writes() writes { return writes{journal{o.Store}} }

type writes struct{ journal }

func (w writes) Append(ctx context.Context, id session.ID, entries ...session.Entry) (uint64, error) {
	return w.journal.Append(ctx, session.Ref{ID: id}, entries...)
}

func (w writes) Checkpoint(id session.ID, block session.BlockRef, from int, text string) {
	w.journal.Checkpoint(session.Ref{ID: id}, block, from, text)
}

func (w writes) Checkpoints(ctx context.Context, id session.ID) ([]session.Growth, error) {
	return w.journal.Checkpoints(ctx, session.Ref{ID: id})
}
