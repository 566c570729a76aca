package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/thinkd/thinkd/provider"
)

var (
	controls = []provider.ControlKind{provider.ControlEffort, provider.ControlBudget, provider.ControlToggle,
		provider.ControlAlways, provider.ControlNone}
	offForms   = []provider.OffForm{provider.OffNever, provider.OffFull, provider.OffUpFront}
	samplings  = []provider.SamplingRule{provider.SamplingFree, provider.SamplingNever, provider.SamplingNotInThinking}
	prefills   = []provider.PrefillRule{provider.PrefillNever, provider.PrefillNotInThinking}
	lifecycles = []provider.LifecycleState{provider.LifecyclePreview, provider.LifecycleCurrent, provider.LifecycleDeprecated, provider.LifecycleRetired}
	inputs     = provider.MediaKinds()
)

// check refuses an inconsistent row that is complete otherwise. The error is a *RowError.
func check(m provider.Model) error {
	bad := func(field, format string, args ...any) error {
		return &RowError{m.Provider, m.ID, field, fmt.Sprintf(format, args...)}
	}
	if m.Window < 0 {
		return bad("context_window", "%d is not a number of tokens", m.Window)
	}
	if m.MaxOutput < 0 {
		return bad("max_output_tokens", "%d is not a number of tokens", m.MaxOutput)
	}
	for _, kind := range m.Input {
		if !slices.Contains(inputs, kind) {
			return bad("input", "%q is not one of %s", kind, words(inputs))
		}
	}
	if !slices.Contains(samplings, m.Sampling) {
		return bad("sampling", "%q is not one of free, never, not_in_thinking", m.Sampling)
	}
	if m.Options != nil {
		if err := checkOptions(*m.Options, bad); err != nil {
			return err
		}
	}
	if !slices.Contains(prefills, m.Prefill) {
		return bad("prefill", "%q is not not_in_thinking", m.Prefill)
	}
	if l := m.Lifecycle; l != nil && (!slices.Contains(lifecycles, l.State) || l.Retires != "" && !isDay(l.Retires)) {
		return bad("lifecycle", "%+v: the state is one of %s, and retires a day, YYYY-MM-DD", *l, words(lifecycles))
	}
	if err := checkMedia(m.Media, bad); err != nil {
		return err
	}
	if m.Price != nil {
		if err := m.Price.Check(); err != nil {
			return bad("price", "%v", err)
		}
	}
	if !m.Known {
		return nil // nothing is assumed of its thinking
	}
	if err := checkLevels(m.Thinking, bad); err != nil {
		return err
	}
	if m.Thinking.InPlace && m.Thinking.Control != provider.ControlEffort {
		return bad("thinking.in_place", "the control is %s, which has no effort to change", m.Thinking.Control)
	}
	return checkBudgets(m.Thinking, bad)
}

// checkOptions refuses default options that no client could ask for.
func checkOptions(o provider.Options, bad complaint) error {
	text, err := json.Marshal(o)
	if err == nil {
		_, err = provider.ParseOptions(text)
	}
	if wrong, ok := errors.AsType[*provider.OptionError](err); ok && wrong.Member != "" {
		return bad("options."+wrong.Member, "%s", wrong.Text)
	}
	if err != nil {
		return bad("options", "%v", err)
	}
	return nil
}

func isDay(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

func checkLevels(c provider.Capability, bad complaint) error {
	if c.Control == "" {
		return bad("thinking.control", "missing; it is one of %s", words(controls))
	}
	if !slices.Contains(controls, c.Control) {
		return bad("thinking.control", "%q is not one of %s", c.Control, words(controls))
	}
	if !slices.Contains(offForms, c.Off) {
		return bad("thinking.off", "%q is not one of full, up_front", c.Off)
	}
	for i, level := range c.Levels {
		if level == provider.Auto || level.Rank() < 0 {
			return bad("thinking.levels", "%q is not a level; known: %s", level, words(allLevels()))
		}
		if i > 0 && level.Rank() <= c.Levels[i-1].Rank() {
			return bad("thinking.levels", "%s after %s: levels go upwards, each once", level, c.Levels[i-1])
		}
		if degrees(c.Control) && level == provider.On {
			return bad("thinking.levels", "on is for models without degrees, and the control is %s", c.Control)
		}
	}
	if err := checkShape(c, bad); err != nil {
		return err
	}
	if has := slices.Contains(c.Levels, provider.Off); c.Thinks() && has != c.CanDisable() {
		if has {
			return bad("thinking.levels", "off is listed, but the model cannot be off: set can_disable = true, or leave off out")
		}
		return bad("thinking.levels", "off is missing, but the model can be off")
	}
	if c.Default == "" {
		return bad("thinking.default", "missing; it is one of the levels: %s", words(c.Levels))
	}
	if !slices.Contains(c.Levels, c.Default) {
		return bad("thinking.default", "%q is not one of the levels: %s", c.Default, words(c.Levels))
	}
	for i, d := range c.Display {
		if known, err := provider.ParseDisplay(string(d)); err != nil || known == "" || slices.Contains(c.Display[:i], d) {
			return bad("thinking.display", "%q: each of summarized, omitted, updates may be named once", d)
		}
	}
	return nil
}

// checkShape compares the levels with the control. Only models with degrees have other levels than on and off.
func checkShape(c provider.Capability, bad complaint) error {
	var want []provider.Level
	switch c.Control {
	case provider.ControlToggle:
		want = []provider.Level{provider.Off, provider.On}
	case provider.ControlAlways:
		want = []provider.Level{provider.On}
	case provider.ControlNone:
		want = []provider.Level{provider.Off}
	default:
		if len(thinking(c)) == 0 {
			return bad("thinking.levels", "the control %s needs at least one of %s", c.Control, words(allLevels()[2:]))
		}
		return nil
	}
	if c.Control == provider.ControlToggle && !c.CanDisable() {
		return bad("thinking.can_disable", "a model that thinks and cannot be off has the control always, not toggle")
	}
	if c.Control != provider.ControlToggle && c.CanDisable() {
		return bad("thinking.can_disable", "there is nothing to switch off where the control is %s", c.Control)
	}
	if !slices.Equal(c.Levels, want) {
		return bad("thinking.levels", "the control %s has the levels %s and no others", c.Control, words(want))
	}
	return nil
}

func checkBudgets(c provider.Capability, bad complaint) error {
	if c.Control != provider.ControlBudget {
		if c.BudgetMin != 0 || c.BudgetMax != 0 || len(c.Budgets) > 0 || c.EffortToo {
			return bad("thinking.budgets", "the control is %s, which has no budget", c.Control)
		}
		return nil
	}
	if c.BudgetMin < 1 {
		return bad("thinking.budget_min", "%d is not a number of tokens", c.BudgetMin)
	}
	if c.BudgetMax != 0 && c.BudgetMax < c.BudgetMin {
		return bad("thinking.budget_max", "%d is below the least budget, %d", c.BudgetMax, c.BudgetMin)
	}
	for _, level := range slices.Sorted(maps.Keys(c.Budgets)) {
		if !slices.Contains(thinking(c), level) {
			return bad("thinking.budgets", "tokens for %q, which is not one of the levels: %s", level, words(thinking(c)))
		}
	}
	last := 0
	for _, level := range thinking(c) {
		tokens, ok := c.Budgets[level]
		switch {
		case !ok:
			return bad("thinking.budgets", "no tokens for the level %s", level)
		case tokens < c.BudgetMin:
			return bad("thinking.budgets", "%d tokens for %s are below the least budget, %d", tokens, level, c.BudgetMin)
		case c.BudgetMax != 0 && tokens > c.BudgetMax:
			return bad("thinking.budgets", "%d tokens for %s are above the greatest budget, %d", tokens, level, c.BudgetMax)
		case tokens < last:
			return bad("thinking.budgets", "%d tokens for %s are less than for the level below", tokens, level)
		}
		last = tokens
	}
	return nil
}

// allLevels returns the levels that a row may list: all but auto, which only a request can have.
func allLevels() []provider.Level {
	return slices.DeleteFunc(provider.AllLevels(), func(l provider.Level) bool { return l == provider.Auto })
}

func words[T ~string](list []T) string {
	s := make([]string, len(list))
	for i, w := range list {
		s[i] = string(w)
	}
	return strings.Join(s, ", ")
}
