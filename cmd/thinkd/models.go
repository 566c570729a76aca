package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/door"
)

func (p *program) modelsCommand() *cobra.Command {
	var of string
	var asJSON, refresh bool
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List the models, their thinking levels and limits",
		Long: "List the models, their thinking levels and limits.\n\nA fact with ? is guessed from the model's name, with ~ it is from a public table and not confirmed,\n" +
			"with ! it was learned from a refusal. All others are confirmed by the vendor or the config.\n" +
			"0.33x premium: a prompt counts as 0.33 premium requests on the plan.",
		Args: cobra.NoArgs,
		RunE: p.onDaemon(func(link *door.Link, _ []string) error {
			var answer json.RawMessage
			params := present("provider", of)
			params["refresh"] = refresh
			if err := link.Call("models/list", params, &answer); err != nil {
				return err
			}
			if asJSON {
				_, err := p.out.Write(append(answer, '\n'))
				return err
			}
			return errors.Join(p.showModels(answer), p.showChanges(answer), p.showRefresh(answer))
		}),
	}
	cmd.Flags().StringVar(&of, "provider", "", "only the models of this `PROVIDER`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result of models/list as JSON")
	cmd.Flags().BoolVar(&refresh, "refresh", false, "download the lists of the vendors first, and store them")
	return cmd
}

func (p *program) showModels(answer json.RawMessage) error {
	var list struct {
		Models []struct {
			ID, Provider string
			Levels       []string `json:"thinking_levels"`
			Default      string   `json:"default_thinking_level"`
			Thinking     struct {
				Source string
				AsOf   string `json:"as_of"`
			}
			Window    int `json:"context_window"`
			MaxOutput int `json:"max_output_tokens"`
			Price     *provider.Price
			Premium   *float64 `json:"premium_multiplier"`
			Lifecycle *provider.Lifecycle
			Facts     provider.Facts
			Available bool
			Why       string
		}
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return fmt.Errorf("models/list: %w", err)
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL\tTHINKING LEVELS\tDEFAULT\tWINDOW\tOUTPUT\tUSD IN/OUT\tSOURCE\tAVAILABLE")
	for _, m := range list.Models {
		available := "yes"
		if !m.Available {
			available = m.Why
		}
		if m.Facts.Levels.State == provider.FactFamily {
			m.Thinking.Source, m.Thinking.AsOf = "guess:", m.Facts.Levels.Source
		}
		if l := m.Lifecycle; l != nil && (l.Retires != "" || l.State == provider.LifecycleRetired) {
			available += strings.TrimRight("; retires "+l.Retires, " ")
		}
		f := m.Facts
		limits := mark(f.Limits)
		fmt.Fprintf(w, "%s/%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.Provider, m.ID, cmp.Or(strings.Join(m.Levels, " "), "?")+mark(f.Levels), m.Default+mark(f.Default),
			thousands(m.Window)+limits, thousands(m.MaxOutput)+limits, charged(m.Price, m.Premium)+mark(f.Price), strings.TrimSpace(m.Thinking.Source+" "+m.Thinking.AsOf), available)
	}
	return w.Flush()
}

// mark shows how sure a fact is where no page or list of the vendor states it.
func mark(f provider.Fact) string {
	switch f.State {
	case provider.FactFamily:
		return "?"
	case provider.FactTable:
		return "~"
	case provider.FactLearned:
		return "!"
	}
	return ""
}

// showChanges says what a refresh has changed, and who says so.
func (p *program) showChanges(answer json.RawMessage) error {
	var list struct {
		Changes []registry.Change
		More    int
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return fmt.Errorf("models/list: %w", err)
	}
	for _, c := range list.Changes {
		switch {
		case c.Fact == "model":
			fmt.Fprintf(p.errOut, "thinkd: new: %s: %s (%s)\n", c.Model, cmp.Or(c.To, "levels unknown"), because(c.Is))
		default:
			fmt.Fprintf(p.errOut, "thinkd: changed: %s: %s: %s (%s) -> %s (%s)\n", c.Model, c.Fact, cmp.Or(c.From, "unknown"), because(c.Was), cmp.Or(c.To, "unknown"), because(c.Is))
		}
	}
	if list.More > 0 {
		fmt.Fprintf(p.errOut, "thinkd: and %d more changes\n", list.More)
	}
	return nil
}

// because is who states a fact, how sure it is, and of which day.
func because(f *provider.Fact) string {
	if f == nil {
		return "nobody says"
	}
	return strings.TrimSpace(fmt.Sprintf("%s: %s %s", f.State, f.Source, f.AsOf))
}

// showRefresh says whose list there is, and whose is not.
func (p *program) showRefresh(answer json.RawMessage) error {
	var list struct{ Refresh []registry.Refreshed }
	if err := json.Unmarshal(answer, &list); err != nil {
		return fmt.Errorf("models/list: %w", err)
	}
	failed := false
	for _, r := range list.Refresh {
		if r.Error != "" {
			failed = true
			fmt.Fprintf(p.errOut, "thinkd: %s\n", r.Error)
			continue
		}
		fmt.Fprintf(p.errOut, "thinkd: %s lists %d models\n", r.Provider, r.Models)
		for _, row := range r.Skipped {
			fmt.Fprintf(p.errOut, "thinkd: left out: %s\n", row)
		}
	}
	if failed {
		return errReported
	}
	return nil
}

// charged is a model's price, or how many premium requests a prompt counts as on a plan that counts them.
func charged(p *provider.Price, premium *float64) string {
	switch {
	case premium == nil:
		return perMillion(p)
	case p == nil:
		return fmt.Sprintf("%gx premium", *premium)
	}
	return fmt.Sprintf("%s, %gx premium", perMillion(p), *premium)
}

// perMillion is what a million tokens of input and of output cost, for small prompts, now.
func perMillion(p *provider.Price) string {
	if p == nil {
		return "?"
	}
	now := p.At(1, time.Now())
	return fmt.Sprintf("%g/%g", now.Input, now.Output)
}

// thousands is a number of tokens in few characters.
func thousands(n int) string {
	switch {
	case n == 0:
		return "?"
	case n%1_000_000 == 0:
		return fmt.Sprintf("%dM", n/1_000_000)
	}
	return fmt.Sprintf("%dk", n/1000)
}
