package messages

import (
	"encoding/json"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/schema"
)

// asked is what the options put into the body, except for the limit on output, the form of the answer and marks for the prompt cache.
type asked struct {
	Temperature *float64    `json:"temperature,omitempty"`
	TopP        *float64    `json:"top_p,omitempty"`
	TopK        *int        `json:"top_k,omitempty"`
	Stop        []string    `json:"stop_sequences,omitempty"`
	Choice      *toolChoice `json:"tool_choice,omitempty"`
	Tier        string      `json:"service_tier,omitempty"`
}

type toolChoice struct {
	Type   string `json:"type"`
	Name   string `json:"name,omitempty"`
	Single bool   `json:"disable_parallel_tool_use,omitempty"`
}

// format is the schema of the answer.
type format struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// choices are the API's words for tool_choice, and tiers those for service_tier (docs: tool-use, service-tiers).
var (
	choices = map[provider.ToolChoice]string{provider.ChooseAuto: "auto", provider.ChooseNone: "none", provider.ChooseRequired: "any"}
	tiers   = map[provider.ServiceTier]string{provider.TierAuto: "auto", provider.TierStandard: "standard_only"}
)

// askedOf turns the options into the form that the API takes, less what the host has refused.
func askedOf(req *provider.Request) asked {
	o := req.Options
	a := asked{Temperature: o.Temperature, TopP: o.TopP, TopK: o.TopK, Stop: o.Stop, Tier: tiers[o.ServiceTier]}
	if name := o.ToolChoice.Tool(); name != "" {
		a.Choice = &toolChoice{Type: "tool", Name: name}
	} else if word := choices[o.ToolChoice]; word != "" {
		a.Choice = &toolChoice{Type: word}
	}
	if single := o.ParallelTools; single != nil && !*single && o.ToolChoice != provider.ChooseNone {
		if a.Choice == nil {
			a.Choice = &toolChoice{Type: "auto"}
		}
		a.Choice.Single = true
	}
	if len(req.Tools) == 0 {
		a.Choice = nil
	}
	for _, member := range exchange.Withheld(req, wireAPI) {
		switch member {
		case "temperature":
			a.Temperature = nil
		case "top_p":
			a.TopP = nil
		case "top_k":
			a.TopK = nil
		case "stop_sequences":
			a.Stop = nil
		case "tool_choice":
			a.Choice = nil
		case "service_tier":
			a.Tier = ""
		}
	}
	return a
}

// formatOf is the schema of the answer, nil if none is asked for, and what of it is lost.
func formatOf(req *provider.Request) (*format, []provider.Notice) {
	if req.Options.Schema == nil || exchange.Withholds(req, wireAPI, "output_config") {
		return nil, nil
	}
	fit, _, lost := schema.Output(*req.Options.Schema, schema.AnthropicOutput(), req.Model.ID)
	return &format{"json_schema", fit}, lost
}

// stripSampling takes out what the model's row says is refused, and names it. Where only thinking forbids it, top_p may
// stay from 0.95 up (docs: extended-thinking).
func (a *asked) stripSampling(req *provider.Request) []string {
	if !req.RefusesSampling() {
		return nil
	}
	topP := &a.TopP
	if a.TopP != nil && *a.TopP >= 0.95 && req.Model.Sampling != provider.SamplingNever {
		topP = nil
	}
	return exchange.StripSampling(&a.Temperature, topP, &a.TopK)
}
