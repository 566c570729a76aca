package main

import (
	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/rpc"
)

func (p *program) stdioCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stdio",
		Short: "Speak the protocol on standard input and output, for editors and scripts",
		Long: `Speak JSON-RPC 2.0 on standard input and output: one message a line, or with
Content-Length headers, as the client begins. protocol.md has the methods.

This is a pipe to the daemon of the data directory, which is started when there is
none. The end of standard input ends the pipe, never a turn.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			err := rpc.Door{Client: rpc.Stdio(p.in, p.out), Dial: p.connect}.Run(ctx)
			if ctx.Err() != nil {
				return nil // we were told to end
			}
			return err
		},
	}
}
