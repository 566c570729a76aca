package registry

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
)

// brief is a decision in short: effective level, reason, wire. The wire is omit, off, on, effort:WORD or
// budget:TOKENS, with +WORD for an effort beside a budget and /DISPLAY.
func brief(d provider.Decision, err error) string {
	if refused, ok := errors.AsType[*provider.LevelError](err); ok {
		return "error " + strings.ReplaceAll(words(refused.Supported), ", ", ",")
	}
	if err != nil {
		return err.Error()
	}
	wire := string(d.Control.Mode)
	switch d.Control.Mode {
	case provider.ModeEffort:
		wire += ":" + string(d.Control.Effort)
	case provider.ModeBudget:
		wire += fmt.Sprintf(":%d", d.Control.Budget)
		if d.Control.Effort != "" {
			wire += "+" + string(d.Control.Effort)
		}
	}
	if d.Control.Display != "" {
		wire += "/" + string(d.Control.Display)
	}
	return fmt.Sprintf("%s %s %s", d.Effective, d.Reason, wire)
}

const (
	so  = "summarized omitted"
	sou = "summarized omitted updates"
)

// line is what a level becomes under each policy; "=" is the same as under downgrade.
type line struct {
	asked                                    string // empty: nobody asked
	downgrade, off, providerDefault, refused string
}

var grids = []struct {
	name  string
	model provider.Model
	lines []line
}{
	{
		"effort with gaps, can be off, on by default",
		model("effort", "off low high", "high", provider.OffFull, so),
		[]line{
			{"", "high model_default effort:high/summarized", "=", "=", "="},
			{"auto", "auto as_requested on/summarized", "=", "=", "="},
			{"off", "off as_requested off", "=", "=", "="},
			{"none", "off as_requested off", "=", "=", "="},
			{"on", "high as_requested effort:high/summarized", "=", "=", "="},
			{"minimal", "low level_not_supported effort:low/summarized", "off level_not_supported off", "auto level_not_supported on/summarized", "error off,low,high"},
			{"low", "low as_requested effort:low/summarized", "=", "=", "="},
			{"medium", "low level_not_supported effort:low/summarized", "off level_not_supported off", "auto level_not_supported on/summarized", "error off,low,high"},
			{"high", "high as_requested effort:high/summarized", "=", "=", "="},
			{"xhigh", "high level_not_supported effort:high/summarized", "off level_not_supported off", "auto level_not_supported on/summarized", "error off,low,high"},
			{"max", "high level_not_supported effort:high/summarized", "off level_not_supported off", "auto level_not_supported on/summarized", "error off,low,high"},
		},
	},
	{
		"effort, never off, no display",
		model("effort", "medium xhigh", "medium", provider.OffNever, ""),
		[]line{
			{"", "medium model_default effort:medium", "=", "=", "="},
			{"auto", "auto as_requested on", "=", "=", "="},
			{"off", "medium off_not_supported effort:medium", "=", "auto off_not_supported on", "error medium,xhigh"},
			{"none", "medium off_not_supported effort:medium", "=", "auto off_not_supported on", "error medium,xhigh"},
			{"on", "medium as_requested effort:medium", "=", "=", "="},
			{"minimal", "medium level_not_supported effort:medium", "=", "auto level_not_supported on", "error medium,xhigh"},
			{"low", "medium level_not_supported effort:medium", "=", "auto level_not_supported on", "error medium,xhigh"},
			{"medium", "medium as_requested effort:medium", "=", "=", "="},
			{"high", "medium level_not_supported effort:medium", "=", "auto level_not_supported on", "error medium,xhigh"},
			{"xhigh", "xhigh as_requested effort:xhigh", "=", "=", "="},
			{"max", "xhigh level_not_supported effort:xhigh", "=", "auto level_not_supported on", "error medium,xhigh"},
		},
	},
	{
		"effort, off by default, no medium",
		model("effort", "off minimal low high", "off", provider.OffFull, "omitted updates"),
		[]line{
			{"", "off model_default off", "=", "=", "="},
			{"auto", "auto as_requested omit", "=", "=", "="},
			{"off", "off as_requested off", "=", "=", "="},
			{"on", "low as_requested effort:low/omitted", "=", "=", "="},
			{"minimal", "minimal as_requested effort:minimal/omitted", "=", "=", "="},
			{"medium", "low level_not_supported effort:low/omitted", "off level_not_supported off", "auto level_not_supported omit", "error off,minimal,low,high"},
			{"max", "high level_not_supported effort:high/omitted", "off level_not_supported off", "auto level_not_supported omit", "error off,minimal,low,high"},
		},
	},
	{
		"effort, off by default, nothing as low as medium",
		model("effort", "off high", "off", provider.OffFull, ""),
		[]line{
			{"on", "high as_requested effort:high", "=", "=", "="},
			{"low", "high level_not_supported effort:high", "off level_not_supported off", "auto level_not_supported omit", "error off,high"},
		},
	},
	{
		"effort, off up front only",
		model("effort", "off low medium high", "high", provider.OffUpFront, sou),
		[]line{
			{"", "high model_default effort:high/summarized", "=", "=", "="},
			{"auto", "auto as_requested on/summarized", "=", "=", "="},
			{"off", "off off_up_front_only off", "=", "=", "="},
			{"none", "off off_up_front_only off", "=", "=", "="},
			{"on", "high as_requested effort:high/summarized", "=", "=", "="},
			{"minimal", "low level_not_supported effort:low/summarized", "off level_not_supported off", "auto level_not_supported on/summarized", "error off,low,medium,high"},
			{"low", "low as_requested effort:low/summarized", "=", "=", "="},
			{"medium", "medium as_requested effort:medium/summarized", "=", "=", "="},
			{"high", "high as_requested effort:high/summarized", "=", "=", "="},
			{"xhigh", "high level_not_supported effort:high/summarized", "off level_not_supported off", "auto level_not_supported on/summarized", "error off,low,medium,high"},
			{"max", "high level_not_supported effort:high/summarized", "off level_not_supported off", "auto level_not_supported on/summarized", "error off,low,medium,high"},
		},
	},
	{
		"budget, off by default",
		budgetModel("off low medium high", "off", provider.OffFull, so, 2000, 20_000),
		[]line{
			{"", "off model_default off", "=", "=", "="},
			{"auto", "auto as_requested omit", "=", "=", "="},
			{"off", "off as_requested off", "=", "=", "="},
			{"on", "medium as_requested budget:10000/summarized", "=", "=", "="},
			{"minimal", "low level_not_supported budget:4096/summarized", "off level_not_supported off", "auto level_not_supported omit", "error off,low,medium,high"},
			{"low", "low as_requested budget:4096/summarized", "=", "=", "="},
			{"medium", "medium as_requested budget:10000/summarized", "=", "=", "="},
			{"high", "high as_requested budget:20000/summarized", "=", "=", "="},
			{"xhigh", "high level_not_supported budget:20000/summarized", "off level_not_supported off", "auto level_not_supported omit", "error off,low,medium,high"},
			{"max", "high level_not_supported budget:20000/summarized", "off level_not_supported off", "auto level_not_supported omit", "error off,low,medium,high"},
		},
	},
	{
		"budget, never off, great least budget",
		budgetModel("low high", "low", provider.OffNever, "", 8000, 0),
		[]line{
			{"", "low model_default budget:8000", "=", "=", "="},
			{"auto", "auto as_requested omit", "=", "=", "="},
			{"off", "low off_not_supported budget:8000", "=", "auto off_not_supported omit", "error low,high"},
			{"on", "low as_requested budget:8000", "=", "=", "="},
			{"minimal", "low level_not_supported budget:8000", "=", "auto level_not_supported omit", "error low,high"},
			{"medium", "low level_not_supported budget:8000", "=", "auto level_not_supported omit", "error low,high"},
			{"high", "high as_requested budget:32000", "=", "=", "="},
			{"max", "high level_not_supported budget:32000", "=", "auto level_not_supported omit", "error low,high"},
		},
	},
	{
		"toggle, on by default",
		model("toggle", "off on", "on", provider.OffFull, so),
		[]line{
			{"", "on model_default on/summarized", "=", "=", "="},
			{"auto", "auto as_requested on/summarized", "=", "=", "="},
			{"off", "off as_requested off", "=", "=", "="},
			{"on", "on as_requested on/summarized", "=", "=", "="},
			{"minimal", "on level_not_supported on/summarized", "off level_not_supported off", "auto level_not_supported on/summarized", "error off,on"},
			{"low", "on level_not_supported on/summarized", "off level_not_supported off", "auto level_not_supported on/summarized", "error off,on"},
			{"medium", "on level_not_supported on/summarized", "off level_not_supported off", "auto level_not_supported on/summarized", "error off,on"},
			{"high", "on level_not_supported on/summarized", "off level_not_supported off", "auto level_not_supported on/summarized", "error off,on"},
			{"xhigh", "on level_not_supported on/summarized", "off level_not_supported off", "auto level_not_supported on/summarized", "error off,on"},
			{"max", "on level_not_supported on/summarized", "off level_not_supported off", "auto level_not_supported on/summarized", "error off,on"},
		},
	},
	{
		"toggle, off by default",
		model("toggle", "off on", "off", provider.OffFull, ""),
		[]line{
			{"", "off model_default off", "=", "=", "="},
			{"auto", "auto as_requested omit", "=", "=", "="},
			{"off", "off as_requested off", "=", "=", "="},
			{"on", "on as_requested on", "=", "=", "="},
			{"high", "on level_not_supported on", "off level_not_supported off", "auto level_not_supported omit", "error off,on"},
		},
	},
	{
		"always, can be shown in two ways",
		model("always", "on", "on", provider.OffNever, so),
		[]line{
			{"", "on model_default on/summarized", "=", "=", "="},
			{"auto", "auto as_requested on/summarized", "=", "=", "="},
			{"off", "on off_not_supported on/summarized", "=", "auto off_not_supported on/summarized", "error on"},
			{"on", "on as_requested on/summarized", "=", "=", "="},
			{"low", "on level_not_supported on/summarized", "=", "auto level_not_supported on/summarized", "error on"},
			{"max", "on level_not_supported on/summarized", "=", "auto level_not_supported on/summarized", "error on"},
		},
	},
	{
		"always, nothing to say",
		model("always", "on", "on", provider.OffNever, ""),
		[]line{
			{"", "on model_default omit", "=", "=", "="},
			{"auto", "auto as_requested omit", "=", "=", "="},
			{"off", "on off_not_supported omit", "=", "auto off_not_supported omit", "error on"},
			{"on", "on as_requested omit", "=", "=", "="},
			{"minimal", "on level_not_supported omit", "=", "auto level_not_supported omit", "error on"},
			{"high", "on level_not_supported omit", "=", "auto level_not_supported omit", "error on"},
		},
	},
	{
		"does not think",
		model("none", "off", "off", provider.OffNever, ""),
		[]line{
			{"", "off no_thinking omit", "=", "=", "="},
			{"auto", "off no_thinking omit", "=", "=", "="},
			{"off", "off no_thinking omit", "=", "=", "="},
			{"none", "off no_thinking omit", "=", "=", "="},
			{"on", "off no_thinking omit", "=", "=", "error off"},
			{"minimal", "off no_thinking omit", "=", "=", "error off"},
			{"low", "off no_thinking omit", "=", "=", "error off"},
			{"medium", "off no_thinking omit", "=", "=", "error off"},
			{"high", "off no_thinking omit", "=", "=", "error off"},
			{"xhigh", "off no_thinking omit", "=", "=", "error off"},
			{"max", "off no_thinking omit", "=", "=", "error off"},
		},
	},
	{
		"no row",
		provider.Model{Provider: "p", ID: "m", Source: provider.FromNobody},
		[]line{
			{"", "auto unknown_model omit", "=", "=", "="},
			{"auto", "auto unknown_model omit", "=", "=", "="},
			{"off", "off unknown_model off", "=", "=", "error auto"},
			{"none", "off unknown_model off", "=", "=", "error auto"},
			{"on", "on unknown_model on", "=", "=", "error auto"},
			{"minimal", "minimal unknown_model effort:minimal", "=", "=", "error auto"},
			{"low", "low unknown_model effort:low", "=", "=", "error auto"},
			{"medium", "medium unknown_model effort:medium", "=", "=", "error auto"},
			{"high", "high unknown_model effort:high", "=", "=", "error auto"},
			{"xhigh", "xhigh unknown_model effort:xhigh", "=", "=", "error auto"},
			{"max", "max unknown_model effort:max", "=", "=", "error auto"},
		},
	},
}

func TestResolve(t *testing.T) {
	for _, g := range grids {
		t.Run(g.name, func(t *testing.T) {
			for _, l := range g.lines {
				for policy, want := range map[provider.Policy]string{
					"": l.downgrade, provider.Downgrade: l.downgrade, provider.FallOff: l.off,
					provider.ProviderDefault: l.providerDefault, provider.Refuse: l.refused,
				} {
					if want == "=" {
						want = l.downgrade
					}
					got := brief(Resolve(Ask{Level: provider.Level(l.asked), Source: provider.SourceTurn, Policy: policy}, g.model))
					if got != want {
						t.Errorf("%q, policy %q:\n got %s\nwant %s", l.asked, policy, got, want)
					}
				}
			}
		})
	}
}

func TestResolveRecord(t *testing.T) {
	d, err := Resolve(Ask{Level: "xhigh", Source: provider.SourceSession}, model("effort", "off low high", "high", provider.OffFull, so))
	if err != nil {
		t.Fatal(err)
	}
	if d.Source != provider.SourceSession || d.Requested != provider.XHigh || d.Fallback != provider.Downgrade ||
		!slices.Equal(d.Supported, []provider.Level{"off", "low", "high"}) || !d.KnownModel || d.UsedProviderDefault || d.Wire != nil {
		t.Errorf("a clamp: %+v", d)
	}

	d, err = Resolve(Ask{Source: provider.SourceSession, Policy: provider.FallOff}, model("effort", "low high", "high", provider.OffNever, ""))
	if err != nil {
		t.Fatal(err)
	}
	if d.Source != provider.SourceModel || d.Requested != provider.High || d.Fallback != provider.FallOff || d.UsedProviderDefault {
		t.Errorf("nobody asked: %+v", d)
	}

	d, err = Resolve(Ask{}, provider.Model{Provider: "p", ID: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if d.Source != provider.SourceUnset || d.Requested != provider.Auto || d.Supported == nil || len(d.Supported) != 0 || d.KnownModel || !d.UsedProviderDefault {
		t.Errorf("nobody asked, no row: %+v", d)
	}

	d, err = Resolve(Ask{Level: "none", Source: provider.SourceAgent}, provider.Model{Provider: "p", ID: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if d.Source != provider.SourceAgent || d.Requested != provider.Off || d.UsedProviderDefault {
		t.Errorf("off, no row: %+v", d)
	}
}

func TestResolveSharesNothing(t *testing.T) {
	m := model("effort", "off low high", "high", provider.OffFull, so)
	d, err := Resolve(Ask{}, m)
	if err != nil {
		t.Fatal(err)
	}
	d.Supported[0] = "changed"
	if m.Thinking.Levels[0] != provider.Off {
		t.Error("a decision's list of levels is the row's own")
	}
}

func TestResolveDisplay(t *testing.T) {
	effort := func(display string) provider.Model {
		return model("effort", "off low high", "high", provider.OffFull, display)
	}
	for _, tt := range []struct {
		name  string
		model provider.Model
		level provider.Level
		asked provider.Display
		want  provider.Display
	}{
		{"asked and there", effort(sou), "low", "updates", "updates"},
		{"omitted", effort(so), "", "omitted", "omitted"},
		{"not there", effort(so), "low", "updates", "summarized"},
		{"not there, nor summarized", effort("omitted"), "low", "updates", "omitted"},
		{"nobody asked", effort(so), "low", "", "summarized"},
		{"vendor without the parameter", effort(""), "low", "omitted", ""},
		{"thinking is off", effort(so), "off", "omitted", ""},
		{"auto with thinking on", effort(so), "auto", "omitted", "omitted"},
		{"budget", budgetModel("off low medium high", "off", provider.OffFull, so, 1024, 0), "low", "omitted", "omitted"},
		{"auto with thinking off", budgetModel("off low", "off", provider.OffFull, so, 1024, 0), "auto", "omitted", ""},
		{"always", model("always", "on", "on", provider.OffNever, so), "auto", "omitted", "omitted"},
		{"no row, level asked", provider.Model{}, "low", "omitted", "omitted"},
		{"no row, on asked", provider.Model{}, "on", "updates", "updates"},
		{"no row, off asked", provider.Model{}, "off", "omitted", ""},
		{"no row, nobody asked", provider.Model{}, "", "omitted", ""},
	} {
		d, err := Resolve(Ask{Level: tt.level, Display: tt.asked}, tt.model)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if d.Control.Display != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, d.Control.Display, tt.want)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	thinks := model("effort", "off low high", "high", provider.OffFull, so)
	for _, tt := range []struct {
		name  string
		ask   Ask
		model provider.Model
		want  string
	}{
		{"no such word", Ask{Level: "ultra"}, thinks,
			`unknown thinking level "ultra"; known: off, auto, on, minimal, low, medium, high, xhigh, max`},
		{"no such word, no row", Ask{Level: "High"}, provider.Model{},
			`unknown thinking level "High"; known: off, auto, on, minimal, low, medium, high, xhigh, max`},
		{"no such policy", Ask{Policy: "guess"}, thinks, `unknown fallback "guess"; known: downgrade, off, provider_default, error`},
		{"no such display", Ask{Display: "loud"}, thinks, `unknown display "loud"; known: summarized, omitted, updates`},
		{"the model lacks it", Ask{Level: "max", Policy: "error"}, thinks, `model p/m has no thinking level "max"; it has: off, low, high`},
	} {
		d, err := Resolve(tt.ask, tt.model)
		if err == nil {
			t.Errorf("%s: got %+v, want an error", tt.name, d)
		} else if err.Error() != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, err, tt.want)
		}
	}
}

func model(control provider.ControlKind, levels string, byDefault provider.Level, off provider.OffForm, display string) provider.Model {
	m := provider.Model{Provider: "p", ID: "m", Known: true, Thinking: provider.Capability{Control: control, Default: byDefault, Off: off}}
	for _, l := range strings.Fields(levels) {
		m.Thinking.Levels = append(m.Thinking.Levels, provider.Level(l))
	}
	for _, d := range strings.Fields(display) {
		m.Thinking.Display = append(m.Thinking.Display, provider.Display(d))
	}
	return m
}

func budgetModel(levels string, byDefault provider.Level, off provider.OffForm, display string, least, most int) provider.Model {
	m := model(provider.ControlBudget, levels, byDefault, off, display)
	m.Thinking.BudgetMin, m.Thinking.BudgetMax = least, most
	return complete(m, nil)
}
