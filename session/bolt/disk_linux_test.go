package bolt

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/storetest"
)

func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("needs: root, to mount a small disk: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	// Something else fills half of the disk, and goes away.
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	states, looked := make(chan error, 10), make(chan struct{})
	b, err := openStore(dir, Options{OnState: func(readOnly bool, why error) { states <- why }, testLooked: looked})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Create(t, b, session.Session{ID: storetest.ID(1)})
	if err := fillUp(b, states, looked, 1, func() error { return os.Remove(ballast) }); err != nil {
		t.Error(err)
	}
}

// TestFailingDisk has the store's descriptor replaced by one that cannot be written: each commit fails at once, for a
// reason that has nothing to do with room. Opened again the file is sound.
func TestFailingDisk(t *testing.T) {
	t.Parallel()
	states, looked := make(chan error, 10), make(chan struct{})
	b, err := openStore(t.TempDir(), Options{OnState: func(readOnly bool, why error) { states <- why }, testLooked: looked})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	id := storetest.ID(1)
	storetest.Create(t, b, session.Session{ID: id})
	fail := func() { failWrites(t, b) }
	storetest.Add(t, b, id, storetest.Said(storetest.TurnA, "x"))
	fail()
	if last := storetest.Add(t, b, id, storetest.Started(storetest.TurnA)); last != 2 { // the second attempt succeeds
		t.Errorf("at %d, want 2", last)
	}
	select {
	case why := <-states:
		t.Errorf("one failure that could be repaired was reported: %v", why)
	default:
	}
	fail()
	_, err = b.writes().Append(t.Context(), id, storetest.Ended(storetest.TurnA))
	storetest.WantErr(t, "append on a disk that fails again", err, session.ErrReadOnly)
	storetest.WantErr(t, "its cause", err, unix.EBADF)
	storetest.WantErr(t, "state", <-states, session.ErrReadOnly)
	storetest.Equal(t, "what was acknowledged", storetest.Entries(t, b, id), []session.Entry{storetest.Said(storetest.TurnA, "x"), storetest.Started(storetest.TurnA)})
	<-looked // the store could have mended itself
	_, err = b.writes().Append(t.Context(), id, storetest.Ended(storetest.TurnA))
	storetest.WantErr(t, "append later", err, session.ErrReadOnly)
}

// failWrites puts one that cannot be written in the place of the store's descriptor, until the file is opened again.
func failWrites(t *testing.T, b operators) {
	t.Helper()
	f, err := os.Open(b.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b.dbMu.RLock()
	defer b.dbMu.RUnlock()
	if err := unix.Dup3(int(f.Fd()), int(b.file.Fd()), unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
}

// heldChange is a change that is made when the test says so.
type heldChange struct {
	*appendChange
	begun, goOn chan struct{}
}

func (c heldChange) apply(tx *bbolt.Tx) error {
	close(c.begun)
	<-c.goOn
	return c.appendChange.apply(tx)
}

// TestToldBeforeMending has a disk that fails for the second time, and a reader that keeps the file from being opened again:
// meanwhile people know, what waited and what comes is refused, and only the write that failed is left open.
func TestToldBeforeMending(t *testing.T) {
	t.Parallel()
	states := make(chan error, 10)
	b, err := openStore(t.TempDir(), Options{OnState: func(readOnly bool, why error) { states <- why }})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	id := storetest.ID(1)
	storetest.Create(t, b, session.Session{ID: id})
	failWrites(t, b)
	storetest.Add(t, b, id, storetest.Said(storetest.TurnA, "x"))
	failWrites(t, b)
	values, err := session.EncodeEntries([]session.Entry{storetest.Started(storetest.TurnA)})
	if err != nil {
		t.Fatal(err)
	}
	held := heldChange{&appendChange{id: rowKey(id), entries: []session.Entry{storetest.Started(storetest.TurnA)}, values: values}, make(chan struct{}), make(chan struct{})}
	tried, waited := make(chan error, 1), make(chan error, 1)
	testgo.Go(t, func() { tried <- b.submit(t.Context(), held) }) // both end with the store at the latest
	<-held.begun
	testgo.Go(t, func() {
		_, err := b.writes().Append(t.Context(), id, storetest.Ended(storetest.TurnA))
		waited <- err
	})
	for queued := 0; queued == 0; runtime.Gosched() {
		b.mu.Lock()
		queued = len(b.queue)
		b.mu.Unlock()
	}
	soon := func(said <-chan error) error {
		select {
		case err := <-said:
			return err
		case <-time.After(time.Minute): // a bound for failures
			return nil
		}
	}
	b.dbMu.RLock()
	close(held.goOn)
	storetest.WantErr(t, "state", soon(states), session.ErrReadOnly)
	storetest.WantErr(t, "what waited", soon(waited), session.ErrReadOnly)
	if t.Failed() {
		b.dbMu.RUnlock()
		return
	}
	_, err = b.writes().Append(t.Context(), id, storetest.Ended(storetest.TurnA))
	storetest.WantErr(t, "what comes", err, session.ErrReadOnly)
	select {
	case err := <-tried:
		t.Errorf("what failed was answered before the file was read: %v", err)
	default:
	}
	b.dbMu.RUnlock()
	storetest.WantErr(t, "what failed", <-tried, session.ErrReadOnly)
	storetest.Equal(t, "what was acknowledged", storetest.Entries(t, b, id), []session.Entry{storetest.Said(storetest.TurnA, "x")})
	select {
	case why := <-states:
		t.Errorf("reported again: %v", why)
	default:
	}
}

// TestMendedLarge has one failure in a store whose records are not walked again for it. It is mended all the same, and a
// record that was damaged meanwhile is noticed by who reads it.
func TestMendedLarge(t *testing.T) {
	t.Parallel()
	states := make(chan error, 10)
	b, err := openStore(t.TempDir(), Options{testSmall: -1, OnState: func(readOnly bool, why error) { states <- why }})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	id, other := storetest.ID(1), storetest.ID(2)
	storetest.Create(t, b, session.Session{ID: id})
	storetest.Create(t, b, session.Session{ID: other, Title: "to be damaged"})
	file, err := os.ReadFile(b.path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(b.path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for at, title := 0, []byte("to be damaged"); ; at++ {
		next := bytes.Index(file[at:], title)
		if next < 0 {
			break
		}
		at += next
		if _, err := f.WriteAt([]byte("T"), int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	failWrites(t, b)
	if last := storetest.Add(t, b, id, storetest.Said(storetest.TurnA, "x")); last != 1 {
		t.Errorf("at %d, want 1", last)
	}
	select {
	case why := <-states:
		t.Errorf("one failure that could be repaired was reported: %v", why)
	default:
	}
	storetest.Equal(t, "what was acknowledged", storetest.Entries(t, b, id), []session.Entry{storetest.Said(storetest.TurnA, "x")})
	_, err = b.Get(t.Context(), other)
	storetest.WantErr(t, "the damaged one", err, session.ErrDamaged)
}

func TestReadOnlyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := openStore(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Create(t, b, session.Session{ID: storetest.ID(1)})
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("needs: root, to mount a disk read-only: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	if err := unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skipf("needs: root, to mount a disk read-only: %v", err)
	}
	if b, err := openStore(dir, Options{}); !errors.Is(err, unix.EROFS) {
		if err == nil {
			b.Close()
		}
		t.Errorf("open on a read-only disk: %v", err)
	}
	if report, err := CheckFile(t.Context(), filepath.Join(dir, fileName)); err != nil || report.Sessions != 1 {
		t.Errorf("check on a read-only disk: %+v, %v", report, err)
	}
}
