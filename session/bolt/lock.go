package bolt

import (
	"errors"
	"path/filepath"

	"github.com/thinkd/thinkd/provider/durable"
)

// LockedError says that another process has the data directory.
type LockedError = durable.LockedError

// Lock takes a data directory without a store in it, until unlock is called or the process ends. Errors: *LockedError.
func Lock(dir string) (unlock func() error, err error) {
	if err := durable.MakeDir(dir); err != nil {
		return nil, err
	}
	lock, err := durable.TakeLock(filepath.Join(dir, lockName), true)
	if err != nil {
		return nil, err
	}
	return lock.Free, nil
}

// Owner is the process that has the store of a data directory open; 0: none has, or it is unknown.
func Owner(dir string) (pid int) {
	lock, err := durable.TakeLock(filepath.Join(dir, lockName), false)
	if locked, ok := errors.AsType[*LockedError](err); ok {
		return locked.PID
	}
	if err == nil {
		lock.Free() // closing it is enough
	}
	return 0
}
