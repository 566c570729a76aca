package responses

import (
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// control turns the decision into the form that the API takes (docs: reasoning). All there is is a word; a summary has
// to be asked for, or thinking is not shown at all.
func (a *API) control(req *provider.Request) (control, error) {
	c, err := a.decided(req)
	c.withhold(exchange.Withheld(req, wireAPI))
	return c, err
}

func (a *API) decided(req *provider.Request) (control, error) {
	want, can := req.Decision.Control, req.Model.Thinking
	r := reasoning{}
	switch want.Mode {
	case provider.ModeOmit, "":
		return control{}, nil
	case provider.ModeOff:
		if can.Control == provider.ControlNone {
			return control{}, nil
		}
		return control{&reasoning{Effort: nearest("none", req)}}, nil
	case provider.ModeOn:
	case provider.ModeEffort:
		r.Effort = nearest(string(want.Effort), req)
		if a.inPlace(req) {
			r.Effort = nearest(string(req.Opening), req)
		}
	case provider.ModeBudget:
		return control{}, fmt.Errorf("decision on thinking: a budget of tokens, and this API has none")
	default:
		return control{}, fmt.Errorf("decision on thinking: unknown mode %q", want.Mode)
	}
	asked := want.Display != "" && want.Display != provider.Omitted || want.Display == "" && !req.Model.Known
	if asked && !slices.Contains(req.Repairs, NoSummary) {
		r.Summary = "auto"
	}
	if can.AllTurns {
		r.Context = "all_turns"
	}
	if r == (reasoning{}) {
		return control{}, nil
	}
	return control{&r}, nil
}

// withhold is the same for what the decision on thinking puts into the body.
func (c *control) withhold(members []string) {
	if c.Reasoning == nil {
		return
	}
	left := *c.Reasoning
	for _, member := range members {
		switch member {
		case "reasoning":
			left = reasoning{}
		case "reasoning.effort":
			left.Effort = ""
		case "reasoning.summary":
			left.Summary = ""
		case "reasoning.context":
			left.Context = ""
		}
	}
	if c.Reasoning = &left; left == (reasoning{}) {
		c.Reasoning = nil
	}
}
