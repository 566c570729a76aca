package daemon

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
)

const (
	logName = "thinkd.log"
	maxLog  = 1 << 20 // bytes; there is one predecessor of the same size
)

// logFile is the daemon's log: it is created with the first record, and starts again when it is full. It is safe for
// concurrent use. Only the holder of the data directory's lock has something to write.
type logFile struct {
	path string

	mu      sync.Mutex
	f       *os.File
	size    int64
	crashes bool // the runtime writes here too
}

func (l *logFile) Write(record []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f != nil && l.size+int64(len(record)) > maxLog {
		if err := l.beginLocked(); err != nil {
			return 0, err
		}
	}
	if err := l.openLocked(); err != nil {
		return 0, err
	}
	n, err := l.f.Write(record)
	l.size += int64(n)
	return n, err
}

// takeCrashes lets the runtime write here what it has to say when this process crashes: standard error is nowhere.
func (l *logFile) takeCrashes() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.crashes = true
	if l.openLocked() == nil {
		l.sendCrashesLocked()
	}
}

func (l *logFile) sendCrashesLocked() {
	if err := debug.SetCrashOutput(l.f, debug.CrashOptions{}); err != nil {
		fmt.Fprintf(l.f, "crashes will not be logged: %v\n", err)
	}
}

// openLocked makes f the present log.
func (l *logFile) openLocked() error {
	if l.f != nil {
		return nil
	}
	if info, err := os.Lstat(l.path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file; links are not followed", l.path)
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err = errors.Join(err, f.Chmod(0o600)); err != nil {
		return errors.Join(err, f.Close())
	}
	l.f, l.size = f, size
	if l.crashes {
		l.sendCrashesLocked()
	}
	return nil
}

// beginLocked puts the full log aside, over the one before.
func (l *logFile) beginLocked() error {
	err := l.f.Close()
	l.f = nil
	return errors.Join(err, os.Rename(l.path, l.path+".1"))
}

// Close is for the end of the process: nothing is written after it.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	return l.f.Close()
}
