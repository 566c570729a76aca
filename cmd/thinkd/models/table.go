package models

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// Table prints a row for each model of an answer.
func Table(out io.Writer, answer json.RawMessage) error {
	var list struct {
		Default string `json:"default_model"`
		Models  []struct {
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
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
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
		if m.Provider+"/"+m.ID == list.Default {
			available += "; default"
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
