package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/rpc"
)

func (p *program) stdioCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stdio",
		Short: "Speak the protocol on standard input and output, for editors and scripts",
		Long: `Speak JSON-RPC 2.0 on standard input and output: one message a line, or with
Content-Length headers, as the client begins. protocol.md has the methods.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := p.open(cmd.Context(), nil)
			if err != nil {
				return err
			}
			err = d.serve(cmd.Context(), rpc.Stdio(p.in, p.out))
			return errors.Join(err, d.close())
		},
	}
}
