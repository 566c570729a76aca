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

// hosted is a tool that the vendor runs.
type hosted struct {
	Type    string   `json:"type"`
	Name    string   `json:"name"`
	Uses    int      `json:"max_uses,omitempty"`
	Allowed []string `json:"allowed_domains,omitempty"`
	Blocked []string `json:"blocked_domains,omitempty"`
}

// serverTypes are the versions of the vendor's tools that every model takes. Newer ones want code execution as well (SDK: WebSearchTool20250305,
// WebFetchTool20250910, CodeExecutionTool20250825).
var serverTypes = map[provider.ServerToolName]string{provider.WebSearch: "web_search_20250305", provider.WebFetch: "web_fetch_20250910",
	provider.CodeExecution: "code_execution_20250825"}

// servedTools are the tools that the vendor may run. Code is run without access to the internet, and has no limits.
func servedTools(o provider.Options) (list []any) {
	for _, name := range o.ServerTools {
		t := hosted{Type: serverTypes[name], Name: string(name)}
		if l := o.ServerLimits; l != nil && name != provider.CodeExecution {
			t.Uses, t.Allowed, t.Blocked = l.MaxUses, l.AllowedDomains, l.BlockedDomains
		}
		list = append(list, t)
	}
	return list
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
