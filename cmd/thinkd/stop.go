package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

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
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return fmt.Errorf("--wait %v is negative", limit)
			}
			if now {
				limit = 0
			}
			stopped, err := p.options.Stop(cmd.Context(), limit, func(turns int) {
				p.notice(fmt.Sprintf("waiting up to %v for %s", limit, count(turns, "turn")))
			})
			switch {
			case cmd.Context().Err() != nil:
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
		},
	}
	cmd.Flags().DurationVar(&limit, "wait", stopWait, "wait for running turns for this `TIME` at most")
	cmd.Flags().BoolVar(&now, "now", false, "do not wait: interrupt running turns")
	cmd.MarkFlagsMutuallyExclusive("wait", "now")
	return cmd
}
