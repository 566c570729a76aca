package messages

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// control is what the decision on thinking puts into the body.
type control struct {
	Thinking *thinking     `json:"thinking,omitempty"`
	Output   *outputConfig `json:"output_config,omitempty"`
}

type thinking struct {
	Type    string           `json:"type"`
	Budget  int              `json:"budget_tokens,omitempty"`
	Display provider.Display `json:"display,omitempty"`
	Binding *blockBinding    `json:"block_binding,omitempty"`
}

type blockBinding struct {
	PrefixMismatch string `json:"prefix_mismatch_behavior"`
}

type outputConfig struct {
	Effort provider.Level `json:"effort,omitempty"`
	Format *format        `json:"format,omitempty"`
}

// with adds the schema of the answer, if there is one.
func (c *outputConfig) with(f *format) *outputConfig {
	if f == nil {
		return c
	}
	both := outputConfig{Format: f}
	if c != nil {
		both.Effort = c.Effort
	}
	return &both
}

// control turns the decision into the form that the model takes (docs: thinking, effort), less what the host has refused.
func (a *API) control(req *provider.Request) (control, error) {
	c, err := a.decided(req)
	if exchange.Withholds(req, wireAPI, "thinking") {
		c.Thinking = nil
	}
	if exchange.Withholds(req, wireAPI, "output_config") {
		c.Output = nil
	}
	return c, err
}

func (a *API) decided(req *provider.Request) (control, error) {
	want, can := req.Decision.Control, req.Model.Thinking
	on := &thinking{Type: cmp.Or(a.host.On, "adaptive"), Display: want.Display}
	if on.Display == "" && a.hasDisplay(req.Model) {
		on.Display = provider.Summarized // left out, it would mean omitted on newer models and not on older ones
	}
	if slices.Contains(req.Repairs, DropBlock) && a.host.takes(betaBinding) {
		on.Binding = &blockBinding{PrefixMismatch: "drop_block"}
	}
	switch want.Mode {
	case provider.ModeOmit, "":
		return control{}, nil
	case provider.ModeOff:
		switch {
		case can.Off == provider.OffUpFront:
			return control{Thinking: &thinking{Type: "between_tools"}}, nil
		case can.Control == provider.ControlNone:
			return control{}, nil
		}
		return control{Thinking: &thinking{Type: "disabled"}}, nil
	case provider.ModeOn:
		return control{Thinking: on}, nil
	case provider.ModeEffort:
		effort := want.Effort
		if inPlace(req) {
			effort = req.Opening
		}
		return control{Thinking: on, Output: &outputConfig{Effort: effort}}, nil
	case provider.ModeBudget:
		if slices.Contains(req.Repairs, adaptive(req.Model)) {
			return control{Thinking: on}, nil
		}
		c := control{Thinking: &thinking{Type: "enabled", Budget: want.Budget, Display: on.Display}}
		if want.Effort != "" {
			c.Output = &outputConfig{Effort: want.Effort}
		}
		return c, nil
	}
	return control{}, fmt.Errorf("decision on thinking: unknown mode %q", want.Mode)
}

// hasDisplay reports whether `display` may be sent unasked: the vendor's own models all take it, others only if their
// row says so.
func (a *API) hasDisplay(row provider.Model) bool {
	return !a.host.Plain && (a.caller.Vendor == "anthropic" || !row.Known || len(row.Thinking.Display) > 0)
}

// EffortOnTop is the beginning of a repair that says the effort of a model where it is said at first, and no change of
// it inside of the conversation; the model's id follows.
const EffortOnTop = "messages/effort_on_top:"

func effortOnTop(m provider.Model) provider.Repair { return provider.Repair(EffortOnTop + m.ID) }

// inPlace reports whether changes of effort go inside of the conversation. They are refused while thinking is off
// (docs: effort).
func inPlace(req *provider.Request) bool {
	return req.Opening != "" && req.Decision.Control.Mode == provider.ModeEffort && !slices.Contains(req.Repairs, effortOnTop(req.Model))
}

func adaptive(m provider.Model) provider.Repair { return provider.Repair(Adaptive + m.ID) }
