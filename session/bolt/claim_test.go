package bolt

import (
	"testing"

	"go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/storetest"
)

// The epochs of a process are higher than those of every process before that stored something, however often a session was claimed
// there. A claim alone writes nothing. A new session begins at 0.
func TestEpochsRiseOverStarts(t *testing.T) {
	dir, id := t.TempDir(), storetest.ID(1)
	epoch := uint64(0)
	for start, claims := range []int{1, 0, 3, 200, 0, 1, 64, 65, 1} {
		s, err := openStore(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if start == 0 {
			storetest.Create(t, s, session.Session{ID: id})
		}
		before := reserved(t, s)
		for i := range claims {
			log := storetest.Claim(t, s, id)
			if first := start == 0 && i == 0; !first && log.Epoch() <= epoch {
				t.Fatalf("start %d: epoch %d follows %d", start, log.Epoch(), epoch)
			}
			epoch = log.Epoch()
			if claimed := reserved(t, s); i == 0 && claimed != before {
				t.Errorf("start %d: a claim wrote %d", start, claimed)
			}
			storetest.AddTo(t, log, session.Entry{Body: session.Setting{}})
		}
		fresh := storetest.ID(2 + start)
		storetest.Create(t, s, session.Session{ID: fresh})
		if first := storetest.Claim(t, s, fresh).Epoch(); first != 0 {
			t.Errorf("start %d: a new session begins at epoch %d", start, first)
		}
		after := reserved(t, s)
		if claims == 0 && after != before || claims > 0 && (after <= epoch || after > epoch+2*epochBlock) {
			t.Errorf("start %d: epochs up to %d are reserved, %d before, and %d was the last", start, after, before, epoch)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func reserved(t *testing.T, s operators) (epoch uint64) {
	t.Helper()
	if err := s.view(func(tx *bbolt.Tx) error { epoch = readEpoch(tx); return nil }); err != nil {
		t.Fatal(err)
	}
	return epoch
}
