package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/daemon"
	"github.com/thinkd/thinkd/cmd/thinkd/printable"
)

func (p *program) statusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show whether the daemon is running, and with which config",
		Long: `Show whether the daemon of the data directory is running, its clients and its running
turns. List the keys of the config file and the variables of the environment whose value
in the daemon is not the one that a new daemon would get: to apply them, run thinkd restart.
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
	const indent = 12 // where values begin
	row := func(name, format string, args ...any) {
		line := fmt.Sprintf("%-*s"+format, append([]any{indent, name}, args...)...)
		_, err := fmt.Fprintln(p.out, printable.Wrap(line, printable.Columns(p.out), indent))
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
			row("parked", "%s; thinkd parked lists them", count(r.Parked, "turn"))
		}
		if r.Listen != "" {
			row("listens at", "%s", r.Listen)
		}
		row("config", "%s", cmp.Or(r.Config, "no file"))
		if len(r.Effective) > 0 {
			row("settings", "%s", strings.Join(r.Effective, ", "))
		}
	} else {
		row("config", "%s", cmp.Or(r.MyConfig, "no file"))
	}
	if r.ConfigError != "" {
		row("new config", "%s", strings.ReplaceAll(r.ConfigError, "\n", "; "))
	}
	if len(r.Differences) > 0 {
		row("differs", "%s; to restart the daemon with yours, run thinkd restart", strings.Join(r.Differences, ", "))
	}
	return failed
}

// stopWait is how long a stop waits for running turns, unless a flag says otherwise.
const stopWait = time.Minute

func (p *program) stopCommand() *cobra.Command {
	var limit time.Duration
	var now bool
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "Stop the daemon",
		Long: `Stop the daemon of the data directory. The next command starts a new one, which reads
the config and the environment again. Editors and other clients that are connected
start the new daemon at once.

If turns are running, this command waits for them, for a minute at most. Then they are
interrupted, and what they have written so far is kept. With --now it does not wait. If
this command is interrupted while it waits, the daemon goes on.

The exit status is
  0    if the daemon has stopped, or none was running
  1    if it could not be stopped
  130  if this command was interrupted`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.stop(cmd.Context(), limit, now) },
	}
	stopFlags(cmd, &limit, &now)
	return cmd
}

// stopFlags are the flags of the commands that stop the daemon.
func stopFlags(cmd *cobra.Command, limit *time.Duration, now *bool) {
	cmd.Flags().DurationVar(limit, "wait", stopWait, "wait for running turns for this `TIME` at most")
	cmd.Flags().BoolVar(now, "now", false, "do not wait: interrupt running turns")
	cmd.MarkFlagsMutuallyExclusive("wait", "now")
}

// stop stops the daemon, if one is running, and says so.
func (p *program) stop(ctx context.Context, limit time.Duration, now bool) error {
	if limit < 0 {
		return fmt.Errorf("--wait %v is negative", limit)
	}
	if now {
		limit = 0
	}
	stopped, err := p.options.Stop(ctx, limit, func(turns int) {
		p.notice(fmt.Sprintf("waiting up to %v for %s", limit, count(turns, "turn")))
	})
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil:
		return err
	case !stopped.Running:
		_, err = fmt.Fprintln(p.out, "No daemon is running.")
		return err
	}
	text := fmt.Sprintf("Stopped the daemon (process %d, version %s).", stopped.PID, stopped.Version)
	if n := len(stopped.Interrupted); n > 0 {
		text += fmt.Sprintf(" %s interrupted in", count(n, "turn was", "turns were"))
		for _, id := range stopped.Interrupted {
			text += " " + id
		}
		text += "."
	}
	if stopped.Clients > 0 {
		text += fmt.Sprintf(" %s connected.", count(stopped.Clients, "client was", "clients were"))
	}
	_, err = fmt.Fprintln(p.out, text)
	return err
}

func (p *program) restartCommand() *cobra.Command {
	var limit time.Duration
	var now bool
	cmd := &cobra.Command{
		Use:   "restart",
		Short: "Stop the daemon and start a new one, which reads the config again",
		Long: `Stop the daemon of the data directory, and start a new one, which reads the config and the
environment again. Clients that are connected have to connect again; editors and the chat do.

If turns are running, this command waits for them, for a minute at most. Then they are
interrupted, and what they have written so far is kept. With --now it does not wait.

A daemon that thinkd serve or a service manager runs in the foreground is not started
again: do that there.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.stop(cmd.Context(), limit, now); err != nil {
				return err
			}
			link, err := p.connect(cmd.Context())
			if err != nil {
				return err
			}
			r, err := p.options.Status(cmd.Context())
			if err == nil {
				_, err = fmt.Fprintf(p.out, "The daemon is running (process %d, version %s).\n", r.PID, r.Version)
			}
			return errors.Join(err, link.Close())
		},
	}
	stopFlags(cmd, &limit, &now)
	return cmd
}
