package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/daemon"
	"github.com/thinkd/thinkd/rpc/door"
)

func (p *program) sessionsBackupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Copy all sessions to a new file, while they are in use", Args: cobra.ExactArgs(1),
		Long: `Copy all sessions, as they are at one moment, to a new file, and check the copy.
Turns continue during the copy. An existing file is not overwritten. To restore, stop the
daemon and replace thinkd.db in the data directory by the copy. Images
and documents are in FILE.blobs: replace the folder blobs by it.`,
		RunE: p.onDaemon(func(link *door.Link, args []string) error {
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
				well = p.finding("images and documents", err, fmt.Sprintf("%s: %d files", daemon.BlobsOf(path), report.Blobs)) && well
			}
			if !well {
				return errReported
			}
			return nil
		}),
	}
}

// storeFinding prints what a check found, a line for each session that is damaged.
func (p *program) storeFinding(what, path string, r door.StoreReport) bool {
	well := p.finding(what, nil, fmt.Sprintf("%s: %d sessions, %d entries; %d KiB, of which %d KiB are free",
		path, r.Sessions, r.Entries, r.Size>>10, r.Free>>10))
	for _, d := range r.Damaged {
		well = p.finding("session "+string(d.Session), fmt.Errorf("%s", d.Error), "") && well
	}
	return well
}
