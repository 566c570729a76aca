package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/doctor"
)

func (p *program) doctorCommand() *cobra.Command {
	var check, compact, asJSON, all bool
	var providerName string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check config, keys and store, and say what is protected",
		Long: `Check the config, list the available keys, and read every page, record and entry of
the store. Say what is protected from models and tools on this machine, and what is not; -v
and --json list each protected place. A store in use is skipped; with --check, a copy of it is checked. A damaged store is
never changed.

With --provider NAME, call a model of that provider and say where the call fails: DNS, the
connection, TLS, the proxy, the credentials, the region or the model. The vendor charges
for the call.

With --json, print {"ok": BOOL, "findings": [{"state": "bad", "note" or "ok", "what": …,
"text": …}, …]}. The exit status is 1 if anything is bad.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var findings []doctor.Finding
			d := &doctor.Doctor{Options: p.options, All: all || asJSON}
			d.Found = func(f doctor.Finding) { findings = append(findings, f) }
			well, err := true, error(nil)
			switch {
			case compact:
				d.Found = p.printFinding
				return d.Compact(cmd.Context())
			case providerName != "":
				if !asJSON {
					d.Found = p.printFinding // each step as it is made
				}
				well, err = d.Provider(cmd.Context(), providerName)
			default:
				well = d.Check(cmd.Context(), check)
				doctor.ProblemsFirst(findings)
			}
			if err == nil {
				err = p.printFindings(findings, well, asJSON)
			}
			if err == nil && !well {
				err = errReported
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "check the store also while a daemon uses it; needs disk space for a copy")
	cmd.Flags().BoolVar(&compact, "compact", false, "rewrite the store without its free space and what was deleted; needs disk space for two stores")
	cmd.Flags().StringVar(&providerName, "provider", "", "call this `provider`, or PROVIDER/MODEL, and say where the call fails")
	cmd.Flags().BoolVarP(&all, "verbose", "v", false, "list each protected place")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object with all findings")
	cmd.MarkFlagsMutuallyExclusive("check", "compact", "provider")
	cmd.MarkFlagsMutuallyExclusive("json", "compact")
	return cmd
}

func (p *program) printFinding(f doctor.Finding) { f.Print(p.out) }

func (p *program) printFindings(list []doctor.Finding, well, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(p.out).Encode(struct {
			OK       bool             `json:"ok"`
			Findings []doctor.Finding `json:"findings"`
		}{well, list})
	}
	for _, f := range list {
		p.printFinding(f)
	}
	return nil
}
