package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/thinkd/thinkd/cmd/thinkd/daemon"
	"github.com/thinkd/thinkd/rpc"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session/bolt"
)

func (d *Doctor) checkStore(ctx context.Context, inUse bool) bool {
	dir, err := d.Options.Data()
	if err != nil {
		return d.Add("store", err, "")
	}
	if link, err := daemon.Greet(ctx, dir); err == nil {
		if inUse {
			return d.checkInUse(ctx, dir, link)
		}
		s := link.Status
		return d.Add("daemon", link.Close(), fmt.Sprintf(
			"process %d, version %s, serves %s: %d other clients, %d turns running; doctor --check checks the store as well",
			s.PID, s.Version, dir, s.Clients-1, s.Running))
	}
	path := filepath.Join(dir, "thinkd.db")
	report, err := bolt.CheckFile(ctx, path)
	if errors.Is(err, os.ErrNotExist) {
		return d.Add("store", nil, "none yet; it will be in "+dir)
	}
	if locked, ok := errors.AsType[*bolt.LockedError](err); ok {
		return d.Add("store", nil, fmt.Sprintf("%s is in use (%v): stop that process to check the store", path, locked))
	}
	if err != nil {
		return d.Add("store", err, "")
	}
	return d.Store("store", path, rpc.NewStoreReport(report))
}

// checkInUse has the daemon check its own store.
func (d *Doctor) checkInUse(ctx context.Context, dir string, link *door.Link) bool {
	stop := context.AfterFunc(ctx, func() { link.Close() })
	report, err := link.Check()
	if !stop() {
		err = context.Cause(ctx)
	}
	if err := errors.Join(err, link.Close()); err != nil {
		return d.Add("store", err, "")
	}
	return d.Store("store", filepath.Join(dir, "thinkd.db"), report)
}

// Compact rewrites the store without its free space, and so without what was deleted. A daemon that runs does it. The end of ctx ends it,
// and the store stays as it was.
func (d *Doctor) Compact(ctx context.Context) error {
	dir, err := d.Options.Data()
	if err != nil {
		return err
	}
	c, err := compact(ctx, dir)
	if err != nil {
		return err
	}
	d.Add("store", nil, fmt.Sprintf("rewritten: %d KiB, of which %d KiB were free, are now %d KiB; %d sessions, %d entries",
		c.Before.Size>>10, c.Before.Free>>10, c.After.Size>>10, c.After.Sessions, c.After.Entries))
	kept, err := filepath.Glob(filepath.Join(dir, "thinkd.db.format-*"))
	for _, path := range kept {
		d.Add("store", nil, path+" is the store from before an upgrade. It still has what was deleted since: remove it")
	}
	return err
}

func compact(ctx context.Context, dir string) (door.Compaction, error) {
	link, err := daemon.Greet(ctx, dir)
	if err != nil { // no daemon runs
		before, after, err := bolt.Compact(ctx, filepath.Join(dir, "thinkd.db"))
		return door.Compaction{Before: rpc.NewStoreReport(before), After: rpc.NewStoreReport(after)}, err
	}
	stop := context.AfterFunc(ctx, func() { link.Close() })
	c, err := link.Compact()
	if !stop() {
		err = context.Cause(ctx)
	}
	return c, errors.Join(err, link.Close())
}
