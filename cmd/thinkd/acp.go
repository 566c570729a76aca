package main

import (
	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/rpc/door"
)

func (p *program) acpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "acp",
		Short: "Speak the Agent Client Protocol on standard input and output, for editors",
		Long: `Speak the Agent Client Protocol (ACP), version 1, on standard input and output:
one message per line. docs/editors.md has the set-up for each editor.

This command is a pipe to the daemon of the data directory, and starts the daemon if
none is running. The end of standard input closes the pipe. It does not stop a turn.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.door(cmd.Context(), door.Door{ACP: true})
		},
	}
}
