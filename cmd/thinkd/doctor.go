package main

import (
	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/doctor"
)

func (p *program) doctorCommand() *cobra.Command {
	var check, compact bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check config, keys and store, and list what is protected",
		Long: `Check the config, list the available keys, and read every page, record and entry of
the store. List what is protected from models and tools on this machine, and what is
not. A store in use is skipped; with --check, a copy of it is checked. A damaged store is
never changed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &doctor.Doctor{Report: doctor.Report{Out: p.out}, Options: p.options}
			if compact {
				return d.Compact(cmd.Context())
			}
			if !d.Check(cmd.Context(), check) {
				return errReported
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "check the store also while a daemon uses it; needs disk space for a copy")
	cmd.Flags().BoolVar(&compact, "compact", false, "rewrite the store without its free space and what was deleted; needs disk space for two stores")
	cmd.MarkFlagsMutuallyExclusive("check", "compact")
	return cmd
}
