package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// harm is what happens to the calls of one kind on files of a data directory.
type harm struct {
	call  string
	nth   int // counted from 1, from the start of the process
	errno unix.Errno

	// lasts is for how long the calls after that one fail as well: 0: none of them, less than 0: all.
	lasts time.Duration

	half bool // pwrite64 has written half of it when it fails
}

func (h harm) String() string {
	words := fmt.Sprintf("%s %s from %d", unix.ErrnoName(h.errno), h.call, h.nth)
	switch {
	case h.half:
		return words + " half done"
	case h.lasts < 0:
		return words + " for ever"
	case h.lasts > 0:
		return words + " for a while"
	}
	return words + " once"
}

// victim is a daemon that harm comes to.
type victim struct {
	*proof.House
	harm  harm
	files string // below this

	mu      sync.Mutex
	calls   int
	first   time.Time // when the first call failed; zero: none has
	watched bool
	seen    time.Time // when the first one failed since it is watched
}

// openVictim runs a daemon whose calls the test answers. It is killed at the end of the test.
func openVictim(t testing.TB, data string, env []string, h harm) *victim {
	t.Helper()
	files, err := filepath.EvalSymlinks(data)
	if err != nil {
		t.Fatal(err)
	}
	v := &victim{harm: h, files: files + string(filepath.Separator)}
	v.House = proof.OpenAnswered(t, proof.Command(t, env, "--data", data, "daemon"), h.call, func(n proof.Call) (bool, unix.Errno) {
		if !v.harmed(n) {
			return false, 0
		}
		if v.harm.half {
			if err := writeHalf(n); err != nil {
				t.Errorf("half a write: %v", err)
			}
		}
		return true, v.harm.errno
	})
	return v
}

// harmed counts a call and says whether it is one that fails.
func (v *victim) harmed(n proof.Call) bool {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", n.PID, int32(n.Args[0])))
	if err != nil || !strings.HasPrefix(path+string(filepath.Separator), v.files) {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls++
	switch {
	case v.calls < v.harm.nth:
		return false
	case v.calls == v.harm.nth:
		v.first = time.Now()
	case v.harm.lasts >= 0 && time.Since(v.first) >= v.harm.lasts:
		return false
	}
	if v.watched && v.seen.IsZero() {
		v.seen = time.Now()
	}
	return true
}

// writeHalf does the first half of a pwrite64 in the place of who called.
func writeHalf(n proof.Call) error {
	half := make([]byte, n.Args[2]/2)
	if len(half) == 0 {
		return nil
	}
	local := unix.Iovec{Base: &half[0]}
	local.SetLen(len(half))
	if _, err := unix.ProcessVMReadv(int(n.PID), []unix.Iovec{local}, []unix.RemoteIovec{{Base: uintptr(n.Args[1]), Len: len(half)}}, 0); err != nil {
		return err
	}
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", n.PID, int32(n.Args[0])), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(half, int64(n.Args[3]))
	return errors.Join(err, f.Close())
}

// watch begins to note whether people could have seen a call fail.
func (v *victim) watch() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.watched = true
}

// hit is when calls failed: the first of all, and the first since watch. Zero: none has.
func (v *victim) hit() (first, seen time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.first, v.seen
}
