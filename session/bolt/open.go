package bolt

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/session"
)

// Open opens the store of a data directory, or makes one where there never was one. Close ends it.
//
// It returns *LockedError if another process has the directory, ErrDamaged with what to do if the file is damaged, lost, or not
// the one of the mark, and ErrNewer if a newer build wrote it. In all these cases the file has not been touched.
func Open(dir string, opt Options) (*Store, error) {
	if err := durable.MakeDir(dir); err != nil {
		return nil, err
	}
	lock, err := durable.TakeLock(filepath.Join(dir, lockName), true)
	if err != nil {
		return nil, err
	}
	b := &Store{
		path: filepath.Join(dir, fileName), opt: opt, lock: lock,
		growth: make(map[rowKey]map[blockKey]*growing),
		due:    time.NewTimer(checkpointDelay),
		work:   make(chan struct{}, 1), alone: make(chan func()), copies: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	b.due.Stop()
	if err := b.start(dir); err != nil {
		return nil, errors.Join(err, lock.Free())
	}
	go b.write() // Close stops it and waits
	return b, nil
}

func (b *Store) start(dir string) error {
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
		inv, err = b.upgrade(inv)
	}
	if err != nil {
		return err
	}
	if err := removeLeftovers(b.path); err != nil {
		return errors.Join(err, b.closeFile())
	}
	b.store, b.damaged, b.writer.tx = inv.store, inv.damaged, inv.tx
	if !inv.whole {
		b.vetted = make(map[rowKey]bool)
	}
	if m.store != inv.store {
		if err := writeMark(dir, inv.store); err != nil {
			return errors.Join(err, b.closeFile())
		}
	}
	return nil
}

// Close writes what waits and closes the store; every later call is ErrClosed.
func (b *Store) Close() error {
	b.mu.Lock()
	if errors.Is(b.ended, session.ErrClosed) {
		b.mu.Unlock()
		return session.ErrClosed
	}
	b.refusal, b.ended = session.ErrClosed, session.ErrClosed
	b.mu.Unlock()
	close(b.stop)
	<-b.done
	return errors.Join(b.closeFile(), b.lock.Free())
}
