package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/rpc"
)

func (p *program) sessionsBackupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Copy all sessions to a new file, while they are in use", Args: cobra.ExactArgs(1),
		Long: `Copy all sessions, as they are at one moment, to a new file, and check the copy.
Turns go on meanwhile. A file that is there already is not overwritten. To restore,
end the daemon and put the copy in the place of thinkd.db in the data directory.
Images and documents are not in it: copy the folder blobs of the data directory
after it.`,
		RunE: p.onDaemon(func(link *rpc.Link, args []string) error {
			path, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			report, err := link.Backup(path)
			if err != nil {
				return err
			}
			if !p.storeFinding("copy", path, report) {
				return errSaid
			}
			return nil
		}),
	}
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
