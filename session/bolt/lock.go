package bolt

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/thinkd/thinkd/provider/durable"
)

// LockedError says that another process has the data directory.
type LockedError struct {
	PID int // 0: unknown
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("the data directory is in use by %s; talk to that one, stop it, or choose another data directory", who)
}

type lockMode int

const (
	makeIfMissing lockMode = iota
	onlyIfThere
)

// lockFile takes the lock or answers *LockedError at once. unlockFile gives it back, and so does the end of the
// process, however it comes. The file stays: to remove it would let two processes hold one lock each.
func lockFile(path string, mode lockMode) (*os.File, error) {
	flag := os.O_RDWR | os.O_CREATE
	if mode == onlyIfThere {
		flag = os.O_RDONLY
	}
	f, err := durable.Open(path, flag)
	if err != nil {
		return nil, err
	}
	locked, err := tryLock(f)
	if err == nil && !locked {
		err = &LockedError{holder(f)}
	}
	if err == nil && mode == makeIfMissing {
		err = sign(f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Lock takes a data directory without a store in it, until unlock is called or the process ends. Errors: *LockedError.
func Lock(dir string) (unlock func() error, err error) {
	if err := durable.MakeDir(dir); err != nil {
		return nil, err
	}
	lock, err := lockFile(filepath.Join(dir, lockName), makeIfMissing)
	if err != nil {
		return nil, err
	}
	return func() error { return unlockFile(lock) }, nil
}

// Owner is the process that has the store of a data directory open; 0: none has, or it is unknown.
func Owner(dir string) (pid int) {
	lock, err := lockFile(filepath.Join(dir, lockName), onlyIfThere)
	if locked, ok := errors.AsType[*LockedError](err); ok {
		return locked.PID
	}
	if err == nil {
		unlockFile(lock) // closing it is enough
	}
	return 0
}

// unlockFile gives the lock back. To close the file is not enough: a process that is being started by another goroutine
// has a copy of the descriptor until it runs its program.
func unlockFile(f *os.File) error { return errors.Join(unlock(f), f.Close()) }

// sign writes our process id for the next one's message.
func sign(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// holder is the process id in a lock file, 0 if there is none: its holder may be about to write it.
func holder(f *os.File) int {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}
