package main

import (
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/daemon"
	"github.com/thinkd/thinkd/cmd/thinkd/printable"
)

// daemonCommand is the hidden command with which other commands start a daemon.
func (p *program) daemonCommand() *cobra.Command {
	var idle time.Duration
	var environment bool
	cmd := &cobra.Command{
		Use:    "daemon",
		Short:  "Be the daemon of the data directory; other commands start it when there is none",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("log-level") {
				p.options.LogLevel = "info" // into a file of its own
			}
			starter := daemon.Starter{Tell: p.announce, HangUp: func() error {
				if f, ok := printable.Bare(p.out).(*os.File); ok {
					return daemon.Silence(f)
				}
				return nil
			}}
			if environment {
				if err := daemon.TakeEnvironment(p.in); err != nil {
					return errors.Join(starter.Tell(err.Error()), errReported)
				}
			}
			err := p.options.Background(cmd.Context(), idle, starter)
			if errors.Is(err, daemon.ErrReported) {
				return errReported
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&environment, daemon.EnvironmentFlag, false, "read further environment variables from standard input")
	cmd.Flags().DurationVar(&idle, "idle", 30*time.Second, "`TIME` without clients and turns after which it leaves; 0: never")
	return cmd
}
