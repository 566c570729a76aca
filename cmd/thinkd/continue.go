package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/parked"
	"github.com/thinkd/thinkd/cmd/thinkd/printable"
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
	var raise float64
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "resume ID",
		Short: "Resume the parked turn of a session now",
		Long: `Resume the parked turn of a session now, and show the turn until its end. A turn is
parked if it waits for a provider that takes no more requests or is down (limits.park in
the config), or for its time. With --model the parked turn ends, and a new turn with that
model continues it. Thinking goes to standard error, the answer to standard output, as
with thinkd prompt.

If a limit of all sessions has no room for the next call (limits.max_day_cost or
limits.max_cost_unattended in the config), this allows one call. With --raise, the limit
is raised by an amount in USD instead: max_day_cost until the day ends, and
max_cost_unattended until a person writes or approves something.

` + turnStatus,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			params := present("model_id", model)
			if cmd.Flags().Changed("raise") {
				if !(raise > 0) {
					return errors.New("--raise must be an amount above 0 in USD")
				}
				params["raise"] = raise
			}
			return p.onTurn(cmd.Context(), func(link *door.Link) error {
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
	cmd.Flags().Float64Var(&raise, "raise", 0, "raise the limit at which the turn is parked by `USD`")
	cmd.Flags().StringVar(&model, "model", "", "go on with this model `ID`, as provider/id")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write notifications to standard output, one per line")
	return cmd
}

// waiting is a session whose turn is parked.
type waiting struct {
	ID     string          `json:"session_id"`
	Title  string          `json:"title"`
	Turn   string          `json:"turn_id"`
	Parked json.RawMessage `json:"parked"` // as in session/attach
}

func (p *program) parkedCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "parked", Short: "List the parked turns, and what each waits for", Args: cobra.NoArgs,
		Long: `List the sessions with a parked turn, and what each turn waits for: its provider, a
person's approval, its time, or a person who allows it to spend more. For a limit, show how
much of it is spent and what the next call probably costs. To resume a turn, run thinkd
resume ID.`,
		RunE: p.onDaemon(func(link *door.Link, _ []string) error {
			list, err := waitingSessions(link)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(p.out).Encode(map[string]any{"parked": list})
			}
			now := time.Now()
			for _, w := range list {
				var turn parked.Turn
				if err := json.Unmarshal(w.Parked, &turn); err != nil {
					return fmt.Errorf("session/attach: %w", err)
				}
				text := fmt.Sprintf("%s  %s\n  %s", w.ID, w.Title, turn.Text(now))
				if _, err := fmt.Fprintln(p.out, printable.Wrap(text, printable.Columns(p.out), 0)); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// waitingSessions lists the sessions with a parked turn, the last changed first.
func waitingSessions(link *door.Link) ([]waiting, error) {
	list := []waiting{}
	for params := map[string]any{"limit": 1000}; ; {
		var page sessionPage
		if err := link.Call("session/list", params, &page); err != nil {
			return nil, err
		}
		for _, s := range page.Sessions {
			if s.Status != "parked" {
				continue
			}
			var at struct {
				Open struct {
					Turn   string          `json:"turn_id"`
					Parked json.RawMessage `json:"parked"`
				} `json:"open"`
			}
			if err := link.Call("session/attach", map[string]any{"session_id": s.ID, "limit": 0}, &at); err != nil {
				return nil, err
			}
			if at.Open.Parked != nil { // otherwise it has just resumed
				list = append(list, waiting{s.ID, s.Title, at.Open.Turn, at.Open.Parked})
			}
		}
		if page.Next == "" {
			return list, nil
		}
		params["cursor"] = page.Next
	}
}
