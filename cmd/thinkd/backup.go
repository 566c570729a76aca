package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/rpc"
	"github.com/thinkd/thinkd/session/bolt"
)

func (p *program) sessionsBackupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Copy all sessions to a new file, while they are in use", Args: cobra.ExactArgs(1),
		Long: `Copy all sessions, as they are at one moment, to a new file, and check the copy.
Turns continue during the copy. An existing file is not overwritten. To restore, stop the
daemon and replace thinkd.db in the data directory by the copy. The copy has no images
and documents: copy the folder blobs of the data directory afterwards.`,
		RunE: p.onDaemon(func(link *rpc.Link, args []string) error {
			path, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			report, err := link.Backup(path)
			if err != nil {
				return err
			}
			well := p.storeFinding("copy", path, report)
			if report.Blobs+report.LostBlobs > 0 {
				err := error(nil)
				if report.LostBlobs > 0 {
					err = fmt.Errorf("%d of %d are damaged and not copied", report.LostBlobs, report.Blobs+report.LostBlobs)
				}
				well = p.finding("images and documents", err, fmt.Sprintf("%s: %d files", blobsOf(path), report.Blobs)) && well
			}
			if !well {
				return errSaid
			}
			return nil
		}),
	}
}

// blobsOf is where a backup has its images and documents.
func blobsOf(path string) string { return path + ".blobs" }

// backup copies the store, then what its sessions refer to: that is only ever added to, and removed by a start alone.
func (h *host) backup(ctx context.Context, store *bolt.Store, path string) (rpc.StoreReport, error) {
	if _, err := os.Lstat(blobsOf(path)); err == nil {
		return rpc.StoreReport{}, &fs.PathError{Op: "mkdir", Path: blobsOf(path), Err: fs.ErrExist}
	}
	report, err := store.Backup(ctx, path)
	if err != nil {
		return rpc.StoreReport{}, err
	}
	r := rpc.NewStoreReport(report)
	r.Blobs, r.LostBlobs, err = h.daemon.blobs.Copy(ctx, blobsOf(path))
	if err != nil {
		return r, fmt.Errorf("%s is whole; its images and documents: %w", path, err)
	}
	return r, nil
}

// storeFinding prints what a check found, a line for each session that is damaged.
func (p *program) storeFinding(what, path string, r rpc.StoreReport) bool {
	well := p.finding(what, nil, fmt.Sprintf("%s: %d sessions, %d entries; %d KiB, of which %d KiB are free",
		path, r.Sessions, r.Entries, r.Size>>10, r.Free>>10))
	for _, d := range r.Damaged {
		well = p.finding("session "+string(d.Session), fmt.Errorf("%s", d.Error), "") && well
	}
	return well
}
