package registry

import (
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// Ask is what somebody wants of a model's thinking. Empty words mean that nobody said anything.
type Ask struct {
	Level   provider.Level
	Source  provider.Source  // who asked for Level; unused where nobody did
	Policy  provider.Policy  // empty: downgrade
	Display provider.Display // empty: summarized
}

// Resolve settles an ask on a model's row, which comes from a [Catalog]. The decision's Control says what goes on the
// wire; its Wire is the adapter's to fill in.
//
// A level that the row lacks follows the policy; with [provider.Refuse] it is a *[provider.LevelError]. So is a word
// outside the vocabulary, whatever the policy. On asked of a row with degrees is not a lack: it is the row's default if
// that thinks, else medium or the nearest below. UsedProviderDefault holds exactly where the effective level is auto.
//
// A display that the row lacks becomes summarized, else the first that the row has; the caller sees it by comparing
// Control.Display with what was asked, where Control.Thinking. Without a row an asked display passes, as levels do.
func Resolve(ask Ask, m provider.Model) (provider.Decision, error) {
	policy, err := provider.ParsePolicy(string(ask.Policy))
	if err != nil {
		return provider.Decision{}, err
	}
	if _, err := provider.ParseDisplay(string(ask.Display)); err != nil {
		return provider.Decision{}, err
	}
	d := provider.Decision{
		Source: ask.Source, Requested: ask.Level, Fallback: policy,
		Supported: append([]provider.Level{}, m.Thinking.Levels...), KnownModel: m.Known,
	}
	if ask.Level != "" {
		if d.Requested, err = provider.ParseLevel(string(ask.Level)); err != nil {
			return provider.Decision{}, err
		}
	}
	switch {
	case !m.Known:
		err = unknown(&d, ask.Display, m)
	case ask.Level == "":
		byDefault(&d, m.Thinking)
	default:
		err = settle(&d, m)
	}
	if err != nil {
		return provider.Decision{}, err
	}
	if m.Known {
		d.Control = control(m.Thinking, d.Effective, ask.Display)
	}
	d.UsedProviderDefault = d.Effective == provider.Auto
	return d, nil
}

// byDefault is the row's own default, put on the wire like a choice: what a vendor does unasked has changed between
// models, and the wire should say what the decision says.
func byDefault(d *provider.Decision, c provider.Capability) {
	d.Source = provider.SourceModel
	d.Requested, d.Effective, d.Reason = c.Default, c.Default, provider.ModelDefault
	if !c.Thinks() {
		d.Requested, d.Effective, d.Reason = provider.Off, provider.Off, provider.NoThinking
	}
}

// settle finds the level that takes the place of the requested one on a row.
func settle(d *provider.Decision, m provider.Model) error {
	c, asked := m.Thinking, d.Requested
	d.Effective, d.Reason = asked, provider.AsRequested
	switch {
	case !c.Thinks():
		d.Effective, d.Reason = provider.Off, provider.NoThinking
		if d.Fallback == provider.Refuse && asked != provider.Off && asked != provider.Auto {
			return refusal(asked, m)
		}
		return nil
	case asked == provider.Auto:
		return nil
	case slices.Contains(c.Levels, asked):
		if asked == provider.Off && c.Off == provider.OffUpFront {
			d.Reason = provider.OffUpFrontOnly
		}
		return nil
	case asked == provider.On:
		d.Effective = on(c)
		return nil
	case asked == provider.Off:
		d.Reason = provider.OffNotSupported
	default:
		d.Reason = provider.LevelNotSupported
	}
	switch {
	case d.Fallback == provider.Refuse:
		return refusal(asked, m)
	case d.Fallback == provider.ProviderDefault:
		d.Effective = provider.Auto
	case d.Fallback == provider.FallOff && c.CanDisable():
		d.Effective = provider.Off
	default:
		d.Effective = below(c, asked)
	}
	return nil
}

// unknown settles a level on a model without a row: what somebody said passes as the vendor spells it, since guessing
// would be worse than the vendor's own answer.
func unknown(d *provider.Decision, display provider.Display, m provider.Model) error {
	asked := d.Requested
	d.Reason = provider.UnknownModel
	switch asked {
	case "":
		d.Source, d.Requested = provider.SourceUnset, provider.Auto
		fallthrough
	case provider.Auto:
		d.Effective = provider.Auto
		d.Control = provider.Control{Mode: provider.ModeOmit}
		return nil
	}
	if d.Fallback == provider.Refuse {
		return refusal(asked, m)
	}
	d.Effective = asked
	switch asked {
	case provider.Off:
		d.Control = provider.Control{Mode: provider.ModeOff}
	case provider.On:
		d.Control = provider.Control{Mode: provider.ModeOn, Display: display}
	default:
		d.Control = provider.Control{Mode: provider.ModeEffort, Effort: asked, Display: display}
	}
	return nil
}

func refusal(asked provider.Level, m provider.Model) error {
	supported := slices.Clone(m.Thinking.Levels)
	if len(supported) == 0 {
		supported = []provider.Level{provider.Auto} // without a row nothing can be promised but silence
	}
	return &provider.LevelError{Level: asked, Model: m.Ref(), Supported: supported}
}

// control says how an effective level goes on the wire.
func control(c provider.Capability, level provider.Level, display provider.Display) provider.Control {
	if !c.Thinks() {
		return provider.Control{Mode: provider.ModeOmit}
	}
	switch level {
	case provider.Off:
		return provider.Control{Mode: provider.ModeOff}
	case provider.Auto:
		// Where thinking is on anyway the on-form goes out without a degree, for its display: the vendor's default
		// display is not neutral (docs: thinking). A budget has no on-form without a number.
		if !c.OnByDefault() || c.Control == provider.ControlBudget {
			return provider.Control{Mode: provider.ModeOmit}
		}
		level = provider.On
	}
	out := provider.Control{Mode: provider.ModeOn, Display: shown(display, c.Display)}
	switch {
	case level == provider.On:
		// Nothing can be said to a model that always thinks, unless its thinking can be shown in several ways.
		if c.Control == provider.ControlAlways && len(c.Display) == 0 {
			out.Mode = provider.ModeOmit
		}
	case c.Control == provider.ControlBudget:
		out.Mode, out.Budget = provider.ModeBudget, c.Budgets[level]
		if c.EffortToo {
			out.Effort = level
		}
	default:
		out.Mode, out.Effort = provider.ModeEffort, level
	}
	return out
}

// on is the level of thinking that a row with degrees has when none is named.
func on(c provider.Capability) provider.Level {
	if c.Default != provider.Off {
		return c.Default
	}
	if slices.Contains(c.Levels, provider.Medium) {
		return provider.Medium
	}
	return below(c, provider.Medium)
}

// below is the nearest level under the asked one at which the row thinks, else its lowest.
func below(c provider.Capability, asked provider.Level) provider.Level {
	list := thinking(c)
	best := list[0]
	for _, level := range list {
		if level.Rank() < asked.Rank() {
			best = level
		}
	}
	return best
}

// thinking lists the levels at which a row thinks: one at least, or check would have refused the row.
func thinking(c provider.Capability) []provider.Level {
	return slices.DeleteFunc(slices.Clone(c.Levels), func(l provider.Level) bool { return l == provider.Off })
}

func shown(asked provider.Display, has []provider.Display) provider.Display {
	switch {
	case len(has) == 0:
		return ""
	case slices.Contains(has, asked):
		return asked
	case slices.Contains(has, provider.Summarized):
		return provider.Summarized
	}
	return has[0]
}
