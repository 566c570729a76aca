package archive

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/session/jet"
)

// lockName is the file that says that a process writes in the directory of a copy.
const lockName = "thinkd-store.lock"

// lock takes the directory, until unlock is called or the process ends.
func (f *Follower) lock() (unlock func() error, err error) {
	if err := durable.MakeDir(f.Dir); err != nil {
		return nil, err
	}
	lock, err := durable.TakeLock(filepath.Join(f.Dir, lockName), true)
	if locked, ok := errors.AsType[*durable.LockedError](err); ok {
		return nil, fmt.Errorf("%s is in use by %s, which keeps a second copy there: stop it, or name another directory", f.Dir, locked.Who())
	}
	if err != nil {
		return nil, fmt.Errorf("lock of the second copy: %w", err)
	}
	return lock.Free, nil
}

// Run copies until ctx ends, and then writes what it has. It returns an error if a stream cannot be copied any more, while the other streams are copied
// on, and at once if another process writes in the directory.
func (f *Follower) Run(ctx context.Context) (err error) {
	unlock, err := f.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	streams, err := jet.FindStreams(ctx, f.Link, f.Prefix)
	if ctx.Err() != nil { // before the servers answered: nothing was read
		return nil
	}
	if err != nil {
		return err
	}
	tails, err := f.tails(streams)
	if err != nil {
		return err
	}
	if err := f.belongs(streams.ID); err != nil {
		return err
	}
	stop, err := f.has.Serve(f.Asked, f.Prefix)
	if err != nil {
		return err
	}
	errs := make([]error, len(tails))
	var running sync.WaitGroup
	cleaning, stopCleaning := context.WithCancel(ctx)
	defer stopCleaning()
	for i, t := range tails {
		running.Go(func() { // ends with ctx
			if errs[i] = t.run(ctx); errs[i] != nil {
				stopCleaning() // what is left is not touched any more
				f.Log.Error("A stream is not copied any more", "stream", t.stream, "error", errs[i])
			}
		})
	}
	running.Go(func() { f.cleanDaily(cleaning, tails) }) // ends with ctx
	running.Wait()
	return errors.Join(append(errs, stop())...)
}

// tails opens the copies of all streams, those with logs first.
func (f *Follower) tails(streams jet.Streams) (list []*tail, err error) {
	if f.Keep == 0 {
		f.Keep = DefaultKeep
	}
	for _, stream := range append(streams.Logs(), streams.State(), streams.Made(), streams.Tables()) {
		t := f.tail(streams, stream)
		if err := t.open(); err != nil {
			return nil, fmt.Errorf("stream %s: %w", stream, err)
		}
		list = append(list, t)
	}
	return list, nil
}
