package main

import (
	"fmt"
	"maps"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session"
)

func (p *program) askCommand() *cobra.Command {
	var model, thinking string
	var keep, asJSON bool
	cmd := &cobra.Command{
		Use:   "ask ID TEXT",
		Short: "Ask a side question in a session; nothing of it is recorded",
		Long: `Ask a side question with the conversation of a session, also while a turn runs there.
Neither the question nor the answer is recorded, and no tool runs. Thinking goes to
standard error, the answer to standard output. Standard input is read as with
thinkd prompt.

With --keep the question is recorded: it is the first prompt of a fork. The command then
prints the ID of the fork and ends; the turn runs in the daemon.

` + turnStatus,
		Example: `  thinkd ask 01KAK2V7M0Q2X4T6V8Y0A2C4E6 "What was WithClock called before?"`,
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := p.text(args[1:])
			if err != nil {
				return err
			}
			params := map[string]any{"session_id": args[0], "text": text}
			maps.Copy(params, present("model_id", model, "thinking_level", thinking))
			return p.onTurn(cmd.Context(), func(link *door.Link) error {
				if !keep {
					return p.view(asJSON).Ask(cmd.Context(), link, params)
				}
				params["keep"] = true
				return call(p, link, "session/ask", params, asJSON, func(r placed) error {
					_, err := fmt.Fprintln(p.out, r.Session)
					return err
				})
			})
		},
	}
	cmd.Flags().StringVar(&model, "model", "", "model `ID`, as provider/id")
	cmd.Flags().StringVar(&thinking, "thinking", "", "`LEVEL` of thinking")
	cmd.Flags().BoolVar(&keep, "keep", false, "record the question in a fork, and print its ID")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result of session/ask as JSON")
	return cmd
}

// placed is where a message or a question went.
type placed struct {
	Session     session.ID `json:"session_id"`
	Disposition string     `json:"disposition"`
}

func (p *program) appendCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "append ID TEXT",
		Short: "Add a message to a session without asking the model",
		Long: `Add a message to a session without a call of the model. The next prompt sends it. If a
turn runs, the message waits for its end. Standard input is read as with thinkd prompt.`,
		Example: `  thinkd append 01KAK2V7M0Q2X4T6V8Y0A2C4E6 "The tests are in cart_test.go."
  go test ./... 2>&1 | thinkd append 01KAK2V7M0Q2X4T6V8Y0A2C4E6 "The tests said:"`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := p.text(args[1:])
			if err != nil {
				return err
			}
			return p.onDaemon(func(link *door.Link, _ []string) error {
				return call(p, link, "session/append", map[string]any{"session_id": args[0], "text": text}, asJSON, func(r placed) error {
					if r.Disposition == "queued" {
						p.notice("the message waits for the end of the turn")
					}
					return nil
				})
			})(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result of session/append as JSON")
	return cmd
}
