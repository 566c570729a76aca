package registry

import (
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// Ask is a request for thinking. An empty word means that no source names one.
type Ask struct {
	Level   provider.Level
	Source  provider.Source  // who asked for Level; unused where nobody did
	Policy  provider.Policy  // empty: downgrade
	Display provider.Display // empty: summarized
}

// Resolve decides an ask for a model's row, which comes from a [Catalog]. The decision's Control states what the request
// contains. The adapter fills in its Wire.
//
// If the row lacks the level, the policy decides. With [provider.Refuse] the error is a *[provider.LevelError]. An unknown
// word is the same error with every policy. For a model that has degrees, on means its default level, or medium or the
// nearest level below it if the default is off. UsedProviderDefault is true exactly if the effective level is auto.
//
// If the row lacks the display, summarized takes its place, or the first display of the row. A caller notices that if
// Control.Thinking is true and Control.Display differs from the ask. Without a row, every display is used as requested, like
// every level.
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

// byDefault decides for the row's own default. The request names it like a chosen level: vendors have changed their defaults
// between models, and the request has to agree with the decision.
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

// unknown decides for a model without a row: the requested level is sent in the vendor's spelling. The vendor's refusal is
// better than a guess.
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

// control returns the form in which an effective level is sent.
func control(c provider.Capability, level provider.Level, display provider.Display) provider.Control {
	if !c.Thinks() {
		return provider.Control{Mode: provider.ModeOmit}
	}
	switch level {
	case provider.Off:
		return provider.Control{Mode: provider.ModeOff}
	case provider.Auto:
		// If thinking is on anyway, the form without a degree is sent for its display: the vendor's default hides
		// thinking on some models. [docs: thinking] A budget has no form without a number.
		if !c.OnByDefault() || c.Control == provider.ControlBudget {
			return provider.Control{Mode: provider.ModeOmit}
		}
		level = provider.On
	}
	out := provider.Control{Mode: provider.ModeOn, Display: shown(display, c.Display)}
	switch {
	case level == provider.On:
		// A model that always thinks takes no parameter, unless it has several displays.
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

// on returns the level for "on" on a row with degrees.
func on(c provider.Capability) provider.Level {
	if c.Default != provider.Off {
		return c.Default
	}
	if slices.Contains(c.Levels, provider.Medium) {
		return provider.Medium
	}
	return below(c, provider.Medium)
}

// below returns the nearest level below the requested one at which the row thinks, or the lowest if there is none.
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

// thinking returns the levels at which a row thinks. check guarantees at least one.
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
