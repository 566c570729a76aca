package registry

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
)

// anyModel draws a row that check takes, or none.
func anyModel(t *rapid.T) provider.Model {
	control := rapid.SampledFrom(append([]provider.ControlKind{""}, controls...)).Draw(t, "control")
	if control == "" {
		return provider.Model{Provider: "p", ID: "m"}
	}
	row := Row{ID: "m", Control: control, MaxOutput: rapid.SampledFrom([]int{0, 20_000, 64_000}).Draw(t, "output")}
	if degrees(control) {
		degree := rapid.SampledFrom([]provider.Level{"minimal", "low", "medium", "high", "xhigh", "max"})
		if control == provider.ControlBudget {
			degree = rapid.SampledFrom([]provider.Level{"low", "medium", "high"})
		}
		row.Levels = rapid.SliceOfNDistinct(degree, 1, -1, rapid.ID).Draw(t, "levels")
		slices.SortFunc(row.Levels, func(a, b provider.Level) int { return a.Rank() - b.Rank() })
		off := rapid.Bool().Draw(t, "off")
		row.CanDisable = &off
		defaults := row.Levels
		if off {
			defaults = append([]provider.Level{provider.Off}, defaults...)
		}
		row.Default = rapid.SampledFrom(defaults).Draw(t, "default")
	}
	if control == provider.ControlToggle {
		row.Default = rapid.SampledFrom([]provider.Level{provider.Off, provider.On}).Draw(t, "default")
	}
	if rapid.Bool().Draw(t, "has display") {
		row.Display = []provider.Display{provider.Omitted, provider.Updates}
	}
	catalog, err := New([]Provider{{ID: "p", Rows: []Row{row}}})
	if err != nil {
		t.Fatalf("row %+v: %v", row, err)
	}
	m := catalog.Model("p", "m")
	if m.Thinking.CanDisable() && rapid.Bool().Draw(t, "up front") {
		m.Thinking.Off = provider.OffUpFront
	}
	return m
}

func TestResolveInvariants(t *testing.T) {
	testgo.Check(t, func(t *rapid.T) {
		m := anyModel(t)
		ask := Ask{
			Level:   rapid.SampledFrom(append(provider.AllLevels(), "")).Draw(t, "level"),
			Policy:  rapid.SampledFrom([]provider.Policy{"", provider.Downgrade, provider.FallOff, provider.ProviderDefault, provider.Refuse}).Draw(t, "policy"),
			Display: rapid.SampledFrom([]provider.Display{"", provider.Summarized, provider.Omitted, provider.Updates}).Draw(t, "display"),
		}
		d, err := Resolve(ask, m)
		if err != nil {
			if _, ok := errors.AsType[*provider.LevelError](err); !ok || ask.Policy != provider.Refuse {
				t.Fatalf("%v", err)
			}
			return
		}
		for _, broken := range brokenRules(ask, m, d) {
			t.Errorf("%s: %+v on %+v: %+v", broken, ask, m.Thinking, d)
		}
	})
}

func brokenRules(ask Ask, m provider.Model, d provider.Decision) []string {
	var broken []string
	rule := func(name string, holds bool) {
		if !holds {
			broken = append(broken, name)
		}
	}
	c, eff, out := m.Thinking, d.Effective, d.Control
	rule("effective is a level of the row, or auto", !m.Known || eff == provider.Auto || slices.Contains(c.Levels, eff))
	rule("supported are the row's levels", slices.Equal(d.Supported, c.Levels))
	rule("the vendor's default rules exactly where the level is auto", d.UsedProviderDefault == (eff == provider.Auto))
	rule("a clamp has its reason", d.Reason != provider.AsRequested || eff == d.Requested || d.Requested == provider.On)
	rule("known", d.KnownModel == m.Known)
	if d.Fallback == provider.Downgrade && d.Requested != provider.Off && c.Thinks() {
		rule("off never comes of downgrade", eff != provider.Off)
	}
	if d.Reason == provider.LevelNotSupported && eff != provider.Auto && eff != provider.Off {
		rule("a clamp goes down, or to the lowest", eff.Rank() < d.Requested.Rank() || eff == thinking(c)[0])
		for _, l := range thinking(c) {
			rule("a clamp goes to the nearest", l.Rank() > d.Requested.Rank() || l.Rank() <= eff.Rank())
		}
	}
	if d.Reason == provider.OffNotSupported && eff != provider.Auto {
		rule("off that cannot be is the lowest", eff == thinking(c)[0] && !c.CanDisable())
	}
	rule("effort has its word", (out.Mode == provider.ModeEffort) == (out.Effort != "") || c.EffortToo)
	rule("budget has its tokens", (out.Mode == provider.ModeBudget) == (out.Budget > 0))
	rule("the budget is in the row's range", out.Budget == 0 || out.Budget >= c.BudgetMin && (c.BudgetMax == 0 || out.Budget <= c.BudgetMax))
	rule("a display is for thinking", out.Display == "" || out.Thinking())
	rule("a display is one of the row's", !m.Known || out.Display == "" || slices.Contains(c.Display, out.Display))
	rule("off is off on the wire", (out.Mode == provider.ModeOff) == (eff == provider.Off && (c.Thinks() || !m.Known)))
	return broken
}

func TestResolveIsPure(t *testing.T) {
	testgo.Check(t, func(t *rapid.T) {
		m := anyModel(t)
		ask := Ask{Level: rapid.SampledFrom(provider.AllLevels()).Draw(t, "level")}
		first, second := brief(Resolve(ask, m)), brief(Resolve(ask, m))
		if first != second {
			t.Errorf("%s, then %s", first, second)
		}
	})
}
