package main

import (
	"bytes"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/rpc"
)

func (p *program) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the protocol as an OpenRPC document",
		Long: "Print the protocol as an OpenRPC document: the answer of rpc.discover, indented.\n\n" +
			"It needs no daemon. Generators of OpenRPC clients read it.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			document, err := rpc.Document(p.build.Version)
			if err != nil {
				return err
			}
			var text bytes.Buffer
			if err := json.Indent(&text, document, "", "\t"); err != nil {
				return err
			}
			text.WriteByte('\n')
			_, err = text.WriteTo(p.out)
			return err
		},
	}
}
