package durable

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// LockedError says that another process has a directory.
type LockedError struct {
	PID int // 0: unknown
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("the data directory is in use by %s; talk to that one, stop it, or choose another data directory", e.Who())
}

// Who names the other process.
func (e *LockedError) Who() string {
	if e.PID == 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d", e.PID)
}

// Lock is a lock file. Only one process can hold it.
type Lock struct{ f *os.File }

// TakeLock takes the lock of a file, or returns *LockedError at once. Free gives it back, and so does the end of the process, however it comes. With create the
// file is made if it is missing, and gets the number of this process. It stays: to remove it would let two processes hold one lock each.
func TakeLock(path string, create bool) (*Lock, error) {
	flag := os.O_RDONLY
	if create {
		flag = os.O_RDWR | os.O_CREATE
	}
	f, err := Open(path, flag)
	if err != nil {
		return nil, err
	}
	locked, err := tryLock(f)
	if err == nil && !locked {
		err = &LockedError{holder(f)}
	}
	if err == nil && create {
		err = sign(f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &Lock{f}, nil
}

// Free gives the lock back. To close the file is not enough: a process that is being started by another goroutine has a copy of the descriptor until it
// runs its program.
func (l *Lock) Free() error { return errors.Join(unlock(l.f), l.f.Close()) }

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
