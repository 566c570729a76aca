package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session"
)

// continuation is the result of session/continue.
type continuation struct {
	Parts []struct {
		Message string `json:"message_id"`
		Block   int    `json:"block"`
		Type    string `json:"type"`
		Action  string `json:"action"`
	} `json:"parts"`
}

func (p *program) continueCommand() *cobra.Command {
	var dry, asJSON bool
	cmd := &cobra.Command{
		Use:   "continue ID",
		Short: "Continue the last turn of a session, if it was cut off",
		Long: `Continue the last turn of a session, if it ended with interrupted, error, max_tokens or
cancelled. The model goes on without a new prompt, and tools that ran do not run again.
Thinking goes to standard error, the answer to standard output, as with thinkd prompt.

With --dry-run nothing starts. The command lists the blocks of the turn and what becomes
of each: the model gets it back (kept), its answer begins with it (prefilled), it thinks
again (requested_again), or the block is not sent (dropped).

` + turnStatus,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.onTurn(cmd.Context(), func(link *door.Link) error {
				if !dry {
					return p.view(asJSON).Turn(cmd.Context(), link, attach(link, args[0]), "session/continue", map[string]any{})
				}
				return call(p, link, "session/continue", map[string]any{"session_id": args[0], "dry_run": true}, asJSON, p.showParts)
			})
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "list what the model would get, and start nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write notifications to standard output, one per line; with --dry-run, the result")
	return cmd
}

func (p *program) showParts(c continuation) error {
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MESSAGE\tBLOCK\tTYPE\tACTION")
	for _, b := range c.Parts {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", b.Message, b.Block, strings.ReplaceAll(b.Type, "_", " "), b.Action)
	}
	return w.Flush()
}

func (p *program) resumeCommand() *cobra.Command {
	var model string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "resume ID",
		Short: "Resume the parked turn of a session now",
		Long: `Resume the parked turn of a session now, and show the turn until its end. A turn is
parked if it waits for a provider that takes no more requests or is down (limits.park in
the config), or for its time. With --model the parked turn ends, and a new turn with that
model continues it. Thinking goes to standard error, the answer to standard output, as
with thinkd prompt.

` + turnStatus,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.onTurn(cmd.Context(), func(link *door.Link) error {
				params := present("model_id", model)
				open := func() (session.ID, error) {
					var at struct {
						Open struct {
							Turn   session.TurnID `json:"turn_id"`
							Parked *struct{}      `json:"parked"`
						} `json:"open"`
					}
					err := link.Call("session/attach", map[string]any{"session_id": args[0], "limit": 0}, &at)
					if err == nil && at.Open.Parked == nil {
						err = fmt.Errorf("session %s: no turn is parked", args[0])
					}
					params["turn_id"] = at.Open.Turn
					return session.ID(args[0]), err
				}
				return p.view(asJSON).Turn(cmd.Context(), link, open, "turn/resume", params)
			})
		},
	}
	cmd.Flags().StringVar(&model, "model", "", "go on with this model `ID`, as provider/id")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write notifications to standard output, one per line")
	return cmd
}
