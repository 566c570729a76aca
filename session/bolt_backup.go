package session

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.etcd.io/bbolt"
)

// Backup writes the store as it is now to a new file, while others read and write, and checks that file as CheckFile
// does. On return it is durable, and whole under its name: a copy that is cut short never bears it. A file that is there
// already is never overwritten (os.ErrExist). Damage of single sessions is copied as it is and told in the report; where the
// file as a whole is damaged there is no copy.
//
// While it copies, pages that are given up are not used again, so that the store's file may grow by what is written
// meanwhile; and a file that outgrows its map of 1 GiB makes the writer wait for the end of the copy.
func (b *Bolt) Backup(ctx context.Context, path string) (Report, error) {
	name, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // takes the name, and follows no link
	if err != nil {
		return Report{}, err
	}
	if err := name.Close(); err != nil {
		return Report{}, err
	}
	report, err := b.copyTo(ctx, path)
	if err != nil {
		return report, errors.Join(err, os.Remove(path))
	}
	return report, nil
}

// Check reads all of the store while it is in use: it makes a copy in the data directory, checks that, and removes it. It needs the room.
func (b *Bolt) Check(ctx context.Context) (Report, error) {
	path := b.path + ".check"
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // of a check that was killed
		return Report{}, err
	}
	report, err := b.Backup(ctx, path)
	if err != nil {
		return report, err
	}
	return report, os.Remove(path)
}

// copyTo makes a copy beside path and gives it that name when it is sound.
func (b *Bolt) copyTo(ctx context.Context, path string) (report Report, err error) {
	part := path + ".part" // the name is ours, and with it what is left of a copy that was killed
	f, err := openPlain(part, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return Report{}, err
	}
	named := false
	defer func() {
		if !named {
			err = errors.Join(err, os.Remove(part))
		}
	}()
	to := &copying{ctx: ctx, b: b, to: f}
	err = b.view(func(tx *bbolt.Tx) error {
		_, err := tx.WriteTo(to)
		if to.failed != nil { // bbolt tells it as a text
			return to.failed
		}
		return err
	})
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return Report{}, err
	}
	if report, err = checkFile(ctx, part, b.store); err != nil {
		return report, fmt.Errorf("the copy: %w", err)
	}
	if err := publish(part, path); err != nil {
		return report, err
	}
	named = true
	return report, nil
}

// copying writes a copy as long as nobody is kept waiting for it.
type copying struct {
	ctx    context.Context
	b      *Bolt
	to     *os.File
	failed error
}

func (c *copying) Write(data []byte) (n int, err error) {
	defer func() { c.failed = err }()
	if err := context.Cause(c.ctx); err != nil {
		return 0, err
	}
	if !c.b.dbMu.TryRLock() { // somebody is to close the file, or to open it again after a failed write
		return 0, errors.New("the store was closed or in trouble during the copy")
	}
	c.b.dbMu.RUnlock()
	return c.to.Write(data)
}
