package models

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// row is a model of an answer.
type row struct {
	ID, Provider string
	Levels       []string `json:"thinking_levels"`
	Default      string   `json:"default_thinking_level"`
	Window       int      `json:"context_window"`
	Price        *provider.Price
	Premium      *float64 `json:"premium_multiplier"`
	Lifecycle    *provider.Lifecycle
	Facts        provider.Facts
	Available    bool
	Why          string
}

func (m row) name() string { return m.Provider + "/" + m.ID }

// group is the heading that a model stands below: available ones come first, and simulators last.
func (m row) group() (order int, heading string) {
	switch {
	case m.Provider == simulator:
		return 2, "Simulated:"
	case m.Available:
		return 0, "Available:"
	}
	return 1, "Not available, " + cmp.Or(m.Why, "for an unknown reason") + ":"
}

const simulator = "sim" // the provider of the built-in models

// The columns of the table: it has 80.
const (
	width       = 80
	nameWidth   = 30
	levelsWidth = 30
	priceWidth  = 11
)

// Table prints the models of an answer in 80 columns: available ones first, simulators last.
func Table(out io.Writer, answer json.RawMessage) error {
	var list struct {
		Default string `json:"default_model"`
		Models  []row
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return fmt.Errorf("models/list: %w", err)
	}
	slices.SortStableFunc(list.Models, func(a, b row) int {
		before, _ := a.group()
		after, _ := b.group()
		return cmp.Compare(before, after)
	})
	var b strings.Builder
	fmt.Fprintf(&b, "%-*s %-*s %6s %*s\n", nameWidth, "MODEL", levelsWidth, "THINKING LEVELS (*: DEFAULT)", "WINDOW", priceWidth, "USD IN/OUT")
	last := ""
	for _, m := range list.Models {
		if _, heading := m.group(); heading != last {
			b.WriteString("\n")
			for _, line := range wrapped(strings.Fields(heading), width) {
				b.WriteString(line + "\n")
			}
			last = heading
		}
		m.print(&b, m.name() == list.Default)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// print writes a model. What does not fit into a column goes on below it.
func (m row) print(b *strings.Builder, isDefault bool) {
	var levels []string
	for _, l := range m.Levels {
		if l == m.Default {
			l += "*"
			if m.Facts.Default.State != m.Facts.Levels.State { // otherwise the mark of the levels says it
				l += mark(m.Facts.Default)
			}
		}
		levels = append(levels, l)
	}
	if len(levels) == 0 {
		levels = []string{"?"}
	} else {
		levels[len(levels)-1] += mark(m.Facts.Levels)
	}
	name, lines := m.name(), wrapped(levels, levelsWidth)
	if len(name) > nameWidth {
		fmt.Fprintln(b, name)
		name = ""
	}
	fmt.Fprintf(b, "%-*s %-*s %6s %*s\n", nameWidth, name, levelsWidth, lines[0], thousands(m.Window)+mark(m.Facts.Limits), priceWidth, perMillion(m.Price)+mark(m.Facts.Price))
	for _, line := range lines[1:] {
		fmt.Fprintf(b, "%-*s %s\n", nameWidth, "", line)
	}
	if notes := m.notes(isDefault); len(notes) > 0 {
		for _, line := range wrapped(strings.Fields(strings.Join(notes, "; ")), width-2) {
			fmt.Fprintln(b, "  "+line)
		}
	}
}

// notes are the facts of a model that have no column.
func (m row) notes(isDefault bool) (notes []string) {
	if isDefault {
		notes = append(notes, "the default of new sessions")
	}
	if m.Facts.Levels.State == provider.FactFamily {
		notes = append(notes, "levels are a guess: "+m.Facts.Levels.Source)
	}
	if l := m.Lifecycle; l != nil {
		switch {
		case l.State == provider.LifecycleRetired:
			notes = append(notes, strings.TrimSpace("retired "+l.Retires))
		case l.Retires != "":
			notes = append(notes, "retires "+l.Retires)
		case l.State == provider.LifecyclePreview:
			notes = append(notes, "a preview")
		}
		if l.ReplacedBy != "" {
			notes = append(notes, "replaced by "+l.ReplacedBy)
		}
	}
	if m.Premium != nil {
		notes = append(notes, fmt.Sprintf("%gx premium", *m.Premium))
	}
	return notes
}

// wrapped are words in lines of at most most characters, unless a word is longer.
func wrapped(words []string, most int) (lines []string) {
	line := ""
	for _, w := range words {
		if line != "" && len(line)+1+len(w) > most {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + w)
	}
	return append(lines, line)
}

// Available is an answer without the models that cannot be called now.
func Available(answer json.RawMessage) (json.RawMessage, error) {
	var whole map[string]json.RawMessage
	var list []json.RawMessage
	if err := json.Unmarshal(answer, &whole); err != nil {
		return nil, fmt.Errorf("models/list: %w", err)
	}
	if err := json.Unmarshal(whole["models"], &list); err != nil {
		return nil, fmt.Errorf("models/list: %w", err)
	}
	some := []json.RawMessage{}
	for _, m := range list {
		var is struct{ Available bool }
		if err := json.Unmarshal(m, &is); err != nil {
			return nil, fmt.Errorf("models/list: %w", err)
		}
		if is.Available {
			some = append(some, m)
		}
	}
	var err error
	if whole["models"], err = json.Marshal(some); err != nil {
		return nil, err
	}
	return json.Marshal(whole)
}

// Missing says why no model of an answer can be called. It prints nothing if one can, or if the answer has none.
func Missing(out io.Writer, answer json.RawMessage) error {
	var list struct{ Models []row }
	if err := json.Unmarshal(answer, &list); err != nil {
		return fmt.Errorf("models/list: %w", err)
	}
	var reasons []string
	for _, m := range list.Models {
		if m.Available {
			return nil
		}
		if why := cmp.Or(m.Why, "for an unknown reason"); !slices.Contains(reasons, why) {
			reasons = append(reasons, why)
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(out, "\nNone is available: %s.\n", strings.Join(reasons, "; "))
	return err
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

// perMillion is what a million tokens of input and of output cost, for small prompts, now. It is rounded if it does not fit into its column.
func perMillion(p *provider.Price) string {
	if p == nil {
		return "?"
	}
	now := p.At(1, time.Now())
	exact := fmt.Sprintf("%g/%g", now.Input, now.Output)
	if len(exact) >= priceWidth {
		return fmt.Sprintf("%.2g/%.2g", now.Input, now.Output)
	}
	return exact
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
