package main

import (
	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/rpc"
)

func (p *program) acpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "acp",
		Short: "Speak the Agent Client Protocol on standard input and output, for editors",
		Long: `Speak the Agent Client Protocol (ACP), version 1, on standard input and output:
one message a line. docs/editors.md says how editors start it.

This is a pipe to the daemon of the data directory, which is started when there is
none. The end of standard input ends the pipe, never a turn.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.door(cmd.Context(), rpc.Door{ACP: true})
		},
	}
}
