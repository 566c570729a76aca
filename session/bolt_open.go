package session

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/thinkd/thinkd/provider/durable"
)

// OpenBolt opens the store of a data directory, or makes one where there never was one. It answers *LockedError when
// another process has the directory, ErrDamaged with what to do when the file is damaged, lost or another one than the
// mark says, ErrNewer when a newer build wrote it. In all these cases the file has not been touched.
func OpenBolt(dir string, opt BoltOptions) (*Bolt, error) {
	if err := durable.MakeDir(dir); err != nil {
		return nil, err
	}
	lock, err := lockFile(filepath.Join(dir, lockName), makeIfMissing)
	if err != nil {
		return nil, err
	}
	b := &Bolt{
		path: filepath.Join(dir, fileName), opt: opt, lock: lock,
		growth: make(map[ID]map[blockKey]*growing),
		due:    time.NewTimer(checkpointDelay),
		work:   make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	b.due.Stop()
	if err := b.start(dir); err != nil {
		return nil, errors.Join(err, unlockFile(lock))
	}
	go b.write() // Close stops it and waits
	return b, nil
}

func (b *Bolt) start(dir string) error {
	m, err := readMark(dir)
	if err != nil {
		return err
	}
	if err := prepare(dir, m); err != nil {
		return err
	}
	b.store = m.store
	inv, err := b.openFile(walkRecords, readWrite)
	if err == nil && inv.format < formatVersion {
		inv, err = b.upgrade(inv.format)
	}
	if err != nil {
		return err
	}
	b.store, b.damaged, b.writer.tx = inv.store, inv.damaged, inv.tx
	if !inv.whole {
		b.vetted = make(map[ID]bool)
	}
	if m.store != inv.store {
		if err := writeMark(dir, inv.store); err != nil {
			return errors.Join(err, b.closeFile())
		}
	}
	return nil
}

// Close writes what waits and closes the store; every later call is ErrClosed.
func (b *Bolt) Close() error {
	b.mu.Lock()
	if errors.Is(b.ended, ErrClosed) {
		b.mu.Unlock()
		return ErrClosed
	}
	b.refusal, b.ended = ErrClosed, ErrClosed
	b.mu.Unlock()
	close(b.stop)
	<-b.done
	return errors.Join(b.closeFile(), unlockFile(b.lock))
}
