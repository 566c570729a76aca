package main

import (
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/models"
	"github.com/thinkd/thinkd/rpc/door"
)

func (p *program) modelsCommand() *cobra.Command {
	var of string
	var asJSON, refresh, available bool
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List the models, their thinking levels and limits",
		Long: "List the models, their thinking levels and limits.\n\nA fact with ? is guessed from the model's name, with ~ it is from a public table and not confirmed,\n" +
			"with ! it was learned from a refusal. All others are confirmed by the vendor or the config.\n" +
			"0.33x premium: a prompt counts as 0.33 premium requests on the plan.\n\nPrices are in USD per million tokens of input and of output. --json has all facts, and who states them.",
		Args: cobra.NoArgs,
		RunE: p.onDaemon(func(link *door.Link, _ []string) error {
			var answer json.RawMessage
			params := present("provider", of)
			params["refresh"] = refresh
			if err := link.Call("models/list", params, &answer); err != nil {
				return err
			}
			shown := answer
			if available {
				var err error
				if shown, err = models.Available(answer); err != nil {
					return err
				}
			}
			if asJSON {
				_, err := p.out.Write(append(shown, '\n'))
				return err
			}
			err := errors.Join(models.Table(p.out, shown), models.Missing(p.errOut, answer), models.Changes(p.errOut, answer))
			failed, wrong := models.Refreshed(p.errOut, answer)
			if err = errors.Join(err, wrong); err == nil && failed {
				err = errReported
			}
			return err
		}),
	}
	cmd.Flags().StringVar(&of, "vendor", "", "only the models of this `PROVIDER`")
	cmd.Flags().StringVar(&of, "provider", "", "the same as --vendor")
	cmd.Flags().BoolVar(&available, "available", false, "only models that can be called now")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result of models/list as JSON")
	cmd.Flags().BoolVar(&refresh, "refresh", false, "download the lists of the vendors first, and store them")
	return cmd
}
