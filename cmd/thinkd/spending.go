package main

import (
	"maps"
	"time"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/costs"
	"github.com/thinkd/thinkd/rpc/door"
)

// reportsBy are the words of usage --by. The protocol calls the key or the plan that pays the payer.
var reportsBy = []string{"day", "model", "level", "session", "provider", "key", "purpose", "user"}

func (p *program) usageCommand() *cobra.Command {
	var from, to, by string
	var asJSON, asCSV, cache bool
	cmd := &cobra.Command{
		Use: "usage", Short: "Show what model calls used and cost", Args: cobra.NoArgs,
		Long: `Show what model calls used and cost, with the sum, and what is spent of the limits of all
sessions (limits.max_day_cost and limits.max_cost_unattended in the config). Days are in
UTC. A call counts for the day on which it began. Summaries and side questions count.

With --cache, show instead what calls did not read from the prompt caches of vendors
although the call before had left it there, why, and what that cost more.`,
		Example: `  thinkd usage --by model
  thinkd usage --from 2026-11-01 --to 2026-11-30 --by session --csv`,
		RunE: p.onDaemon(func(link *door.Link, _ []string) error {
			if by == "key" {
				by = "payer"
			}
			return call(p, link, "usage/report", present("from", from, "to", to, "by", by), asJSON, func(r costs.Report) error {
				if r.More {
					p.notice("there are more rows; the sum has them")
				}
				switch {
				case cache && asCSV:
					return r.MissesCSV(p.out)
				case cache:
					return r.Misses(p.out)
				case asCSV:
					return r.CSV(p.out)
				}
				return r.Table(p.out)
			})
		}),
	}
	cmd.Flags().StringVar(&from, "from", "", "first `DAY`, as YYYY-MM-DD (default: 29 days before the last)")
	cmd.Flags().StringVar(&to, "to", "", "last `DAY` (default: today)")
	cmd.Flags().StringVar(&by, "by", "day", "a row for each day, model, level, session, provider, key (or plan), purpose or user")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result of usage/report as JSON")
	cmd.Flags().BoolVar(&asCSV, "csv", false, "print comma-separated values")
	cmd.Flags().BoolVar(&cache, "cache", false, "show what misses of prompt caches cost, by cause")
	cmd.MarkFlagsMutuallyExclusive("json", "csv")
	complete(cmd, "by", reportsBy...)
	return cmd
}

func (p *program) quoteCommand() *cobra.Command {
	var model, thinking string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "quote ID [TEXT]",
		Short: "Show what the next prompt of a session would cost",
		Long: `Show what the next prompt of a session would cost, with the session's model and level or
with others: the prompt in tokens by part, how many of them come from the vendor's cache
(read), are written to it or have the usual price (paid), how long the cache stays warm,
and between which bounds the cost of the turn lies. compact first is what it costs to
summarise earlier turns before the prompt. What is not known is called unknown.

Without TEXT, the prompt is left out. Nothing is sent to a vendor.`,
		Example: `  thinkd quote 01KAK2V7M0Q2X4T6V8Y0A2C4E6
  thinkd quote 01KAK2V7M0Q2X4T6V8Y0A2C4E6 --model openai/gpt-6.1-sol --thinking high "Write the tests."`,
		Args: cobra.MinimumNArgs(1),
		RunE: p.onDaemon(func(link *door.Link, args []string) error {
			text, err := p.text(args[1:])
			if err != nil {
				return err
			}
			params := map[string]any{"session_id": args[0]}
			maps.Copy(params, present("model_id", model, "thinking_level", thinking, "text", text))
			return call(p, link, "session/quote", params, asJSON, func(q costs.Quote) error { return q.Table(p.out, time.Now()) })
		}),
	}
	cmd.Flags().StringVar(&model, "model", "", "quote for this model `ID`, as provider/id")
	cmd.Flags().StringVar(&thinking, "thinking", "", "quote for this `LEVEL` of thinking")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result of session/quote as JSON")
	return cmd
}
