package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/daemon"
)

func (p *program) statusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show whether the daemon is running, and with which config",
		Long: `Show whether the daemon of the data directory is running, its clients and its running
turns. List the keys of the config file and the variables of the environment whose value
in the daemon is not the one that a new daemon would get: to apply them, run thinkd stop.
This command does not start a daemon.

The exit status is
  0  if the daemon is running
  1  if that cannot be found out
  3  if no daemon is running`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := p.options.Status(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				err = json.NewEncoder(p.out).Encode(r)
			} else {
				err = p.showStatus(r)
			}
			if err == nil && !r.Running {
				return errNotRunning
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (p *program) showStatus(r daemon.Report) error {
	var failed error
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		_, err := fmt.Fprintf(w, name+"\t"+format+"\n", args...)
		failed = errors.Join(failed, err)
	}
	if r.Running {
		row("daemon", "running, version %s, process %d, for %v", r.Version, r.PID, r.Uptime)
	} else {
		row("daemon", "not running")
	}
	row("data", "%s", r.Data)
	if r.Running {
		row("clients", "%d", r.Clients)
		row("turns", "%s", strings.TrimSpace(fmt.Sprintf("%d %s", len(r.Sessions), strings.Join(r.Sessions, " "))))
		if r.Parked > 0 {
			row("parked", "%s; thinkd sessions list shows the sessions", count(r.Parked, "turn"))
		}
		if r.Listen != "" {
			row("listens at", "%s", r.Listen)
		}
		row("config", "%s", cmp.Or(r.Config, "no file"))
		if len(r.Effective) > 0 {
			row("", "%s", strings.Join(r.Effective, ", "))
		}
	} else {
		row("config", "%s", cmp.Or(r.MyConfig, "no file"))
	}
	if r.ConfigError != "" {
		row("new config", "%s", strings.ReplaceAll(r.ConfigError, "\n", "; "))
	}
	if len(r.Differences) > 0 {
		row("differs", "%s; to restart the daemon with yours, run thinkd stop", strings.Join(r.Differences, ", "))
	}
	return errors.Join(failed, w.Flush())
}
