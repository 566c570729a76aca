package main

import (
	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/doctor"
)

func (p *program) doctorCommand() *cobra.Command {
	var check, compact bool
	var providerName string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check config, keys and store, and list what is protected",
		Long: `Check the config, list the available keys, and read every page, record and entry of
the store. List what is protected from models and tools on this machine, and what is
not. A store in use is skipped; with --check, a copy of it is checked. A damaged store is
never changed.

With --provider NAME, call a model of that provider and say where the call fails: DNS, the
connection, TLS, the proxy, the credentials, the region or the model. The vendor charges
for the call.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &doctor.Doctor{Report: doctor.Report{Out: p.out}, Options: p.options}
			if providerName != "" {
				well, err := d.Provider(cmd.Context(), providerName)
				if err == nil && !well {
					err = errReported
				}
				return err
			}
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
	cmd.Flags().StringVar(&providerName, "provider", "", "call this `provider`, or PROVIDER/MODEL, and say where the call fails")
	cmd.MarkFlagsMutuallyExclusive("check", "compact", "provider")
	return cmd
}
